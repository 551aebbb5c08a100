// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// reportQuery are the parameters of a report.
type reportQuery struct {
	Span
	Booked bool     `query:"booked" doc:"With month: what was booked in it, as its statements have it."`
	Open   bool     `query:"open" doc:"The hours that are not booked yet, the one under way among them, as far as their records have come: rated for this answer alone."`
	By     []string `query:"by" maxItems:"8" doc:"Dimensions of the rows, separated by commas." example:"label:team,day"`
	Where  []string `query:"where,explode" maxItems:"32" doc:"Only these charges: DIMENSION=VALUE,… or DIMENSION!=VALUE,… A comma within a value is written \\, . May be given several times: all must hold." example:"namespace=ml,web"`
	Cost   string   `query:"cost" enum:"net,charged" doc:"net (the default): everything booked; charged: only the first rating of each hour."`
	View   string   `query:"view" enum:"apart,distributed" doc:"apart (the default): platform accounts on their own; distributed: on those to whom the policy gave them."`
	Top    int      `query:"top" minimum:"0" maximum:"100000" doc:"Keep so many rows of workloads, those that cost most; the others are one row."`
}

func (q *reportQuery) spec(now time.Time) (report.Spec, error) {
	s := report.Spec{Booked: q.Booked, Open: q.Open, Cost: report.CostBasis(q.Cost), View: report.View(q.View), Top: q.Top}
	var err error
	if s.FromMS, s.ToMS, s.Month, err = q.read(now); err != nil {
		return s, err
	}
	for _, d := range q.By {
		s.By = append(s.By, report.Dimension(d))
	}
	for i, text := range q.Where {
		f, err := v1.ParseFilter(text)
		if err != nil {
			return s, invalid(v1.FieldError{Field: "where[" + strconv.Itoa(i) + "]", Value: text, Detail: err.Error()})
		}
		s.Where = append(s.Where, filterOf(&f))
	}
	return s, nil
}

func (h *handler) routeReports() {
	get(h, operation(http.MethodGet, "/report", "getReport", "What GPUs cost, added up",
		"Charges of a time, added up by dimensions, beside what the nodes cost. Currencies are never added: each is a section.", heavy),
		func(ctx context.Context, q *reportQuery) (v1.Report, error) {
			spec, err := q.spec(h.Now())
			if err != nil {
				return v1.Report{}, err
			}
			return h.report(ctx, spec)
		})
	get(h, operation(http.MethodGet, "/explanation", "explain", "How a charge came about",
		"The nine steps from a sample to a statement, for a line, an entry, or the charges of a pod or a workload in a time.", heavy), h.explain)
	steps(h, operation(http.MethodPost, "/whatif", "whatIf", "A report under other rules",
		"Divides the stored hours again under other policies or split rules, beside what was booked. Nothing is changed.", heavy), h.whatIf)
}

func (h *handler) report(ctx context.Context, spec report.Spec) (v1.Report, error) {
	r, err := h.Books.Report(ctx, spec)
	if err != nil {
		return v1.Report{}, err
	}
	if err := h.bounded(&r); err != nil {
		return v1.Report{}, err
	}
	return v1.ReportOf(&r), nil
}

// bounded refuses an answer that would be too large.
func (h *handler) bounded(reports ...*report.Report) error {
	rows := 0
	for _, r := range reports {
		for i := range r.Sections {
			rows += len(r.Sections[i].Rows)
		}
	}
	if rows <= h.Limits.Rows {
		return nil
	}
	return problem(http.StatusUnprocessableEntity, "too_many_rows",
		fmt.Sprintf("the answer has %d rows, %d is the limit", rows, h.Limits.Rows), "give fewer dimensions, a shorter time or top; or export the lines")
}

type explainQuery struct {
	Span
	Line     string `query:"line" doc:"The id of a line."`
	Entry    string `query:"entry" doc:"The id of an entry."`
	PodUID   string `query:"pod_uid" doc:"A pod, by its UID; with a time."`
	Pod      string `query:"pod" doc:"NAMESPACE/NAME: all pods of the name in the time." example:"ml/train-0"`
	Workload string `query:"workload" doc:"NAMESPACE/KIND/NAME; with a time." example:"ml/Job/train"`
	Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"How many charges are traced, those that cost most."`
}

// subject is what is to be explained: exactly one thing.
func (q *explainQuery) subject(now time.Time) (s inquiry.Subject, err error) {
	s = inquiry.Subject{Line: q.Line, Entry: q.Entry, PodUID: q.PodUID, Pod: q.Pod, Workload: q.Workload, Limit: q.Limit}
	given := 0
	for _, text := range []string{q.Line, q.Entry, q.PodUID, q.Pod, q.Workload} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return s, invalid(v1.FieldError{Field: "line", Detail: "give exactly one of line, entry, pod_uid, pod and workload"})
	case q.Pod != "" && strings.Count(q.Pod, "/") != 1:
		return s, invalid(v1.FieldError{Field: "pod", Value: q.Pod, Detail: "write NAMESPACE/NAME"})
	case q.Workload != "" && strings.Count(q.Workload, "/") != 2:
		return s, invalid(v1.FieldError{Field: "workload", Value: q.Workload, Detail: "write NAMESPACE/KIND/NAME, such as ml/Job/train"})
	case (q.Line != "" || q.Entry != "") && q.empty():
		return s, nil // an id says its time
	}
	s.FromMS, s.ToMS, err = q.hours(now)
	return s, err
}

func (h *handler) explain(ctx context.Context, q *explainQuery) (v1.Explanation, error) {
	s, err := q.subject(h.Now())
	if err != nil {
		return v1.Explanation{}, err
	}
	e, err := h.Books.Explain(ctx, s)
	if err != nil {
		return v1.Explanation{}, err
	}
	return v1.ExplanationOf(&e), nil
}

type whatIfInput struct {
	Body v1.WhatIfRequest
}

func (h *handler) whatIf(ctx context.Context, in *whatIfInput, progress func(inquiry.Progress)) (out v1.WhatIf, err error) {
	spec, err := specOf(&in.Body.Report)
	if err != nil {
		return out, err
	}
	var variants []inquiry.Variant
	for i, v := range in.Body.Variants {
		variant := inquiry.Variant{Name: v.Name, Split: pricing.Rule(v.Split)}
		if v.Policy != nil {
			p := v.Policy.Core()
			if err := p.Check(); err != nil {
				return out, invalid(v1.FieldError{Field: fmt.Sprintf("variants[%d].policy", i), Detail: err.Error()})
			}
			variant.Policy = &p
		}
		variants = append(variants, variant)
	}
	w, err := h.Books.WhatIf(ctx, spec, variants, progress)
	if err != nil {
		return out, err
	}
	reports := []*report.Report{&w.Booked}
	for i := range w.Variants {
		reports = append(reports, &w.Variants[i].Report)
	}
	if err := h.bounded(reports...); err != nil {
		return out, err
	}
	return v1.WhatIfOf(&w), nil
}

func specOf(r *v1.ReportRequest) (s report.Spec, err error) {
	s = report.Spec{View: report.View(r.View), Top: r.Top}
	if r.Month != "" {
		if s.Month, err = parseMonth("report.month", r.Month); err != nil {
			return s, err
		}
	}
	if !r.From.IsZero() {
		s.FromMS = r.From.UnixMilli()
	}
	if !r.To.IsZero() {
		s.ToMS = r.To.UnixMilli()
	}
	for _, d := range r.By {
		s.By = append(s.By, report.Dimension(d))
	}
	for _, f := range r.Where {
		s.Where = append(s.Where, filterOf(&f))
	}
	return s, nil
}

func filterOf(f *v1.Filter) report.Filter {
	return report.Filter{By: report.Dimension(f.By), In: f.In, Not: f.Not}
}
