// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// MonthPath is a month in a path.
type MonthPath struct {
	Month string `path:"month" pattern:"^[0-9]{4}-[0-9]{2}$" example:"2026-11"`
}

func (h *handler) routeMonths() {
	get(h, operation(http.MethodGet, "/months", "listMonths", "Months, open and closed", "Statements are left out here."), h.months)
	get(h, operation(http.MethodGet, "/months/{month}", "getMonth", "A month", "Of every set of clusters and currency that has lines in it, with statements."), h.month)
	get(h, operation(http.MethodPost, "/months/{month}/close", "closeMonth", "Close a month",
		"Writes and hashes its statements. What arrives for it later becomes a correction in the open month. It cannot be undone; a preview says first what it would come to.", writes, heavy), h.closeMonth)
	op := operation(http.MethodGet, "/months/{month}/statement", "getStatement", "A statement of a closed month",
		"Its bytes as they were frozen: one JSON object a line, first its head, then its lines, at the end its sum. Their SHA-256 stands in the month.")
	op.Responses = map[string]*huma.Response{"200": {Description: "The statement.", Content: map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	op.Errors = []int{http.StatusUnauthorized, http.StatusNotFound}
	huma.Register(h.api, op, h.statement)
}

func (h *handler) months(ctx context.Context, _ *struct{}) (out v1.Months, err error) {
	months, err := h.Books.Months(ctx)
	if err != nil {
		return out, err
	}
	out = v1.MonthsOf(months)
	for i := range out.Months {
		if c := out.Months[i].Closing; c != nil {
			c.Statements = []v1.Statement{}
		}
	}
	return out, nil
}

func (h *handler) month(ctx context.Context, in *MonthPath) (out v1.Months, err error) {
	m, err := parseMonth("month", in.Month)
	if err != nil {
		return out, err
	}
	months, err := h.Books.Months(ctx)
	if err != nil {
		return out, err
	}
	var of []inquiry.MonthState
	for _, s := range months {
		if s.Month == m {
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		return out, &inquiry.NotFound{What: "month", Name: in.Month + " with charges", Hint: have(months)}
	}
	return v1.MonthsOf(of), nil
}

// have says which months have charges.
func have(months []inquiry.MonthState) string {
	if len(months) == 0 {
		return "nothing was charged yet"
	}
	first, last := months[0].Month, months[0].Month
	for _, s := range months {
		first, last = min(first, s.Month), max(last, s.Month)
	}
	if first == last {
		return "there is " + first.String()
	}
	return "there are " + first.String() + " to " + last.String()
}

type closeInput struct {
	MonthPath
	Body v1.CloseMonth
}

func (h *handler) closeMonth(ctx context.Context, in *closeInput) (out v1.Month, err error) {
	m, err := parseMonth("month", in.Month)
	if err != nil {
		return out, err
	}
	b := &in.Body
	r := inquiry.CloseRequest{
		Scope: ledger.Scope{Set: b.Set, Currency: money.Currency(b.Currency)}, Month: m, Level: ledger.Level(b.Level), By: signed(ctx, b.By), Note: b.Note, Force: strings.TrimSpace(b.Force),
	}
	if b.Preview {
		p, err := h.Books.PreviewClose(ctx, r)
		if err != nil {
			return out, err
		}
		return v1.PreviewOf(&p), nil
	}
	c, err := h.Books.CloseMonth(ctx, r)
	if err != nil {
		return out, err
	}
	return v1.ClosedOf(&c), nil
}

type statementQuery struct {
	MonthPath
	Set      string `query:"set" doc:"The set of clusters; left out: those in no set."`
	Currency string `query:"currency" required:"true" pattern:"^[A-Z]{3}$" example:"USD"`
	Class    string `query:"class" enum:"workload,owner,platform,reconciliation" default:"workload"`
	Account  string `query:"account" required:"true" example:"ml"`
}

func (h *handler) statement(ctx context.Context, q *statementQuery) (*huma.StreamResponse, error) {
	m, err := parseMonth("month", q.Month)
	if err != nil {
		return nil, err
	}
	body, err := h.Books.Statement(ctx, ledger.Scope{Set: q.Set, Currency: money.Currency(q.Currency)}, m, ledger.Payer{Class: ledger.Class(q.Class), Account: q.Account})
	if err != nil {
		return nil, h.problemOf(err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", ndjson)
		_, err := io.Copy(&patient{w: w}, body)
		if closed := body.Close(); err != nil || closed != nil {
			h.Log.Error("statement cut off", "month", q.Month, "account", q.Account, "error", err, "close", closed)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}
