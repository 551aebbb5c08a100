// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/workload"
)

// Ledger is what an engine offers that keeps the ledger, too.
type Ledger interface {
	Store
	billing.Store
}

// OpenLedger opens the store in a directory, making it if need be.
type OpenLedger func(dir string) (Ledger, error)

// RunLedger runs the contract of the ledger on an engine.
func RunLedger(t *testing.T, open OpenLedger) {
	RunLedgerOfOneProcess(t, open)
	t.Run("a killed rater loses nothing that it booked, and leaves no half of it", func(t *testing.T) { killedBooking(t, open) })
}

// RunLedgerOfOneProcess is the contract without what takes other processes, which
// an engine sets up otherwise than this one.
func RunLedgerOfOneProcess(t *testing.T, open OpenLedger) {
	for _, c := range []struct {
		name string
		test func(*testing.T, OpenLedger)
	}{
		{"every field of a booking comes back", everyFieldOfABooking},
		{"lines come in order, and as they are asked for", linesInOrder},
		{"a booking that was overtaken is refused, with all others", overtaken},
		{"a booking is all or nothing", wholeBookings},
		{"rated again, an hour has one state and all its lines", ratedAgain},
		{"what arrives is due, once, until it was seen", dueHours},
		{"holes and gaps are due", holesAreDue},
		{"what touches an hour comes by node, once", touchingAnHour},
		{"machines are told by their records", machines},
		{"a closed month is what core makes of its lines", closedMonths},
		{"what changes after closing is a correction", corrections},
		{"months that cannot be closed stay open", refusedClosings},
		{"drifts are booked beside hours", drifts},
		{"months are summed by scope", monthSums},
		{"a report is what core makes of all lines", reports},
		{"a report that cannot be is refused as core does", refusedReports},
		{"the trail is a chain", trail},
		{"a text stands under its key", textsByKey},
		{"every field of a bill comes back", everyFieldOfABill},
		{"an import takes the place of the former", imports},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// books is an open store and what the tests ask of it.
type books struct {
	Ledger
	t    tb
	dir  string
	open OpenLedger
}

func startBooks(t testing.TB, open OpenLedger) *books {
	t.Helper()
	b := &books{t: t, dir: t.TempDir(), open: open}
	b.reopen()
	t.Cleanup(func() {
		if b.Ledger != nil {
			b.must(b.Close())
		}
	})
	return b
}

func (b *books) with(t tb) *books { return &books{Ledger: b.Ledger, t: t, dir: b.dir, open: b.open} }

func (b *books) ctx() context.Context { return context.Background() }

func (b *books) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *books) reopen() {
	b.t.Helper()
	if b.Ledger != nil {
		b.must(b.Close())
		b.Ledger = nil
	}
	s, err := b.open(b.dir)
	b.must(err)
	b.Ledger = s
}

func (b *books) book(bookings ...rating.Booking) {
	b.t.Helper()
	b.must(b.Book(context.Background(), bookings))
}

func (b *books) lines(q ledger.Query) (out []ledger.Line) {
	b.t.Helper()
	for l, err := range b.Lines(context.Background(), q) {
		b.must(err)
		out = append(out, *l)
	}
	return out
}

func (b *books) rated(from, to int64, node string) (out []rating.Rated) {
	b.t.Helper()
	for h, err := range b.Rated(context.Background(), time.UnixMilli(from), time.UnixMilli(to), node) {
		b.must(err)
		out = append(out, *h)
	}
	return out
}

func (b *books) costs(from, to int64) (out []pricing.NodeCost) {
	b.t.Helper()
	for c, err := range b.Costs(context.Background(), time.UnixMilli(from), time.UnixMilli(to)) {
		b.must(err)
		out = append(out, *c)
	}
	return out
}

// alike fails where two values differ. Nil and empty lists are one.
func alike[T any](t tb, what string, want, got T) {
	t.Helper()
	opts := cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(ledger.Wide{}, money.Sum{})}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// hourNo is an hour of a node, so many after Start.
func hourNo(node string, n int) ledger.NodeHour {
	return ledger.NodeHour{Cluster: "test", Node: node, HourMS: Start + int64(n)*3_600_000}
}

// everyFieldOfABooking: what is booked is what is read. Each run of the property has
// an hour of its own in one store.
func everyFieldOfABooking(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		b := b.with(t)
		var bookings []rating.Booking
		var lines []ledger.Line
		var rated []rating.Rated
		var costs []pricing.NodeCost
		for i := range rapid.IntRange(1, 3).Draw(t, "bookings") {
			n := anyBooking(t, ledger.NodeHour{Cluster: rapid.SampledFrom([]string{"", "c", "it's"}).Draw(t, "cluster"), Node: fmt.Sprint("n", i), HourMS: Start + int64(run)*3_600_000})
			bookings, lines = append(bookings, n), append(lines, n.Lines...)
		}
		b.book(bookings...)
		from, to := Start+int64(run)*3_600_000, Start+int64(run+1)*3_600_000
		alike(t, "lines", sortedLines(lines), b.lines(ledger.Query{FromMS: from, ToMS: to}))
		for i := range bookings {
			rated = append(rated, bookings[i].Rated)
		}
		sortRated(rated)
		for i := range rated {
			costs = append(costs, rated[i].Costs...)
		}
		alike(t, "rated hours", rated, b.rated(from, to, ""))
		alike(t, "costs", costs, b.costs(from, to))
		lookup, err := b.Pods(context.Background(), time.UnixMilli(from), time.UnixMilli(to))
		b.must(err)
		for i := range lines {
			l := &lines[i]
			want, known := podsOf(bookings, l)
			got, ok := lookup(l.Holder.PodUID, from)
			if ok != known || ok && !cmp.Equal(want, *got, cmpopts.EquateEmpty()) {
				t.Fatalf("pod %q is %v (%v), want %v (%v)", l.Holder.PodUID, got, ok, want, known)
			}
		}
	})
}

// linesInOrder: any range, any question.
func linesInOrder(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	var all []ledger.Line
	for hour := range 30 {
		var group []rating.Booking
		for _, node := range []string{"n2", "n1", "n3"} {
			group = append(group, bookingOf(t, nil, hourNo(node, hour), 2, 36_000_000_007, int64(hour), ledger.Periods{}))
		}
		b.book(group...)
		for i := range group {
			all = append(all, group[i].Lines...)
		}
	}
	all = sortedLines(all)
	one := all[len(all)/2]
	m := ledger.MonthOf(Start)
	later := m + 1
	for name, q := range map[string]struct {
		q    ledger.Query
		want func(*ledger.Line) bool
	}{
		"all":     {ledger.Query{}, func(*ledger.Line) bool { return true }},
		"times":   {ledger.Query{FromMS: Start + 5*3_600_000, ToMS: Start + 7*3_600_000}, func(l *ledger.Line) bool { h := (l.HourMS - Start) / 3_600_000; return h == 5 || h == 6 }},
		"booked":  {ledger.Query{Booked: &m}, func(l *ledger.Line) bool { return l.Period == m }},
		"later":   {ledger.Query{Booked: &later}, func(l *ledger.Line) bool { return l.Period == later }},
		"node":    {ledger.Query{Cluster: "test", Node: "n1"}, func(l *ledger.Line) bool { return l.Node == "n1" }},
		"nobody":  {ledger.Query{Cluster: "other", Node: "n1"}, func(*ledger.Line) bool { return false }},
		"entry":   {ledger.Query{Entry: one.Entry}, func(l *ledger.Line) bool { return l.Entry == one.Entry }},
		"id":      {ledger.Query{ID: one.ID}, func(l *ledger.Line) bool { return l.ID == one.ID }},
		"no id":   {ledger.Query{ID: "x"}, func(*ledger.Line) bool { return false }},
		"account": {ledger.Query{Account: "ns-1/train-1"}, func(l *ledger.Line) bool { return l.Account == "ns-1/train-1" }},
		"idle":    {ledger.Query{Account: "idle", Node: "n2", Cluster: "test"}, func(l *ledger.Line) bool { return l.Account == "idle" && l.Node == "n2" }},
		"pod":     {ledger.Query{PodUID: "n1-0"}, func(l *ledger.Line) bool { return l.Holder.PodUID == "n1-0" }},
	} {
		var want []ledger.Line
		for i := range all {
			if q.want(&all[i]) {
				want = append(want, all[i])
			}
		}
		alike(t, name, want, b.lines(q.q))
	}
}

func overtaken(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	first := bookingOf(t, nil, hourNo("n1", 0), 1, 1000, 0, ledger.Periods{})
	b.book(first)
	other := bookingOf(t, nil, hourNo("n2", 0), 1, 1000, 0, ledger.Periods{})
	err := b.Book(context.Background(), []rating.Booking{other, first})
	var o *rating.Overtaken
	if !errors.As(err, &o) || o.NodeHour != first.Rated.NodeHour || o.After != 0 || o.Is != 1 {
		t.Errorf("%v, want the hour of n1 overtaken", err)
	}
	if err := b.Book(context.Background(), []rating.Booking{other, other}); err == nil {
		t.Error("one hour was booked twice at once")
	}
	alike(t, "lines", sortedLines(first.Lines), b.lines(ledger.Query{}))
	b.book(other)
}

// wholeBookings: what cannot be kept takes all of its call with it.
func wholeBookings(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	good := bookingOf(t, nil, hourNo("n1", 0), 1, 1000, 0, ledger.Periods{})
	for what, spoil := range map[string]func(*rating.Booking){
		"an id":      func(n *rating.Booking) { n.Lines[1].ID = "no id" },
		"UTF-8":      func(n *rating.Booking) { n.Lines[1].Holder.Pod = "\xff" },
		"an hour":    func(n *rating.Booking) { n.Lines[1].HourMS++ },
		"a booking":  func(n *rating.Booking) { n.Lines[1].Booking = 7 },
		"its number": func(n *rating.Booking) { n.Rated.Booking = 7 },
		"a cost":     func(n *rating.Booking) { n.Rated.Costs[0].Node = "n9" },
	} {
		bad := bookingOf(t, nil, hourNo("n2", 0), 1, 1000, 0, ledger.Periods{})
		spoil(&bad)
		if err := b.Book(context.Background(), []rating.Booking{good, bad}); err == nil {
			t.Errorf("%s that is wrong was booked", what)
		}
	}
	if n := len(b.lines(ledger.Query{})) + len(b.rated(0, 1<<45, "")); n != 0 {
		t.Errorf("%d rows of refused bookings are there", n)
	}
	b.book(good)
	alike(t, "lines", sortedLines(good.Lines), b.lines(ledger.Query{}))
}

// ratedAgain: adjustments come beside the lines that are there, the state of the
// hour and what the pods are is the newest.
func ratedAgain(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	h := hourNo("n1", 3)
	var all []ledger.Line
	var last rating.Booking
	for change := range 4 {
		last = bookingOf(t, b.lines(ledger.Query{Cluster: h.Cluster, Node: h.Node, FromMS: h.HourMS, ToMS: h.HourMS + 3_600_000}), h, 3, 36_000_000_000, int64(change), ledger.Periods{})
		for uid, p := range last.Pods {
			p.Owner = workload.Owner{Kind: "Job", Name: fmt.Sprint("job-", change)}
			last.Pods[uid] = p
		}
		b.book(last, bookingOf(t, nil, hourNo("n2", 10+change), 1, 1000, 0, ledger.Periods{}))
		all = append(all, last.Lines...)
		if change == 1 {
			b.reopen()
		}
	}
	alike(t, "lines", sortedLines(all), b.lines(ledger.Query{Cluster: "test", Node: "n1"}))
	alike(t, "state", []rating.Rated{last.Rated}, b.rated(h.HourMS, h.HourMS+1, "n1"))
	alike(t, "costs", last.Rated.Costs, b.costs(h.HourMS, h.HourMS+3_600_000))
	if v := ledger.Check(ledger.Journal{Lines: all, Costs: last.Rated.Costs}); v != nil {
		t.Error(v)
	}
	lookup, err := b.Pods(context.Background(), time.UnixMilli(h.HourMS), time.UnixMilli(h.HourMS+3_600_000))
	b.must(err)
	if p, ok := lookup("n1-1", h.HourMS); !ok || p.Owner.Name != "job-3" {
		t.Errorf("the pod is %v, want it of job-3", p)
	}
	// Rated again with the same outcome, nothing is booked and nothing lost.
	last.After, last.Lines = last.Rated.Booking, nil
	b.book(last)
	alike(t, "lines", len(all), len(b.lines(ledger.Query{Cluster: "test", Node: "n1"})))
}
