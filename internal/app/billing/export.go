// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/usage"
)

// Export writes lines, usage records or FOCUS rows.
func (s *Service) Export(ctx context.Context, r inquiry.ExportRequest, w io.Writer) (inquiry.Exported, error) {
	if s.cfg.Write == nil {
		return inquiry.Exported{}, &inquiry.Refused{Code: "export_off", Why: "this server writes no exports"}
	}
	from, to := span(r.FromMS, r.ToMS)
	q := ledger.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	if r.Booked != 0 {
		// Corrections of older months are booked in it, too.
		from, to = time.UnixMilli(0).UTC(), time.UnixMilli(r.Booked.EndMS()).UTC()
		q = ledger.Query{Booked: &r.Booked}
	}
	if r.Kind == inquiry.ExportUsage {
		if r.Booked != 0 {
			from = time.UnixMilli(r.Booked.StartMS()).UTC()
		}
		return s.cfg.Write.Usage(w, r.Format, s.batches(ctx, from, to))
	}
	pods, err := s.store.Pods(ctx, from, to)
	if err != nil {
		return inquiry.Exported{}, err
	}
	lines := s.store.Lines(ctx, q)
	if r.Kind == inquiry.ExportLines {
		return s.cfg.Write.Lines(w, r.Format, lines, pods)
	}
	in := FOCUSInput{Lines: lines, Hours: s.store.Rated(ctx, from, to, ""), Pods: pods}
	if r.Booked != 0 {
		in.Hour = func(ms int64) iter.Seq2[*ledger.Line, error] {
			return s.store.Lines(ctx, ledger.Query{FromMS: ms, ToMS: ms + time.Hour.Milliseconds()})
		}
	}
	return s.cfg.Write.FOCUS(w, r.Format, in)
}

// batches walks the records of hours, each batch in the hour in which it began.
func (s *Service) batches(ctx context.Context, from, to time.Time) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		machines, err := s.store.Machines(ctx, from, to, "")
		if err != nil {
			yield(usage.Batch{}, err)
			return
		}
		first, last := to.UnixMilli(), from.UnixMilli()
		for _, m := range machines {
			first, last = min(first, m.FirstMS), max(last, m.LastMS)
		}
		first = max(first, from.UnixMilli())
		last = min(last, to.UnixMilli())
		for hour := time.UnixMilli(first).UTC().Truncate(time.Hour); hour.UnixMilli() < last; hour = hour.Add(time.Hour) {
			if !s.batchesOfHour(ctx, hour, yield) {
				return
			}
		}
	}
}

// batchesOfHour yields the batches that began in an hour, and says whether to go on.
func (s *Service) batchesOfHour(ctx context.Context, hour time.Time, yield func(usage.Batch, error) bool) bool {
	for w, err := range s.store.Touching(ctx, hour, hour.Add(time.Hour), "") {
		var batches []usage.Batch
		if err == nil {
			batches, err = w.Read()
		}
		if err != nil {
			yield(usage.Batch{}, err)
			return false
		}
		for _, b := range batches {
			if time.UnixMilli(b.StartMS).UTC().Truncate(time.Hour) == hour && !yield(b, nil) {
				return false
			}
		}
	}
	return true
}
