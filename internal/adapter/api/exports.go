// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// The trailers of an export: they come after its bytes, where all went well.
const (
	TrailerRows  = "Gputally-Rows"
	TrailerNotes = "Gputally-Notes"
)

type exportQuery struct {
	Span
	Booked string `query:"booked_month" doc:"What was booked in this month, instead of a time." example:"2026-11"`
	Kind   string `query:"kind" enum:"lines,usage,focus" default:"lines" doc:"lines of the ledger; usage records; FOCUS 1.3 with the split-cost columns."`
	Format string `query:"format" enum:"csv,parquet,jsonl" default:"csv"`
}

func (h *handler) routeExports() {
	op := operation(http.MethodGet, "/export", "export", "Lines, usage or FOCUS as a file",
		"The answer comes as it is made. Where it ends in an error, the connection is cut: an answer that ends well is whole. The trailers "+
			TrailerRows+" and "+TrailerNotes+" say how many rows there were and what was left out.", heavy)
	op.Responses = map[string]*huma.Response{"200": {Description: "The file.", Content: map[string]*huma.MediaType{}}}
	for _, f := range inquiry.ExportFormats() {
		op.Responses["200"].Content[mediaType(f)] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	op.Errors = []int{http.StatusUnauthorized, http.StatusUnprocessableEntity, http.StatusServiceUnavailable}
	huma.Register(h.api, op, h.export)
}

func mediaType(f inquiry.ExportFormat) string {
	switch f {
	case inquiry.Parquet:
		return "application/vnd.apache.parquet"
	case inquiry.JSONL:
		return ndjson
	}
	return "text/csv; charset=utf-8"
}

func (q *exportQuery) request(now time.Time) (r inquiry.ExportRequest, err error) {
	r = inquiry.ExportRequest{Kind: inquiry.ExportKind(q.Kind), Format: inquiry.ExportFormat(q.Format)}
	if q.Kind == string(inquiry.ExportFOCUS) && q.Format == string(inquiry.JSONL) {
		return r, invalid(v1.FieldError{Field: "format", Value: q.Format, Detail: "FOCUS is written as csv or parquet", Allowed: []string{"csv", "parquet"}})
	}
	if q.Booked == "" {
		r.FromMS, r.ToMS, err = q.hours(now)
		return r, err
	}
	switch {
	case !q.empty():
		return r, invalid(v1.FieldError{Field: "booked_month", Value: q.Booked, Detail: "there is a time, too: give one of them"})
	case r.Kind == inquiry.ExportUsage:
		return r, invalid(v1.FieldError{Field: "booked_month", Value: q.Booked, Detail: "usage is not booked: give a time"})
	}
	r.Booked, err = parseMonth("booked_month", q.Booked)
	return r, err
}

func (h *handler) export(ctx context.Context, q *exportQuery) (*huma.StreamResponse, error) {
	r, err := q.request(h.Now())
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		out := &patient{w: w, first: func() {
			w.Header().Set("Content-Type", mediaType(r.Format))
			w.Header().Set("Content-Disposition", `attachment; filename="gputally-`+q.Kind+"."+q.Format+`"`)
		}}
		done, err := h.Books.Export(ctx, r, out)
		switch {
		case err != nil && out.begun:
			h.Log.Error("export cut off", "kind", q.Kind, "error", err)
			panic(http.ErrAbortHandler)
		case err != nil:
			h.streamProblem(w, err)
			return
		}
		out.begin()
		w.Header().Set(http.TrailerPrefix+TrailerRows, strconv.FormatInt(done.Rows, 10))
		w.Header().Set(http.TrailerPrefix+TrailerNotes, noteLine(done.Notes))
		// An answer without a byte would have a length, and no trailers.
		_ = http.NewResponseController(w).Flush()
	}}, nil
}

// streamProblem answers with a problem where a stream has not begun.
func (h *handler) streamProblem(w http.ResponseWriter, err error) {
	p, after := h.shape(err)
	if p.Status >= http.StatusInternalServerError && p.Code != v1.CodeBusy {
		h.Log.Error("request failed", "error", err)
	}
	if after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	writeProblem(w, p)
}

// noteLine is notes in one header line.
func noteLine(notes []string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.Join(slices.Clone(notes), "; "))
}

// patient writes an answer of any length: each write has its own deadline.
type patient struct {
	w     http.ResponseWriter
	first func() // before the first byte
	begun bool
}

func (p *patient) begin() {
	if !p.begun {
		p.begun = true
		if p.first != nil {
			p.first()
		}
	}
}

// Write passes on to the client.
func (p *patient) Write(b []byte) (int, error) {
	p.begin()
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(patience)) // where the server sets none, nothing is to be moved
	return p.w.Write(b)
}
