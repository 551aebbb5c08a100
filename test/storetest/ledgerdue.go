// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

func sortRated(rated []rating.Rated) {
	slices.SortFunc(rated, func(a, b rating.Rated) int { return a.Compare(b.NodeHour) })
}

// podsOf is what the bookings say of a line's pod.
func podsOf(bookings []rating.Booking, l *ledger.Line) (report.PodDimensions, bool) {
	for i := range bookings {
		if bookings[i].Rated.NodeHour == l.NodeHour {
			p, ok := bookings[i].Pods[l.Holder.PodUID]
			return p, ok
		}
	}
	return report.PodDimensions{}, false
}

// due lists what is due of the test's cluster, as "node+hours after Start".
func (b *books) due(before int) string {
	b.t.Helper()
	return b.dueOf("test", before)
}

func (b *books) dueOf(cluster string, before int) string {
	b.t.Helper()
	at := startTime().Add(time.Duration(before) * time.Hour)
	list, err := b.Due(context.Background(), at, 100_000)
	b.must(err)
	var out []string
	for _, d := range list {
		if d.Cluster == cluster {
			out = append(out, fmt.Sprintf("%s+%d", d.Node, (d.HourMS-Start)/3_600_000))
		}
	}
	n, oldest, err := b.Backlog(context.Background(), at)
	b.must(err)
	if n != len(list) || (oldest == nil) != (n == 0) || n > 0 && *oldest != list[0].NodeHour {
		b.t.Fatalf("backlog is %d, the first %v; %d are due", n, oldest, len(list))
	}
	return strings.Join(out, " ")
}

// window is a minute of a node that begins so many minutes after Start.
func window(node, providerID string, seq uint64, minute int) usage.Batch {
	b := Minute(node, "boot", seq, 1, 1)
	moved := Start + int64(minute)*60_000 - b.StartMS
	b.Node, b.ProviderID = node, providerID
	b.StartMS += moved
	for i := range b.Partitions {
		b.Partitions[i].StartMS += moved
	}
	for i := range b.Holders {
		b.Holders[i].StartMS += moved
	}
	for i := range b.Grants {
		b.Grants[i].StartMS += moved
	}
	for i := range b.Pods {
		b.Pods[i].StartMS += moved
	}
	return b
}

func (b *books) send(batches ...usage.Batch) {
	b.t.Helper()
	_, err := b.Append(context.Background(), batches)
	b.must(err)
}

// settle takes everything of a cluster off the list, as rated.
func (b *books) settle(cluster string) {
	b.t.Helper()
	list, err := b.Due(context.Background(), startTime().Add(1000*time.Hour), 100_000)
	b.must(err)
	var all []rating.Booking
	for _, d := range list {
		if d.Cluster == cluster {
			all = append(all, rating.Booking{Rated: rating.Rated{NodeHour: d.NodeHour}, Mark: d.Mark})
		}
	}
	b.book(all...)
}

func (b *books) mark(h ledger.NodeHour) int64 {
	b.t.Helper()
	list, err := b.Due(context.Background(), startTime().Add(1000*time.Hour), 1000)
	b.must(err)
	for _, d := range list {
		if d.NodeHour == h {
			return d.Mark
		}
	}
	b.t.Fatalf("%s is not due", h)
	return 0
}

func dueHours(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	want := func(before int, list string) {
		t.Helper()
		if got := b.due(before); got != list {
			t.Errorf("due is %q, want %q", got, list)
		}
	}
	want(5, "")
	b.send(window("n2", "p2", 1, 10), window("n1", "p1", 1, 30), window("n1", "p1", 2, 31))
	want(0, "")
	want(1, "n1+0 n2+0")
	h := hourNo("n1", 0)
	seen := b.mark(h)
	b.send(window("n1", "p1", 2, 31)) // again: nothing new
	n := bookingOf(t, nil, h, 1, 1000, 0, ledger.Periods{})
	n.Mark = seen
	b.send(window("n1", "p1", 3, 32)) // between reading and booking
	b.book(n)
	want(1, "n1+0 n2+0")
	b.reopen()
	again := rating.Booking{Rated: n.Rated, After: 1, Mark: b.mark(h)}
	b.book(again)
	want(1, "n2+0")
	b.must(b.Ask(context.Background(), []ledger.NodeHour{h, hourNo("n7", 2)}))
	want(5, "n1+0 n2+0 n7+2")
	if list, err := b.Due(context.Background(), startTime().Add(5*time.Hour), 2); err != nil || len(list) != 2 {
		t.Errorf("%v %v, want the first two", list, err)
	}
	again.Mark = seen + 1
	asked := b.mark(h)
	b.book(again)
	want(1, "n1+0 n2+0")
	again.Mark = asked
	b.book(again)
	want(5, "n2+0 n7+2")
	b.send(window("n1", "p1", 4, 59)) // its interval reaches beyond the hour
	want(5, "n1+0 n2+0 n1+1 n7+2")
}

// holesAreDue: hours in which a machine was there and sent nothing have no records,
// and are paid for.
func holesAreDue(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	for _, c := range []struct {
		name    string
		batches []usage.Batch
		want    string
	}{
		{"the agent was down", []usage.Batch{window("n", "p", 1, 30), window("n", "p", 2, 4*60+10)}, "n+0 n+1 n+2 n+3 n+4"},
		{"the later window came first", []usage.Batch{window("n", "p", 2, 4*60+10), window("n", "p", 1, 30)}, "n+0 n+1 n+2 n+3 n+4"},
		{"another machine took the name", []usage.Batch{window("n", "p", 1, 30), window("n", "q", 1, 4*60+10)}, "n+0 n+4"},
		{"nobody says which machine", []usage.Batch{window("n", "", 1, 30), window("n", "", 2, 2*60+10)}, "n+0 n+1 n+2"},
		{"first nobody says it", []usage.Batch{window("n", "", 1, 30), window("n", "p", 2, 2*60+10)}, "n+0 n+1 n+2"},
		{"then nobody says it", []usage.Batch{window("n", "p", 1, 30), window("n", "", 2, 2*60+10)}, "n+0 n+1 n+2"},
		{"a clock that was wrong", []usage.Batch{window("n", "p", 1, 30), window("n", "p", 2, 500*24*60)}, "n+0 n+11999 n+12000"},
		{"nodes are told apart", []usage.Batch{window("m", "p", 1, 30), window("n", "p", 1, 2*60+10)}, "m+0 n+2"},
	} {
		for j, batch := range c.batches {
			batch.Seq, batch.Cluster = uint64(j+1), c.name
			batch.Agent = fmt.Sprint(c.name, batch.Node, batch.ProviderID)
			b.send(batch)
		}
		if got := b.dueOf(c.name, 100_000); got != c.want {
			t.Errorf("%s: due is %q, want %q", c.name, got, c.want)
		}
	}
	lateShapesAreDue(b)
	gap := window("n", "p", 1, 3*60)
	gap.Partitions, gap.Holders, gap.Grants, gap.Pods = nil, nil, nil, nil
	gap.Gap = &usage.Gap{Reason: "agent_down", Span: usage.Span{StartMS: Start + 30*60_000, DurationMS: 2 * 3_600_000}, Boot: "x", FirstSeq: 1, LastSeq: 2}
	b.send(gap)
	if got := b.dueOf("test", 100); got != "n+0 n+1 n+2 n+3" {
		t.Errorf("a gap: due is %q", got)
	}
}

// lateShapesAreDue: what a machine was stands until something else is told, whenever
// it comes in. When it was made says when it booted.
func lateShapesAreDue(b *books) {
	b.t.Helper()
	told := func(w usage.Batch, createdMinute int) usage.Batch {
		w.Shape = &usage.NodeShape{CPUMilli: int64(w.Seq), CreatedMS: Start + int64(createdMinute)*60_000}
		return w
	}
	window := func(node, providerID string, seq uint64, minute int) usage.Batch {
		w := window(node, providerID, seq, minute)
		w.Shape = nil
		return w
	}
	const old = -10_000 // minutes: long before anything
	for _, c := range []struct {
		name    string
		batches []usage.Batch
		want    string
	}{
		{"in time", []usage.Batch{told(window("n", "p", 1, 30), old), told(window("n", "p", 2, 31), old)}, "n+0"},
		{"within a hole that is rated", []usage.Batch{told(window("n", "p", 1, 10), old), window("n", "p", 2, 20), told(window("n", "p", 5, 5*60+10), old), told(window("n", "p", 3, 15), old)}, "n+0 n+1 n+2 n+3 n+4 n+5"},
		{"until the next one", []usage.Batch{told(window("n", "p", 1, 10), old), told(window("n", "p", 4, 70), old), window("n", "p", 5, 200), told(window("n", "p", 3, 20), old)}, "n+0 n+1"},
		{"the first of all", []usage.Batch{window("n", "p", 1, 10), window("n", "p", 2, 70), window("n", "p", 4, 190), told(window("n", "p", 3, 130), old)}, "n+0 n+1 n+2 n+3"},
		{"the first of all, in the newest window", []usage.Batch{window("n", "p", 1, 10), window("n", "p", 2, 70), told(window("n", "p", 3, 130), old)}, "n+0 n+1 n+2"},
		{"the first of one that nobody named before", []usage.Batch{window("n", "", 1, 10), window("n", "", 2, 70), told(window("n", "p", 3, 130), old)}, "n+0 n+1 n+2"},
		{"the first of another machine", []usage.Batch{told(window("n", "q", 1, 10), old), window("n", "q", 2, 70), told(window("n", "p", 3, 130), old)}, "n+2"},
		{"of another machine", []usage.Batch{window("n", "q", 1, 10), window("n", "q", 2, 130), told(window("n", "p", 3, 70), old)}, "n+1"},
		{"it booted in the hour before", []usage.Batch{window("n", "p", 1, 70), told(window("n", "p", 2, 190), 50)}, "n+0 n+1 n+2 n+3"},
		{"it did not boot then", []usage.Batch{told(window("n", "p", 1, 70), 50), told(window("n", "p", 2, 190), old)}, "n+0 n+1 n+2 n+3"},
	} {
		for j, batch := range c.batches {
			batch.Seq, batch.Cluster = uint64(j+1), "shape: "+c.name
			batch.Agent = fmt.Sprint(batch.Cluster, batch.Node, batch.ProviderID)
			if j == len(c.batches)-1 {
				b.settle(batch.Cluster) // what came before is rated
			}
			b.send(batch)
		}
		if got := b.dueOf("shape: "+c.name, 100); got != c.want {
			b.t.Fatalf("a shape %s: due is %q, want %q", c.name, got, c.want)
		}
	}
}

func touchingAnHour(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	var all []usage.Batch
	for _, node := range []string{"n2", "n1"} {
		seq := uint64(0)
		for minute := 50; minute <= 130; minute += 10 {
			seq++
			w := window(node, "p", seq, minute)
			w.StartMS += 30_000 // so that the one at 59:30 reaches into the next hour
			if minute == 60 {
				w.StartMS -= 60_000
			}
			w.Partitions, w.Holders, w.Grants, w.Pods = nil, nil, nil, nil
			all = append(all, w)
		}
	}
	gap := window("n1", "p", 100, 5*60)
	gap.Partitions, gap.Holders, gap.Grants, gap.Pods = nil, nil, nil, nil
	gap.Gap = &usage.Gap{Reason: "agent_down", Span: usage.Span{StartMS: Start + 90*60_000, DurationMS: 60_000}, Boot: "x"}
	all = append(all, gap)
	long := window("n1", "p", 101, -300) // a machine that slept in the middle of a window
	long.Partitions, long.Holders, long.Grants, long.Pods = nil, nil, nil, nil
	long.DurationMS = 6*3_600_000 + 60_000
	all = append(all, long)
	b.send(all...)
	check := func() {
		t.Helper()
		for _, node := range []string{"", "n1", "n2", "nobody"} {
			var want, got []string
			for _, w := range all {
				in := w.StartMS < Start+2*3_600_000 && w.StartMS+w.DurationMS > Start+3_600_000
				if (in || w.Gap != nil) && (node == "" || w.Node == node) {
					want = append(want, fmt.Sprintf("%s %d", w.Node, w.Seq))
				}
			}
			for w, err := range b.Touching(context.Background(), startTime().Add(time.Hour), startTime().Add(2*time.Hour), node) {
				b.must(err)
				batches, err := w.Read()
				b.must(err)
				if w.Done != nil { // the same comes out of memory that was given back
					w.Done(batches)
					batches, err = w.Read()
					b.must(err)
				}
				if len(batches) != w.Batches {
					t.Errorf("node %s has %d batches and says %d", w.Node, len(batches), w.Batches)
				}
				for i := range batches {
					got = append(got, fmt.Sprintf("%s %d", batches[i].Node, batches[i].Seq))
				}
			}
			if !slices.IsSorted(nodesOf(got)) {
				t.Errorf("%q: nodes are mixed: %v", node, got)
			}
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(want, got) {
				t.Errorf("%q touch %v, want %v", node, got, want)
			}
		}
	}
	check()
	b.must(b.Seal(context.Background(), startTime()))
	b.must(b.Seal(context.Background(), startTime().Add(time.Hour)))
	check()
	b.must(b.Seal(context.Background(), startTime().Add(-5*time.Hour)))
	check()
}

func nodesOf(list []string) (out []string) {
	for _, s := range list {
		node, _, _ := strings.Cut(s, " ")
		out = append(out, node)
	}
	return out
}

func machines(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	told := func(w usage.Batch, cpu int64) usage.Batch {
		w.Shape = &usage.NodeShape{CPUMilli: cpu, Labels: map[string]string{"cpu": fmt.Sprint(cpu)}}
		return w
	}
	b.send(
		told(window("n1", "p", 2, 130), 8), told(window("n1", "p", 1, 10), 4), window("n1", "p", 3, 190), told(window("n1", "p", 4, 250), 16),
		told(window("n2", "q", 5, 130), 2), window("n3", "", 6, 10),
	)
	at := func(minute int) int64 { return Start + int64(minute)*60_000 }
	shape := func(minute int, cpu int64) rating.ShapeAt {
		return rating.ShapeAt{FromMS: at(minute), NodeShape: *told(usage.Batch{}, cpu).Shape}
	}
	ask := func(from, to int, node string) []rating.Machine {
		t.Helper()
		out, err := b.Machines(context.Background(), time.UnixMilli(at(from)), time.UnixMilli(at(to)), node)
		b.must(err)
		return out
	}
	machine := func(node, id string, first, last int, shapes ...rating.ShapeAt) rating.Machine {
		return rating.Machine{Cluster: "test", Node: node, ProviderID: id, FirstMS: at(first), LastMS: at(last + 1), IntervalMS: 5000, Shapes: shapes}
	}
	check := func() {
		t.Helper()
		alike(t, "all", []rating.Machine{machine("n1", "p", 10, 250, shape(10, 4), shape(130, 8)), machine("n2", "q", 130, 130, shape(130, 2))}, ask(60, 240, ""))
		alike(t, "within a hole", []rating.Machine{machine("n1", "p", 10, 250, shape(130, 8))}, ask(140, 180, ""))
		alike(t, "before it was told", []rating.Machine{machine("n1", "p", 10, 250, shape(10, 4)), machine("n3", "", 10, 10)}, ask(0, 11, ""))
		alike(t, "one node", []rating.Machine{machine("n2", "q", 130, 130, shape(130, 2))}, ask(0, 1000, "n2"))
		alike(t, "nobody", nil, ask(300, 400, ""))
	}
	check()
	b.reopen()
	check()
	_, err := b.Drop(context.Background(), startTime().Add(10*time.Hour))
	b.must(err)
	check()
}
