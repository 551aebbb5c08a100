// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
)

func (h *handler) routeBills() {
	get(h, operation(http.MethodGet, "/bills", "listBills", "Bills in force", "Of each source and billing period the latest import."),
		func(ctx context.Context, _ *struct{}) (v1.Bills, error) {
			filed, err := h.Books.Bills(ctx)
			if err != nil {
				return v1.Bills{}, err
			}
			return v1.BillsOf(filed), nil
		})
	get(h, operation(http.MethodGet, "/bills/reconciliation", "reconcile", "A month's bills beside what was metered",
		"Machines and hours that meet, cost without telemetry, telemetry without cost.", heavy), h.reconcile)
	op := operation(http.MethodPost, "/bills", "importBill", "Import a bill",
		"Files of one delivery: FOCUS 1.0 to 1.3, AWS CUR 2.0 (CSV or Parquet), GCP's detailed export (JSON or CSV). The format is told by the content. "+
			"It replaces what the same source filed for the same billing period, and is never added to it.", writes, heavy)
	get(h, op, h.importBill)
	// The framework would read a body that it knows of.
	h.api.OpenAPI().Paths[op.Path].Post.RequestBody = &huma.RequestBody{Required: true, Description: "One part for each file, named file, with a file name.",
		Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"file"},
			Properties: map[string]*huma.Schema{"file": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
		}}}}
}

type reconcileQuery struct {
	Month string `query:"month" required:"true" example:"2026-11"`
}

func (h *handler) reconcile(ctx context.Context, q *reconcileQuery) (out v1.Reconciliation, err error) {
	m, err := parseMonth("month", q.Month)
	if err != nil {
		return out, err
	}
	r, err := h.Books.Reconcile(ctx, m)
	if err != nil {
		return out, err
	}
	return v1.ReconciliationOf(&r), nil
}

type importQuery struct {
	Source  string   `query:"source" required:"true" minLength:"1" maxLength:"200" pattern:"^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$" doc:"Your id of where the bill comes from, such as one export of one payer account." example:"aws-prod"`
	Periods []string `query:"period" maxItems:"120" doc:"Billing periods that the delivery holds completely, separated by commas: months. Left out: it holds exactly one." example:"2026-10,2026-11"`
	By      string   `query:"by" maxLength:"200" doc:"Who imports it. Where the server knows who that is, its name for them is kept before this."`

	r *http.Request
	w http.ResponseWriter
}

// Resolve takes hold of the request: files are read as they come.
func (q *importQuery) Resolve(ctx huma.Context) []error {
	q.r, q.w = humago.Unwrap(ctx)
	return nil
}

func (h *handler) importBill(ctx context.Context, q *importQuery) (out v1.Imported, err error) {
	d := inquiry.Delivery{Source: q.Source, By: signed(ctx, q.By)}
	for _, text := range q.Periods {
		m, err := parseMonth("period", strings.TrimSpace(text))
		if err != nil {
			return out, err
		}
		d.Periods = append(d.Periods, bill.Period{StartMS: m.StartMS(), EndMS: m.EndMS()})
	}
	// The answer may take longer than other answers do.
	c := http.NewResponseController(q.w)
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	files, remove, err := h.receive(q)
	defer remove()
	if err != nil {
		return out, err
	}
	d.Files = files
	done, err := h.Books.ImportBill(ctx, d)
	if err != nil {
		return out, err
	}
	return v1.ImportedOf(&done), nil
}
