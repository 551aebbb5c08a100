// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/ledger"
)

// september and october are the month of Start and the next.
var (
	september = ledger.MonthOf(Start)
	october   = september + 1
	dollars   = ledger.Scope{Currency: "USD"}
)

// twoMonths books some hours of both months, one of them without a price.
func (b *books) twoMonths() {
	b.t.Helper()
	hours := int((september.EndMS() - Start) / 3_600_000)
	for i, hour := range []int{1, 2, 3, hours - 1, hours, hours + 1, hours + 2} {
		for _, node := range []string{"n1", "n2"} {
			b.book(bookingOf(b.t, nil, hourNo(node, hour), 3, 36_000_000_007, int64(i), ledger.Periods{}))
		}
	}
}

// unpricedHour books an hour without a price.
func (b *books) unpricedHour(h ledger.NodeHour) {
	b.t.Helper()
	n := bookingOf(b.t, nil, h, 1, 1000, 0, ledger.Periods{})
	for i := range n.Lines {
		l := &n.Lines[i]
		l.Amount, l.Moved, l.Currency, l.Price, l.Basis = nil, nil, "", "", nil
		for g := range l.Grades {
			l.Grades[g].Amount = 0
		}
	}
	c := &n.Rated.Costs[0]
	c.Priced, c.Currency, c.Reason, c.Total, c.CPU, c.Memory = false, "", "no row", 0, 0, 0
	for i := range c.Slots {
		c.Slots[i].Cost = 0
	}
	b.book(n)
}

func closing(m ledger.Month, level ledger.Level) ledger.Closing {
	return ledger.Closing{Scope: dollars, Month: m, Level: level, AtMS: m.EndMS() + 3*3_600_000, By: "kim", Note: "all in"}
}

func (b *books) closed() []ledger.Closed {
	b.t.Helper()
	out, err := b.Closed(context.Background())
	b.must(err)
	return out
}

// frozen are the bytes of all statements of a month, one behind the other.
func (b *books) frozen(c ledger.Closed) string {
	b.t.Helper()
	var out strings.Builder
	for _, d := range c.Statements {
		r, err := b.Statement(context.Background(), c, d.Payer)
		b.must(err)
		_, err = io.Copy(&out, r)
		b.must(errors.Join(err, r.Close()))
	}
	return out.String()
}

// closedMonths: what is kept is what ledger.Close makes of all lines, byte by byte,
// whatever the level, and it can be made again.
func closedMonths(t *testing.T, open OpenLedger) {
	for _, level := range []ledger.Level{ledger.ByAccount, ledger.ByNamespace} {
		b := startBooks(t, open)
		b.twoMonths()
		b.unpricedHour(hourNo("n3", 4))
		lines := b.lines(ledger.Query{})
		var kept []ledger.Closed
		for _, m := range []ledger.Month{september, october} {
			c := closing(m, level)
			c.Force = "for a test"
			var previous *ledger.Closed
			if n := len(kept); n > 0 {
				previous = &kept[n-1]
			}
			var bytes bytes.Buffer
			want, err := ledger.Close(c, previous, ledger.StatementLines(lines, dollars, m, level), func(ledger.Payer) (io.Writer, error) { return &bytes, nil })
			b.must(err)
			got, err := b.CloseMonth(context.Background(), c)
			b.must(err)
			alike(t, "closed month", want, got)
			kept = append(kept, want)
			if b.frozen(got) != bytes.String() {
				t.Errorf("%s by %s: the frozen bytes are others than those that were closed", m, level)
			}
		}
		for range 2 {
			alike(t, "closed months", kept, b.closed())
			for _, c := range kept {
				b.must(b.Verify(context.Background(), c))
				b.frozen(c)
			}
			b.reopen()
		}
		wrong := kept[0]
		wrong.Amount = "1.00"
		var v *ledger.Violation
		if err := b.Verify(context.Background(), wrong); !errors.As(err, &v) {
			t.Errorf("a month that says something else is verified: %v", err)
		}
		if _, err := b.Statement(context.Background(), kept[0], ledger.Payer{Class: ledger.Workload, Account: "nobody"}); err == nil {
			t.Error("there is a statement of nobody")
		}
		actions := b.events()
		if len(actions) != 2 || actions[0].Action != ledger.ActionForce || actions[1].Digest != kept[1].SHA256 {
			t.Errorf("trail %+v", actions)
		}
	}
}

// corrections: what is rated again after its month was closed leaves the closed
// month as it is.
func corrections(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	b.twoMonths()
	_, err := b.CloseMonth(context.Background(), closing(september, ledger.ByAccount))
	b.must(err)
	h := hourNo("n1", 1)
	before := b.lines(ledger.Query{Cluster: h.Cluster, Node: h.Node, FromMS: h.HourMS, ToMS: h.HourMS + 3_600_000})
	n := bookingOf(t, before, h, 3, 36_000_000_007, 99, ledger.NewPeriods(nil, b.closed()))
	if len(n.Lines) == 0 || n.Lines[0].Kind != ledger.Correction || n.Lines[0].Period != october {
		t.Fatalf("not corrected: %+v", n.Lines)
	}
	b.book(n)
	for _, c := range b.closed() {
		b.must(b.Verify(context.Background(), c))
	}
	_, err = b.CloseMonth(context.Background(), closing(october, ledger.ByNamespace))
	b.must(err)
	if v := ledger.Check(ledger.Journal{Lines: b.lines(ledger.Query{}), Costs: b.costs(0, 1<<45), Closed: b.closed()}); v != nil {
		t.Error(v)
	}
}

// refusedClosings: nothing is kept of them.
func refusedClosings(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	b.twoMonths()
	b.unpricedHour(hourNo("n3", 4))
	for what, c := range map[string]ledger.Closing{
		"an hour without a price": closing(september, ledger.ByAccount),
		"the second before the first": func() ledger.Closing {
			c := closing(october, ledger.ByAccount)
			c.Force = "x"
			return c
		}(),
		"not over": func() ledger.Closing {
			c := closing(september, ledger.ByAccount)
			c.AtMS = september.EndMS() - 1
			return c
		}(),
		"no level": closing(september, ""),
	} {
		if _, err := b.CloseMonth(context.Background(), c); err == nil {
			t.Errorf("%s: it was closed", what)
		}
	}
	if n := len(b.closed()) + len(b.events()); n != 0 {
		t.Errorf("%d rows of refused closings are there", n)
	}
	c := closing(september, ledger.ByAccount)
	c.Force = "known"
	if _, err := b.CloseMonth(context.Background(), c); err != nil {
		t.Error(err)
	}
	if _, err := b.CloseMonth(context.Background(), c); err == nil {
		t.Error("a month was closed twice")
	}
}

func drifts(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	b.twoMonths()
	d := ledger.Drift{Reference: "invoice 'A'", Currency: "USD", Amount: 5, FromMS: september.StartMS(), ToMS: september.EndMS(), Revision: ledger.Revision{Reason: "rounding", AtMS: 7}}
	var want []ledger.Line
	for _, amount := range []int64{5, 5, 7, 0} {
		d.Amount = nano(amount)
		lines, err := ledger.BookDrift(want, d, ledger.Periods{})
		b.must(err)
		got, err := b.AddDrift(context.Background(), d, ledger.Periods{})
		b.must(err)
		alike(t, "lines of the drift", lines, got)
		want = append(want, lines...)
	}
	alike(t, "drifts", sortedLines(want), b.lines(ledger.Query{Account: ledger.Reconciliation}))
	d.Revision.Reason = ""
	if _, err := b.AddDrift(context.Background(), d, ledger.Periods{}); err == nil {
		t.Error("a drift without a reason was booked")
	}
}

// monthSums are those of all lines.
func monthSums(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	b.twoMonths()
	b.unpricedHour(hourNo("n3", 4))
	b.unpricedHour(hourNo("n4", 4))
	_, err := b.AddDrift(context.Background(), ledger.Drift{Reference: "r", Currency: "CNY", Amount: -3, FromMS: october.StartMS(), ToMS: october.EndMS(), Revision: ledger.Revision{Reason: "x"}}, ledger.Periods{})
	b.must(err)
	type key struct {
		ledger.Scope
		ledger.Month
	}
	want := map[key]*ledger.MonthSum{}
	for _, l := range b.lines(ledger.Query{}) {
		k := key{ledger.Scope{Set: l.Set, Currency: l.Currency}, l.Period}
		if want[k] == nil {
			want[k] = &ledger.MonthSum{Scope: k.Scope, Month: k.Month}
		}
		want[k].Lines++
		if l.Amount != nil {
			want[k].Amount.Add(*l.Amount)
		} else {
			want[k].UnpricedMS += l.ShareMS
			want[k].Hours = 2
		}
	}
	got, err := b.Sums(context.Background())
	b.must(err)
	if len(got) != len(want) {
		t.Fatalf("%d sums, want %d", len(got), len(want))
	}
	for i, sum := range got {
		if want := want[key{sum.Scope, sum.Month}]; want == nil || *want != sum {
			t.Errorf("sum %+v, want %+v", sum, want)
		}
		if i > 0 && (got[i-1].Currency > sum.Currency || got[i-1].Currency == sum.Currency && got[i-1].Month >= sum.Month) {
			t.Errorf("sums are not in order: %+v", got)
		}
	}
}
