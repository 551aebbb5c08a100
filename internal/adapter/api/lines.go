// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strconv"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

// Page are the parameters of what comes in pages.
type Page struct {
	Cursor string `query:"cursor" maxLength:"400" doc:"The next of the page before, with the same question otherwise."`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"500" doc:"How many at most."`
}

type linesQuery struct {
	Span
	Page
	Booked  string `query:"booked_month" doc:"Lines booked in this month, instead of a time." example:"2026-11"`
	Cluster string `query:"cluster"`
	Node    string `query:"node"`
	Entry   string `query:"entry" doc:"The lines of one entry."`
	Account string `query:"account" example:"ml/train-0"`
	PodUID  string `query:"pod_uid"`
}

func (h *handler) routeLines() {
	get(h, operation(http.MethodGet, "/lines", "listLines", "Lines of the ledger",
		"By time, node, resource and account. Numbers are differences: what an entry is now is the sum of its lines."), h.lines)
	get(h, operation(http.MethodGet, "/lines/{id}", "getLine", "One line", ""), h.line)
	get(h, operation(http.MethodGet, "/trail", "listEvents", "The audit trail",
		"Who closed months, changed prices or the policy, imported bills. Each event holds the hash of the one before."), h.events)
}

func (q *linesQuery) query(h *handler) (out ledger.Query, err error) {
	out = ledger.Query{Cluster: q.Cluster, Node: q.Node, Entry: q.Entry, Account: q.Account, PodUID: q.PodUID}
	if q.Booked != "" {
		m, err := parseMonth("booked_month", q.Booked)
		if err != nil {
			return out, err
		}
		out.Booked = &m
	}
	if (q.Booked != "" || q.Entry != "") && q.empty() {
		return out, nil
	}
	out.FromMS, out.ToMS, err = q.hours(h.Now())
	return out, err
}

// lines gives one page. Lines are ordered by the beginning of their time first,
// so a page begins with the moment at which the one before ended.
func (h *handler) lines(ctx context.Context, q *linesQuery) (out v1.LinePage, err error) {
	query, err := q.query(h)
	if err != nil {
		return out, err
	}
	var after mark
	if q.Cursor != "" {
		if after, err = parseMark(q.Cursor); err != nil {
			return out, err
		}
		query.FromMS = max(query.FromMS, after.at)
	}
	out.Lines = []v1.Line{}
	skip := after.id != ""
	for l, err := range h.Books.Lines(ctx, query) {
		switch {
		case err != nil:
			return v1.LinePage{}, err
		case skip && l.StartMS > after.at:
			return v1.LinePage{}, problem(http.StatusConflict, "cursor_gone", "the line at which the page before ended is not there any more", "ask again from the beginning")
		case skip:
			skip = l.ID != after.id
			continue
		case len(out.Lines) == q.Limit:
			last := out.Lines[q.Limit-1]
			out.Next = mark{last.Start.UnixMilli(), last.ID}.String()
			return out, nil
		}
		out.Lines = append(out.Lines, v1.LineOf(l))
	}
	return out, nil
}

type idPath struct {
	ID string `path:"id" maxLength:"200"`
}

func (h *handler) line(ctx context.Context, in *idPath) (v1.Line, error) {
	for l, err := range h.Books.Lines(ctx, ledger.Query{ID: in.ID}) {
		if err != nil {
			return v1.Line{}, err
		}
		return v1.LineOf(l), nil
	}
	return v1.Line{}, &inquiry.NotFound{What: "line", Name: in.ID, Hint: "ids of lines are in " + Prefix + "/lines and in statements"}
}

func (h *handler) events(ctx context.Context, q *Page) (out v1.EventPage, err error) {
	var after mark
	if q.Cursor != "" {
		if after, err = parseMark(q.Cursor); err != nil {
			return out, err
		}
	}
	out.Events = []v1.Event{}
	for e, err := range h.Books.Events(ctx) {
		switch {
		case err != nil:
			return v1.EventPage{}, err
		case e.Seq <= uint64(after.at):
			continue
		case len(out.Events) == q.Limit:
			last := out.Events[q.Limit-1].Seq
			out.Next = mark{int64(last), strconv.FormatUint(last, 10)}.String()
			return out, nil
		}
		out.Events = append(out.Events, v1.EventOf(&e))
	}
	return out, nil
}
