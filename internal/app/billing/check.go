// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"errors"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

// CheckLedger verifies every invariant over the store, a day at a time, then the
// closed months and the trail.
func (s *Service) CheckLedger(ctx context.Context, r inquiry.CheckRequest, progress func(inquiry.Progress)) (inquiry.Checked, error) {
	from, to := span(r.FromMS, r.ToMS)
	out := inquiry.Checked{}
	first, last, err := s.extent(ctx, from, to)
	if err != nil || first.IsZero() {
		return out, err
	}
	var closed []ledger.Closed
	if r.Months {
		if closed, err = s.store.Closed(ctx); err != nil {
			return out, err
		}
	}
	days := int64(last.Sub(first)/(24*time.Hour)) + 1
	for day, n := first, int64(0); !day.After(last); day, n = day.AddDate(0, 0, 1), n+1 {
		progress(inquiry.Progress{Stage: "check lines", AtMS: day.UnixMilli(), Done: n, Total: days})
		if out.Violation, err = s.checkDay(ctx, later(day, from), earlier(day.AddDate(0, 0, 1), to), closed, &out); err != nil || out.Violation != nil {
			return out, err
		}
	}
	if !r.Months {
		return out, nil
	}
	err = s.checkClosed(ctx, from, to, closed, progress, &out)
	return out, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// extent is the first and the last day of which there are lines or costs.
func (s *Service) extent(ctx context.Context, from, to time.Time) (first, last time.Time, err error) {
	for h, err := range s.store.Rated(ctx, from, to, "") {
		if err != nil {
			return first, last, err
		}
		day := time.UnixMilli(h.HourMS).UTC().Truncate(24 * time.Hour)
		if first.IsZero() {
			first = day
		}
		last = day
	}
	return first, last, nil
}

// checkDay checks the lines of some hours of nodes with what these cost, and
// that none was booked into a closed month; then the sums that are kept of them.
func (s *Service) checkDay(ctx context.Context, from, to time.Time, closed []ledger.Closed, out *inquiry.Checked) (*ledger.Violation, error) {
	var j ledger.Journal
	for l, err := range s.store.Lines(ctx, ledger.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}) {
		if err != nil {
			return nil, err
		}
		j.Lines = append(j.Lines, *l)
	}
	hours := map[ledger.NodeHour]bool{}
	for c, err := range s.store.Costs(ctx, from, to) {
		if err != nil {
			return nil, err
		}
		j.Costs = append(j.Costs, *c)
		hours[ledger.NodeHour{Cluster: c.Cluster, Node: c.Node, HourMS: c.StartMS - c.StartMS%time.Hour.Milliseconds()}] = true
	}
	out.Lines += int64(len(j.Lines))
	out.Costs += int64(len(j.Costs))
	out.Hours += int64(len(hours))
	if v := ledger.Check(j); v != nil {
		return v, nil
	}
	if v := ledger.CheckLate(j.Lines, closed); v != nil {
		return v, nil
	}
	return s.store.CheckSums(ctx, from, to)
}

// checkClosed verifies closed months and the trail.
func (s *Service) checkClosed(ctx context.Context, from, to time.Time, closed []ledger.Closed, progress func(inquiry.Progress), out *inquiry.Checked) error {
	for i, c := range closed {
		if c.Month.EndMS() <= from.UnixMilli() || c.Month.StartMS() >= to.UnixMilli() {
			continue
		}
		progress(inquiry.Progress{Stage: "check closed months", AtMS: c.Month.StartMS(), Done: int64(i), Total: int64(len(closed))})
		out.Months++
		if err := s.store.Verify(ctx, c); err != nil {
			if errors.As(err, &out.Violation) {
				return nil
			}
			return err
		}
	}
	progress(inquiry.Progress{Stage: "check the trail"})
	var events []ledger.Event
	for e, err := range s.store.Events(ctx) {
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	out.Violation = ledger.Check(ledger.Journal{Trail: events})
	return nil
}
