// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/adapter/focus"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// books are a ledger of all stories that have prices: rated once, some again
// under another policy in the same month, some by a bill once the month was
// closed, and with two drifts.
type books struct {
	lines []ledger.Line
	rated []rating.Rated
}

func storyBooks(t *testing.T) *books {
	t.Helper()
	files, err := filepath.Glob("../scenario/testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	b := &books{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := capture.Read(bytes.NewReader(text), file)
		if err != nil {
			t.Fatal(err)
		}
		book, err := f.Book()
		if err != nil {
			t.Fatal(err)
		}
		if book != nil {
			b.story(t, f, book)
		}
	}
	if len(b.rated) < 50 {
		t.Fatalf("only %d hours of nodes have prices; were they lost?", len(b.rated))
	}
	b.drifts(t)
	slices.SortFunc(b.lines, func(x, y ledger.Line) int { return x.Compare(&y) })
	slices.SortFunc(b.rated, func(x, y rating.Rated) int { return x.Compare(y.NodeHour) })
	return b
}

// story rates a story's nodes, each as often as its place in the book says.
func (b *books) story(t *testing.T, f *capture.File, book *pricing.Book) {
	t.Helper()
	for _, node := range f.Nodes {
		rep, err := replay.Run(f, node.Name, replay.Options{Policy: attribution.Policy{Daemons: attribution.DefaultDaemons()}, Interval: f.Interval, MonoMS: f.MonoMS()})
		if err != nil {
			t.Fatal(err)
		}
		at := f.Start.UnixMilli()
		for h := at - at%hourMS; h < f.End.UnixMilli(); h += hourMS {
			in := rating.Input{NodeHour: ledger.NodeHour{Cluster: "prod", Node: node.Name, HourMS: h}, Machines: rating.MachinesOf(rep.Batches)}
			in.Node = f.ID + "-" + node.Name
			in.Machines[0].Node, in.Machines[0].Cluster = in.Node, in.Cluster
			for _, batch := range rep.Batches {
				if batch.StartMS < h+hourMS && batch.StartMS+batch.DurationMS > h {
					batch.Node, batch.Cluster = in.Node, in.Cluster
					in.Batches = append(in.Batches, batch)
				}
			}
			b.hour(t, in, book, node.Name)
		}
	}
}

const hourMS = 3_600_000

func (b *books) hour(t *testing.T, in rating.Input, book *pricing.Book, node string) {
	t.Helper()
	var before []ledger.Line
	var last rating.Rated
	rate := func(percent money.Nano, grade pricing.Grade, policy allocation.Policy, p ledger.Periods) {
		in.Prices, in.Policy = priced(t, book, in.Node, node, percent, grade), policy
		o, err := rating.Rate(in)
		if err != nil {
			t.Fatal(err)
		}
		booking, err := o.Book(before, ledger.Revision{Prices: string(grade), Policy: policy.Name()}, p)
		if err != nil {
			t.Fatal(err)
		}
		before, last = append(before, booking.Lines...), booking.Rated
	}
	rate(100, pricing.Listed, allocation.Policy{}, ledger.Periods{})
	switch len(b.rated) % 4 {
	case 1:
		rate(100, pricing.Listed, allocation.Policy{Basis: allocation.Memory}, ledger.Periods{})
	case 2:
		rate(93, pricing.Billed, allocation.Policy{}, closedThrough(in.HourMS, 0))
	case 3:
		rate(107, pricing.Listed, allocation.Policy{}, closedThrough(in.HourMS, 0))
		rate(107, pricing.Listed, allocation.Policy{Basis: allocation.Reserved}, closedThrough(in.HourMS, 1))
	}
	b.lines, b.rated = append(b.lines, before...), append(b.rated, last)
}

// priced is the story's prices for a node that goes by another name, so many
// hundredths of them.
func priced(t *testing.T, book *pricing.Book, name, storyName string, percent money.Nano, grade pricing.Grade) *pricing.Prices {
	t.Helper()
	own := &pricing.Book{Name: book.Name, Grade: grade}
	scale := func(n *money.Nano) *money.Nano {
		if n == nil {
			return nil
		}
		return new(*n / 100 * percent)
	}
	for _, r := range book.Rows {
		if r.Node == storyName {
			r.Node = name
			r.Price.Node, r.Price.GPU = scale(r.Price.Node), scale(r.Price.GPU)
			own.Rows = append(own.Rows, r)
		}
	}
	p, err := pricing.New(pricing.DefaultPolicy(), own)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// closedThrough are the periods once the month of an hour, and so many after it,
// are closed.
func closedThrough(ms int64, more int) ledger.Periods {
	var closed []ledger.Closed
	for _, c := range []money.Currency{"USD", "CNY"} {
		closed = append(closed, ledger.Closed{Scope: ledger.Scope{Currency: c}, Month: ledger.MonthOf(ms) + ledger.Month(more)})
	}
	return ledger.NewPeriods(nil, closed)
}

func (b *books) drifts(t *testing.T) {
	t.Helper()
	m := ledger.MonthOf(b.lines[0].StartMS)
	for _, d := range []struct {
		reference string
		periods   ledger.Periods
	}{{"invoice 11", ledger.Periods{}}, {"invoice 11, late", closedThrough(b.lines[0].StartMS, 0)}} {
		lines, err := ledger.BookDrift(nil, ledger.Drift{Reference: d.reference, Cluster: "prod", Currency: "USD", Amount: 1_000_000, FromMS: m.StartMS(), ToMS: m.EndMS(), Revision: ledger.Revision{Reason: "rounding"}}, d.periods)
		if err != nil {
			t.Fatal(err)
		}
		b.lines = append(b.lines, lines...)
	}
}

// export writes the lines of a month's bookings, or all (0).
func (b *books) export(t *testing.T, booked ledger.Month) (string, focus.Summary) {
	t.Helper()
	where := func(is func(*ledger.Line) bool) iter.Seq2[*ledger.Line, error] {
		return func(yield func(*ledger.Line, error) bool) {
			for i := range b.lines {
				if l := b.lines[i]; is(&l) && !yield(&l, nil) {
					return
				}
			}
		}
	}
	var out bytes.Buffer
	w, err := focus.NewCSV(&out)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := focus.Export(w, focus.Books{
		Lines: where(func(l *ledger.Line) bool { return booked == 0 || l.Period == booked }),
		Hour: func(ms int64) iter.Seq2[*ledger.Line, error] {
			return where(func(l *ledger.Line) bool { return l.StartMS-l.StartMS%hourMS == ms })
		},
		Rated: func(yield func(*rating.Rated, error) bool) {
			for i := range b.rated {
				if !yield(&b.rated[i], nil) {
					return
				}
			}
		},
		Account: focus.Account{ID: "acme", Name: "ACME", Provider: "ACME data centre"},
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sum
}

// TestALedgersRowsKeepTheRules: an export of a ledger keeps every rule that a
// machine can check, has every kind of charge, and sums to the ledger's lines.
func TestALedgersRowsKeepTheRules(t *testing.T) {
	b := storyBooks(t)
	m := publishedModel(t)
	first := ledger.MonthOf(b.lines[0].StartMS)
	var all focus.Summary
	for _, booked := range []ledger.Month{0, first, first + 1, first + 2} {
		rows, sum := b.export(t, booked)
		want := map[money.Currency]money.Sum{}
		for i := range b.lines {
			if l := &b.lines[i]; l.Amount != nil && (booked == 0 || l.Period == booked) {
				s := want[l.Currency]
				s.Add(*l.Amount)
				want[l.Currency] = s
			}
		}
		tab := table(t, rows)
		got := map[money.Currency]money.Sum{}
		for i := range tab.Rows {
			c := money.Currency(tab.at(i, "BillingCurrency").Text)
			s := got[c]
			s.Add(nano(tab.at(i, "EffectiveCost").Text))
			got[c] = s
		}
		for c, s := range want {
			if got[c] != s || sum.Sums[c] != s {
				t.Errorf("%s: rows sum to %s %s, the summary says %s, the lines %s", booked, got[c], c, sum.Sums[c], s)
			}
		}
		if booked == 0 {
			all = sum
		}
		if broken := CheckSplit(tab, "x_OriginChargeId"); len(broken) > 0 {
			t.Errorf("%s: FOCUS 1.3: %s", booked, strings.Join(broken[:min(5, len(broken))], "\n"))
		}
		if m == nil {
			continue
		}
		report := Evaluate(m, tab, options(t))
		for _, v := range append(report.Violations(), report.Advice()...) {
			t.Errorf("%s: %s", booked, v)
		}
	}
	t.Logf("%+v", all)
	if all.Charges < 50 || all.Corrections < 25 || all.Drifts != 2 {
		t.Errorf("the ledger has too little of a kind: %+v", all)
	}
}
