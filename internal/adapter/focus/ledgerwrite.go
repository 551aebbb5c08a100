// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// charge writes what was booked of a piece in its own month.
func (e *exporter) charge(p place, lines []*ledger.Line) error {
	for _, s := range e.splits(p, lines) {
		if s != nil {
			e.out.Charges++
			if err := e.w.Write(*s); err != nil {
				return err
			}
		}
	}
	return nil
}

// correction writes what was booked of a piece in a later month: the difference
// between what it was before that month and with it.
func (e *exporter) correction(p place, period ledger.Month, booked, all []*ledger.Line) error {
	var before, with []*ledger.Line
	for _, l := range all {
		if l.Period < period {
			before = append(before, l)
		}
		if l.Period <= period {
			with = append(with, l)
		}
	}
	reason := reasonOf(before, booked)
	was, is := e.splits(p, before), e.splits(p, with)
	for sign := range was {
		c, err := change(was[sign], is[sign], monthSpan(period), reason)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		e.out.Corrections++
		if err := e.w.Write(*c); err != nil {
			return err
		}
	}
	return nil
}

// change is the correction that makes one split of another; nil where nothing
// changed. A piece that was not there came late, one that is no more is taken
// back whole.
func change(was, is *Split, open Span, reason string) (*Split, error) {
	switch {
	case was == nil && is == nil:
		return nil, nil
	case was == nil:
		return new(Late(*is, open, reason)), nil
	case is == nil:
		whole, err := was.Complete()
		if err != nil {
			return nil, err
		}
		out := Split{Origin: late(whole.Origin, open, reason)}
		out.Origin.Costs = Costs{}.minus(whole.Origin.Costs)
		out.Origin.Quantity = -whole.Origin.Quantity
		for _, r := range whole.Rows {
			out.Rows = append(out.Rows, r.negated())
		}
		return &out, nil
	}
	out, err := Correct(*was, *is, open, Delta, reason)
	if err != nil {
		return nil, err
	}
	if out.quiet(); len(out.Rows) == 0 {
		return nil, nil
	}
	return &out, nil
}

// quiet leaves out rows in which nothing changed but the rounding of a ratio, and
// gives their last billionths to the row that moves most, so that sums stay.
func (s *Split) quiet() {
	var noise Row
	noise.Elements = []Element{{}}
	rest := s.Rows[:0:0]
	for _, r := range s.Rows {
		if r.Costs != (Costs{}) || !tiny(r.Quantity) || slices.ContainsFunc(r.Elements, func(e Element) bool { return !tiny(e.Ratio) }) {
			rest = append(rest, r)
			continue
		}
		noise.Quantity += r.Quantity
		for _, e := range r.Elements {
			noise.Elements[0].Ratio += e.Ratio
		}
	}
	s.Rows = rest
	if len(rest) == 0 {
		return
	}
	most := slices.MaxFunc(rest, func(a, b Row) int {
		return cmp.Or(cmp.Compare(min(len(a.Elements), 1), min(len(b.Elements), 1)), cmp.Compare(max(a.Effective, -a.Effective), max(b.Effective, -b.Effective)))
	})
	r := &rest[slices.IndexFunc(rest, func(r Row) bool { return r.key() == most.key() })]
	r.Quantity += noise.Quantity
	if len(r.Elements) > 0 {
		r.Elements[0].Ratio += noise.Elements[0].Ratio
	}
}

func tiny(q Quantity) bool { return q >= -1 && q <= 1 }

// reasonOf says in words why lines were booked late.
func reasonOf(before, booked []*ledger.Line) string {
	last := booked[0]
	for _, l := range booked {
		if l.Revision.Reason != "" {
			return l.Revision.Reason
		}
		if l.Booking > last.Booking {
			last = l
		}
	}
	if len(before) == 0 {
		return "records of a closed month came late"
	}
	first := before[0]
	for _, l := range before {
		if l.Booking > first.Booking {
			first = l
		}
	}
	var changed []string
	for _, c := range []struct{ what, was, is string }{
		{"usage records", first.Revision.Records, last.Revision.Records}, {"a bill", first.Revision.Bill, last.Revision.Bill},
		{"prices", first.Revision.Prices, last.Revision.Prices}, {"the policy", first.Revision.Policy, last.Revision.Policy},
	} {
		if c.was != c.is {
			changed = append(changed, c.what)
		}
	}
	if len(changed) == 0 {
		return "rated again"
	}
	return "rated again, since these changed: " + strings.Join(changed, ", ")
}

// drift writes a difference in money alone. One of an open month is an
// adjustment, one of a closed month a correction.
func (e *exporter) drift(p place, period ledger.Month, lines []*ledger.Line) error {
	var sum money.Sum
	reason := ""
	for _, l := range lines {
		sum.Add(*l.Amount)
		if l.Revision.Reason != "" {
			reason = l.Revision.Reason
		}
	}
	n, err := sum.Nano()
	if err != nil || n == 0 {
		return err
	}
	e.out.Drifts++
	about := e.account(Origin{
		Charge: spanOf(p.startMS, p.durationMS), Currency: p.currency,
		Description: "Reconciliation with " + p.drift, ServiceName: "GPU nodes", ServiceProvider: e.provider(""),
	}, p.Cluster)
	s := Drift(about, fmt.Sprintf("drift/%s/%s", p.drift, period), Costs{n, n, n, n}, monthSpan(period), reason)
	if period == ledger.MonthOf(p.startMS) {
		s.Origin.Correction = false
	}
	return e.w.Write(s)
}

func spanOf(startMS, durationMS int64) Span {
	return Span{time.UnixMilli(startMS).UTC(), time.UnixMilli(startMS + durationMS).UTC()}
}

func monthSpan(m ledger.Month) Span {
	return Span{time.UnixMilli(m.StartMS()).UTC(), time.UnixMilli(m.EndMS()).UTC()}
}
