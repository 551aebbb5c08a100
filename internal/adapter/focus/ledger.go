// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
)

const hourMS = 3_600_000

// Books are the lines of a ledger, and what is known beside them.
type Books struct {
	// Lines are those to be written, in the order of ledger.Line.Compare: of a
	// time, or what was booked in a month.
	Lines iter.Seq2[*ledger.Line, error]
	// Hour is all lines of an hour of UTC, whenever booked: what a correction
	// corrects. It is asked for hours that have corrections among Lines only.
	// nil: Lines has all of them, as it has where a time is written.
	Hour func(hourMS int64) iter.Seq2[*ledger.Line, error]
	// Rated is the hours as last rated, in order: what the nodes were. nil, or
	// hours that are missing, leave out what only they tell.
	Rated iter.Seq2[*rating.Rated, error]
	// Pods finds owners and labels; nil: nobody's are known.
	Pods report.Lookup
	Account
}

// Account is who is billed, for columns that FOCUS wants and a ledger has not.
type Account struct {
	ID, Name string // empty: "gputally"
	// Provider is whose nodes are that name no provider; empty: "unknown".
	Provider string
}

// Summary is what was written, and what was not.
type Summary struct {
	// Charges are nodes' hours (pieces of them), Corrections changes of closed
	// months, Drifts differences in money alone; Rows is the rows of all.
	Charges, Corrections, Drifts int64
	Rows                         int64
	// UnpricedLines have no price, and FOCUS cannot say so: they are left out.
	// UnpricedMS is their time of GPUs.
	UnpricedLines int64
	UnpricedMS    int64
	// Sums is what was written, by currency: exactly what the lines sum to.
	Sums map[money.Currency]money.Sum
}

// Export writes the lines of a ledger: for each piece of a node's hour one charge,
// split into what its pods and the platform accounts came to, adjustments of the
// same month within; each correction of a closed month as a correction; drifts as
// adjustments. What the rows say sums to what the lines say, in every currency.
// It keeps no more than an hour in memory. Close is left to the caller.
func Export(w *Writer, b Books) (Summary, error) {
	next, stop := iter.Pull2(orNone(b.Rated))
	defer stop()
	e := &exporter{w: w, Books: b, next: next}
	e.out.Sums = map[money.Currency]money.Sum{}
	before := w.Rows
	var hour []*ledger.Line
	for l, err := range b.Lines {
		if err != nil {
			return e.out, fmt.Errorf("export FOCUS: %w", err)
		}
		if len(hour) > 0 && floorHour(hour[0].StartMS) != floorHour(l.StartMS) {
			if err := e.hour(hour); err != nil {
				return e.out, err
			}
			hour = hour[:0]
		}
		hour = append(hour, l)
	}
	if err := e.hour(hour); err != nil {
		return e.out, err
	}
	e.out.Rows = w.Rows - before
	return e.out, nil
}

func orNone(hours iter.Seq2[*rating.Rated, error]) iter.Seq2[*rating.Rated, error] {
	if hours == nil {
		return func(func(*rating.Rated, error) bool) {}
	}
	return hours
}

func floorHour(ms int64) int64 { return ms - ms%hourMS }

// exporter writes hour after hour.
type exporter struct {
	Books
	w   *Writer
	out Summary

	next  func() (*rating.Rated, error, bool)
	ahead *rating.Rated // read, and of a later hour
	nodes map[ledger.NodeHour]*rating.Rated
}

// place is one origin charge: a piece of a node's hour in one currency, or a
// drift's reference.
type place struct {
	ledger.NodeHour
	startMS, durationMS int64
	currency            money.Currency
	drift               string
}

func (p place) compare(o place) int {
	return cmp.Or(p.NodeHour.Compare(o.NodeHour), cmp.Compare(p.startMS, o.startMS), cmp.Compare(p.durationMS, o.durationMS),
		strings.Compare(string(p.currency), string(o.currency)), strings.Compare(p.drift, o.drift))
}

func placeOf(l *ledger.Line) place {
	p := place{NodeHour: l.NodeHour, startMS: l.StartMS, durationMS: l.DurationMS, currency: l.Currency}
	if l.IsDrift() {
		p.drift = l.Note
	}
	return p
}

// hour writes what an hour's lines come to.
func (e *exporter) hour(lines []*ledger.Line) error {
	if len(lines) == 0 {
		return nil
	}
	at := floorHour(lines[0].StartMS)
	if err := e.rated(at); err != nil {
		return err
	}
	places := map[place][]*ledger.Line{}
	corrections := false
	for _, l := range lines {
		switch {
		case !l.Priced():
			e.unpriced(l)
			continue
		case l.IsDrift():
		default:
			corrections = corrections || l.Period != l.ChargeMonth()
		}
		p := placeOf(l)
		places[p] = append(places[p], l)
	}
	all := places
	if corrections && e.Hour != nil {
		var err error
		if all, err = e.allOf(at); err != nil {
			return err
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(places), place.compare) {
		if err := e.place(p, places[p], all[p]); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) unpriced(l *ledger.Line) {
	e.out.UnpricedLines++
	if l.Slot != "" || l.Partition.Device != "" {
		e.out.UnpricedMS += l.ShareMS
	}
}

// rated gets the hours of nodes that begin at a moment.
func (e *exporter) rated(at int64) error {
	e.nodes = map[ledger.NodeHour]*rating.Rated{}
	for {
		if e.ahead == nil {
			r, err, ok := e.next()
			if err != nil {
				return fmt.Errorf("export FOCUS: %w", err)
			}
			if !ok {
				return nil
			}
			e.ahead = r
		}
		if e.ahead.HourMS > at {
			return nil
		}
		if e.ahead.HourMS == at {
			e.nodes[e.ahead.NodeHour] = e.ahead
		}
		e.ahead = nil
	}
}

// allOf is all lines of an hour, by place.
func (e *exporter) allOf(at int64) (map[place][]*ledger.Line, error) {
	out := map[place][]*ledger.Line{}
	for l, err := range e.Hour(at) {
		if err != nil {
			return nil, fmt.Errorf("export FOCUS: %w", err)
		}
		if l.Priced() && !l.IsDrift() {
			p := placeOf(l)
			out[p] = append(out[p], l)
		}
	}
	return out, nil
}

// place writes the lines of one origin charge, month of booking by month. all is
// every line of it that there is.
func (e *exporter) place(p place, lines, all []*ledger.Line) error {
	booked := map[ledger.Month][]*ledger.Line{}
	for _, l := range lines {
		booked[l.Period] = append(booked[l.Period], l)
	}
	for _, period := range slices.Sorted(maps.Keys(booked)) {
		sum := e.out.Sums[p.currency]
		for _, l := range booked[period] {
			sum.Add(*l.Amount)
		}
		e.out.Sums[p.currency] = sum
		var err error
		switch {
		case p.drift != "":
			err = e.drift(p, period, booked[period])
		case period == ledger.MonthOf(p.startMS):
			err = e.charge(p, booked[period])
		default:
			err = e.correction(p, period, booked[period], all)
		}
		if err != nil {
			return fmt.Errorf("export FOCUS: %s: %w", p.NodeHour, err)
		}
	}
	return nil
}
