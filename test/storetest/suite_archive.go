// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

// fleet are the batches of some agents over some minutes.
func fleet(agents, minutes int) (out []usage.Batch) {
	for seq := range minutes {
		for a := range agents {
			out = append(out, Minute(fmt.Sprintf("agent-%02d", a), "boot", uint64(seq+1), 2, 3))
		}
	}
	return out
}

func sealing(t *testing.T, open Open) {
	f := start(t, open)
	all := fleet(5, 130)
	f.append(all...)
	before, hours := f.totals(), [][]usage.Batch{f.hour(0, ""), f.hour(1, ""), f.hour(2, "")}
	list, err := f.Sealable(context.Background(), startTime().Add(2*time.Hour))
	f.must(err)
	if want := []time.Time{startTime(), startTime().Add(time.Hour)}; !cmp.Equal(want, list) {
		t.Fatalf("hours to seal %v, want %v", list, want)
	}
	for i, hour := range list {
		f.must(f.Seal(context.Background(), hour))
		f.same(hours[i], f.hour(i, ""))
		f.same(hours[2], f.hour(2, ""))
	}
	if after := f.totals(); after != before {
		t.Errorf("totals %+v, before sealing %+v", after, before)
	}
	if list, err := f.Sealable(context.Background(), startTime().Add(2*time.Hour)); err != nil || len(list) != 0 {
		t.Errorf("hours still to seal: %v %v", list, err)
	}
	f.reopen()
	f.same(hours[0], f.hour(0, ""))
	if got := f.hour(1, "node-agent-03"); len(got) != 60 {
		t.Errorf("%d batches of one node in a sealed hour, want 60", len(got))
	}
	if n := f.append(all...); n != 0 {
		t.Errorf("%d batches of sealed hours were taken again", n)
	}
}

func late(t *testing.T, open Open) {
	f := start(t, open)
	all := fleet(4, 60)
	var first, rest []usage.Batch
	for i, b := range all {
		if i%7 == 0 {
			rest = append(rest, b)
		} else {
			first = append(first, b)
		}
	}
	f.append(first...)
	f.seal(0)
	f.append(rest[:5]...)
	f.same(append(rest[:5:5], first...), f.hour(0, ""))
	f.seal(0)
	f.append(rest...)
	f.same(all, f.hour(0, ""))
	f.reopen()
	f.same(all, f.hour(0, ""))
	f.seal(0)
	f.seal(0)
	f.same(all, f.hour(0, ""))
	if total := f.totals(); total.Batches != int64(len(all)) || !total.Balanced() {
		t.Errorf("totals %+v of %d batches", total, len(all))
	}
}

func dropped(t *testing.T, open Open) {
	f := start(t, open)
	all := fleet(2, 150)
	f.append(all...)
	f.seal(0)
	n, err := f.Drop(context.Background(), startTime().Add(2*time.Hour))
	f.must(err)
	if n != 240 {
		t.Errorf("%d batches dropped, want the 240 of two hours", n)
	}
	if got := len(f.hour(0, "")) + len(f.hour(1, "")); got != 0 {
		t.Errorf("%d batches of dropped hours are there", got)
	}
	if n := f.append(all...); n != 0 {
		t.Errorf("%d dropped batches were taken again", n)
	}
	// One that comes only now does not lean on what went with its hour.
	late := Minute("agent-00", "late", 61, 2, 3)
	f.append(late)
	f.same([]usage.Batch{late}, f.hour(1, ""))
	f.reopen()
	if got := f.totals().Batches; got != 61 {
		t.Errorf("%d batches are left, want 61", got)
	}
}

func gaps(t *testing.T, open Open) {
	f := start(t, open)
	gap := func(node string, seq uint64, hour, hours int) usage.Batch {
		span := usage.Span{StartMS: Start + int64(hour)*3_600_000, DurationMS: int64(hours) * 3_600_000}
		return usage.Batch{Version: usage.BatchVersion, Node: node, Agent: node, Boot: "b", Seq: seq, StartMS: span.StartMS, DurationMS: span.DurationMS,
			Gap: &usage.Gap{Reason: "agent_down", Span: span, Boot: "a", FirstSeq: 3, LastSeq: 9}}
	}
	down := []usage.Batch{gap("n1", 1, 0, 72), gap("n2", 1, 10, 1), gap("n2", 2, 20, 0)}
	f.append(down...)
	ask := func(from, to int, node string) (got []usage.Batch) {
		for b, err := range f.Gaps(context.Background(), startTime().Add(time.Duration(from)*time.Hour), startTime().Add(time.Duration(to)*time.Hour), node) {
			f.must(err)
			got = append(got, b)
		}
		return got
	}
	check := func() {
		t.Helper()
		f.same(down[:1], ask(71, 72, ""))
		f.same(nil, ask(72, 80, ""))
		f.same(down[:2], ask(10, 11, ""))
		f.same(down[1:2], ask(10, 11, "n2"))
		f.same(down[:1], ask(11, 12, ""))
		f.same([]usage.Batch{down[0], down[2]}, ask(20, 21, ""))
		f.same(nil, ask(-5, 0, ""))
		f.same(down[:1], f.hour(0, ""))
	}
	check()
	f.seal(0)
	f.seal(10)
	check()
	if got := f.totals().Gaps; got != 3 {
		t.Errorf("%d gaps, want 3", got)
	}
}

// concurrent: readers never see a part of a batch, nor a batch twice, while
// batches arrive, hours are sealed and checkpoints made.
func concurrent(t *testing.T, open Open) {
	f := start(t, open)
	f.append(fleet(3, 60)...)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := 0
				for b, err := range f.Hour(context.Background(), startTime(), "") {
					if err == nil {
						err = b.Check()
					}
					if err != nil {
						t.Error(err)
						return
					}
					n++
				}
				if n < 180 {
					t.Errorf("%d batches, there were 180 before", n)
					return
				}
			}
		})
	}
	for i := range 12 {
		b := Minute(fmt.Sprintf("late-%d", i), "boot", uint64(i+1), 2, 3)
		f.append(b)
		switch i % 3 {
		case 0:
			f.seal(0)
		case 1:
			f.checkpointSoon()
		}
	}
	stop()
	wg.Wait()
	if got := len(f.hour(0, "")); got != 192 {
		t.Errorf("%d batches, want 192", got)
	}
}

// checkpointSoon makes a checkpoint while others read all the time. On a slow machine
// one may have to give way to them, but not one after another.
func (f *fixture) checkpointSoon() {
	f.t.Helper()
	var err error
	for range 10 {
		if err = f.Checkpoint(context.Background()); err == nil {
			return
		}
	}
	f.must(err)
}

// slowReader: who stops in the middle of reading holds up neither writing nor
// checkpoints nor sealing, and reads on as it began.
func slowReader(t *testing.T, open Open) {
	f := start(t, open)
	all := fleet(2, 60)
	f.append(all...)
	next, stop := iter.Pull2(f.Hour(context.Background(), startTime(), ""))
	defer stop()
	first, err, _ := next()
	f.must(err)
	f.append(Minute("later", "boot", 1, 1, 1))
	f.must(f.Checkpoint(context.Background()))
	if !f.Acks("later")[0].Durable.Has(1) {
		t.Error("nothing becomes durable while somebody reads")
	}
	f.seal(0)
	f.seal(0)
	got := []usage.Batch{first}
	for b, err, ok := next(); ok; b, err, ok = next() {
		f.must(err)
		got = append(got, b)
	}
	f.same(all, got)
	if n := len(f.hour(0, "")); n != 121 {
		t.Errorf("%d batches, want 121", n)
	}
}
