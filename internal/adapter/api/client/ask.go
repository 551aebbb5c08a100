// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Span is the time of a question: from and to (RFC 3339 or days), or a month.
// What is empty is not sent.
type Span struct{ From, To, Month string }

func (s Span) values() url.Values {
	q := url.Values{}
	set(q, "from", s.From)
	set(q, "to", s.To)
	set(q, "month", s.Month)
	return q
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

// ReportQuery asks for a report.
type ReportQuery struct {
	Span
	Booked     bool
	Open       bool
	By, Where  []string // Where as DIMENSION=VALUE,… or DIMENSION!=VALUE,…
	Cost, View string
	Top        int
}

func (r *ReportQuery) values() url.Values {
	q := r.Span.values()
	if r.Open {
		q.Set("open", "true")
	}
	if r.Booked {
		q.Set("booked", "true")
	}
	set(q, "by", strings.Join(r.By, ","))
	for _, w := range r.Where {
		q.Add("where", w)
	}
	set(q, "cost", r.Cost)
	set(q, "view", r.View)
	if r.Top > 0 {
		q.Set("top", strconv.Itoa(r.Top))
	}
	return q
}

// Status asks how the ledger stands.
func (c *Client) Status(ctx context.Context) (v1.Status, error) {
	return fetch[v1.Status](ctx, c, "/status", nil)
}

// Dimensions asks what reports can tell apart.
func (c *Client) Dimensions(ctx context.Context) (v1.Dimensions, error) {
	return fetch[v1.Dimensions](ctx, c, "/dimensions", nil)
}

// Report asks for a report.
func (c *Client) Report(ctx context.Context, q ReportQuery) (v1.Report, error) {
	return fetch[v1.Report](ctx, c, "/report", q.values())
}

// ExplainQuery asks how charges came about: of one of Line, Entry, PodUID, Pod and
// Workload.
type ExplainQuery struct {
	Span
	Line, Entry, PodUID, Pod, Workload string
	Limit                              int
}

// Explain asks how charges came about.
func (c *Client) Explain(ctx context.Context, e ExplainQuery) (v1.Explanation, error) {
	q := e.Span.values()
	for name, value := range map[string]string{"line": e.Line, "entry": e.Entry, "pod_uid": e.PodUID, "pod": e.Pod, "workload": e.Workload} {
		set(q, name, value)
	}
	if e.Limit > 0 {
		q.Set("limit", strconv.Itoa(e.Limit))
	}
	return fetch[v1.Explanation](ctx, c, "/explanation", q)
}

// Nodes asks which nodes there are at a moment ("": now).
func (c *Client) Nodes(ctx context.Context, at string) (v1.Nodes, error) {
	q := url.Values{}
	set(q, "at", at)
	return fetch[v1.Nodes](ctx, c, "/nodes", q)
}

func nodeQuery(cluster, at string) url.Values {
	q := url.Values{}
	set(q, "cluster", cluster)
	set(q, "at", at)
	return q
}

// NodePrice asks what a node costs, and why.
func (c *Client) NodePrice(ctx context.Context, cluster, node, at string) (v1.NodePrice, error) {
	return fetch[v1.NodePrice](ctx, c, "/nodes/"+url.PathEscape(node)+"/price", nodeQuery(cluster, at))
}

// ComparePrices asks for a node's price under every rule.
func (c *Client) ComparePrices(ctx context.Context, cluster, node, at string) (v1.PriceComparison, error) {
	return fetch[v1.PriceComparison](ctx, c, "/nodes/"+url.PathEscape(node)+"/price/comparison", nodeQuery(cluster, at))
}

// CheckPrices asks what is missing or doubtful about prices.
func (c *Client) CheckPrices(ctx context.Context, s Span) (v1.PriceCheck, error) {
	return fetch[v1.PriceCheck](ctx, c, "/checks/prices", s.values())
}

// Months asks which months there are.
func (c *Client) Months(ctx context.Context) (v1.Months, error) {
	return fetch[v1.Months](ctx, c, "/months", nil)
}

// Month asks for a month with its statements.
func (c *Client) Month(ctx context.Context, month string) (v1.Months, error) {
	return fetch[v1.Months](ctx, c, "/months/"+url.PathEscape(month), nil)
}

// CloseMonth closes a month.
func (c *Client) CloseMonth(ctx context.Context, month string, body v1.CloseMonth) (v1.Month, error) {
	return post[v1.Month](ctx, c, "/months/"+url.PathEscape(month)+"/close", body)
}

// Bills asks for the imports in force.
func (c *Client) Bills(ctx context.Context) (v1.Bills, error) {
	return fetch[v1.Bills](ctx, c, "/bills", nil)
}

// Reconcile asks for a month's bills beside what was metered.
func (c *Client) Reconcile(ctx context.Context, month string) (v1.Reconciliation, error) {
	return fetch[v1.Reconciliation](ctx, c, "/bills/reconciliation", url.Values{"month": {month}})
}

// Backup copies the store on the server. name may be empty.
func (c *Client) Backup(ctx context.Context, name string) (v1.Backup, error) {
	return post[v1.Backup](ctx, c, "/backups", v1.BackupRequest{Name: name})
}

// Line asks for one line.
func (c *Client) Line(ctx context.Context, id string) (v1.Line, error) {
	return fetch[v1.Line](ctx, c, "/lines/"+url.PathEscape(id), nil)
}

// Lines walks lines, page after page, until f says false. The query has the
// parameters of GET /lines.
func (c *Client) Lines(ctx context.Context, query url.Values, f func(v1.Line) bool) error {
	for {
		page, err := fetch[v1.LinePage](ctx, c, "/lines", query)
		if err != nil {
			return err
		}
		for _, l := range page.Lines {
			if !f(l) {
				return nil
			}
		}
		if page.Next == "" {
			return nil
		}
		query.Set("cursor", page.Next)
	}
}

// Trail asks for all events, page after page.
func (c *Client) Trail(ctx context.Context) (out []v1.Event, err error) {
	query := url.Values{}
	for {
		page, err := fetch[v1.EventPage](ctx, c, "/trail", query)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Events...)
		if page.Next == "" {
			return out, nil
		}
		query.Set("cursor", page.Next)
	}
}
