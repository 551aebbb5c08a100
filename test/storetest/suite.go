// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/app/server"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Store is what an engine offers.
type Store interface {
	server.Journal
	server.Hours
	server.Archive
	Close() error
}

// Open opens the store in a directory, making it if need be.
type Open func(dir string) (Store, error)

// Run runs the contract on an engine.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Open)
	}{
		{"every field comes back", everyField},
		{"every field comes back from a sealed hour", everyFieldSealed},
		{"large values and sums are exact", largeValues},
		{"each batch counts once", once},
		{"hours are read in order, whole, and by node", readingOrder},
		{"durable follows checkpoint, and both outlive closing", durable},
		{"a refused batch takes no other with it", refusal},
		{"sealing changes nothing that is read", sealing},
		{"late batches come to a sealed hour", late},
		{"what is dropped is gone and never taken again", dropped},
		{"gaps are found by the time they span", gaps},
		{"readers see whole batches while others write and seal", concurrent},
		{"a slow reader holds nobody up", slowReader},
		{"a killed process loses nothing that it said it had", killed},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// fixture is an open store and what the tests ask of it.
type fixture struct {
	Store
	t    tb
	dir  string
	open Open
}

// tb is a test or a run of a property.
type tb interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func start(t testing.TB, open Open) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), open: open}
	f.reopen()
	t.Cleanup(func() {
		if f.Store != nil {
			f.must(f.Close())
		}
	})
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) reopen() {
	f.t.Helper()
	if f.Store != nil {
		f.must(f.Close())
		f.Store = nil
	}
	s, err := f.open(f.dir)
	f.must(err)
	f.Store = s
}

func (f *fixture) append(batches ...usage.Batch) int {
	f.t.Helper()
	n, err := f.Append(context.Background(), batches)
	f.must(err)
	return n
}

func startTime() time.Time { return time.UnixMilli(Start).UTC() }

func (f *fixture) hour(hours int, node string) []usage.Batch {
	f.t.Helper()
	var out []usage.Batch
	for b, err := range f.Hour(context.Background(), startTime().Add(time.Duration(hours)*time.Hour), node) {
		f.must(err)
		out = append(out, b)
	}
	return out
}

func (f *fixture) totals() journal.Totals {
	f.t.Helper()
	t, err := f.Totals(context.Background(), startTime().Add(-1000*time.Hour), startTime().Add(1000*time.Hour))
	f.must(err)
	return t
}

func (f *fixture) seal(hours int) {
	f.t.Helper()
	f.must(f.Seal(context.Background(), startTime().Add(time.Duration(hours)*time.Hour)))
}

func (f *fixture) same(want, got []usage.Batch) {
	f.t.Helper()
	if diff := cmp.Diff(sorted(want), got, cmpopts.EquateEmpty()); diff != "" {
		f.t.Fatalf("batches (-want +got):\n%s", diff)
	}
}

// sorted is the order in which batches are read.
func sorted(batches []usage.Batch) []usage.Batch {
	out := slices.Clone(batches)
	slices.SortFunc(out, func(a, b usage.Batch) int {
		if c := journal.SourceOf(&a).Compare(journal.SourceOf(&b)); c != 0 {
			return c
		}
		if a.Seq < b.Seq {
			return -1
		}
		return 1
	})
	return out
}

// anyBatches draws batches with anything in them and different names.
func anyBatches(t *rapid.T, run, hour int) []usage.Batch {
	n := rapid.IntRange(1, 4).Draw(t, "batches")
	out := make([]usage.Batch, n)
	for i := range out {
		out[i] = AnyBatch(t)
		out[i].Boot = fmt.Sprintf("run-%d", run)
		out[i].Agent = fmt.Sprintf("agent-%d", i%2)
		out[i].Seq = uint64(i + 1)
		out[i].StartMS = Start + int64(hour)*3_600_000 + int64(i)
	}
	return out
}

// everyField: what is appended is what is read, field by field. Each run of the
// property has an hour of its own in one store.
func everyField(t *testing.T, open Open) {
	f := start(t, open)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		f := &fixture{Store: f.Store, t: t, dir: f.dir, open: f.open}
		want := anyBatches(t, run, run)
		if n := f.append(want...); n != len(want) {
			t.Fatalf("%d of %d batches were new", n, len(want))
		}
		f.same(want, f.hour(run, ""))
	})
}

// everyFieldSealed is the same through sealed files, several runs an hour.
func everyFieldSealed(t *testing.T, open Open) {
	f := start(t, open)
	var want [3][]usage.Batch
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		want[run%3] = append(want[run%3], anyBatches(t, run, run%3)...)
	})
	for hour := range want {
		f.append(want[hour]...)
		f.seal(hour)
		f.same(want[hour], f.hour(hour, ""))
	}
}

// largeValues: columns near 2^62 and 2^64 come back, and sums go beyond 64 bits
// without wrapping.
func largeValues(t *testing.T, open Open) {
	f := start(t, open)
	var want usage.Total
	for i := range 40 {
		b := Minute("big", "boot", uint64(i+1), 1, 1)
		v := uint64(1)<<62 + uint64(i)
		if i%2 == 1 {
			v = ^uint64(0) - uint64(i)
		}
		b.Holders[0].ByteMS, b.Holders[0].PeakBytes = v, v
		want.Add(v)
		f.append(b)
		if got := f.hour(0, "")[i].Holders[0]; got.ByteMS != v || got.PeakBytes != v {
			t.Fatalf("byte_ms %d peak %d, want %d", got.ByteMS, got.PeakBytes, v)
		}
	}
	if got := f.totals().HolderByteMS; got != want {
		t.Errorf("sum %s, want %s", got, want)
	}
	f.seal(0)
	if got := f.totals().HolderByteMS; got != want {
		t.Errorf("sum of the sealed hour %s, want %s", got, want)
	}
}

// once: whatever comes, in any order and as often as it likes, each batch is
// counted once, and the acknowledgements say exactly what came.
func once(t *testing.T, open Open) {
	f := start(t, open)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		f := &fixture{Store: f.Store, t: t}
		agent := fmt.Sprintf("once-%d", run)
		marks, counted := map[string]journal.Mark{}, 0
		for range rapid.IntRange(1, 4).Draw(t, "groups") {
			var group []usage.Batch
			fresh := 0
			for range rapid.IntRange(0, 8).Draw(t, "batches") {
				boot := rapid.SampledFrom([]string{"b1", "b2"}).Draw(t, "boot")
				seq := rapid.Uint64Range(1, 12).Draw(t, "seq")
				group = append(group, Minute(agent, boot, seq, 1, 1))
				next, isNew := marks[boot].With(seq)
				if marks[boot] = next; isNew {
					fresh++
				}
			}
			if got := f.append(group...); got != fresh {
				t.Fatalf("%d of the group were new, want %d", got, fresh)
			}
			counted += fresh
		}
		for _, ack := range f.Acks(agent) {
			if diff := cmp.Diff(marks[ack.Boot], ack.Accepted, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("boot %s accepted (-want +got):\n%s", ack.Boot, diff)
			}
		}
		if got := len(f.hour(0, "node-"+agent)); got != counted {
			t.Fatalf("%d batches are there, %d were counted", got, counted)
		}
	})
	if total := f.totals(); !total.Balanced() {
		t.Errorf("the parts do not sum to the whole: %+v", total)
	}
}

func readingOrder(t *testing.T, open Open) {
	f := start(t, open)
	var all []usage.Batch
	for _, agent := range []string{"b", "a'", "c"} {
		for _, boot := range []string{"2", "1"} {
			for _, seq := range []uint64{61, 3, 1, 60, 2, 130} {
				all = append(all, Minute(agent, boot, seq, 2, 2))
			}
		}
	}
	for i := range all {
		f.append(all[len(all)-1-i])
	}
	in := func(hour int, node string) (out []usage.Batch) {
		for _, b := range all {
			if int((b.StartMS-Start)/3_600_000) == hour && (node == "" || b.Node == node) {
				out = append(out, b)
			}
		}
		return out
	}
	for hour := range 3 {
		f.same(in(hour, ""), f.hour(hour, ""))
		f.same(in(hour, "node-a'"), f.hour(hour, "node-a'"))
		if got := f.hour(hour, "nobody"); len(got) != 0 {
			t.Errorf("a node that does not exist has %d batches", len(got))
		}
	}
}

func durable(t *testing.T, open Open) {
	f := start(t, open)
	f.append(Minute("d", "boot", 1, 1, 1), Minute("d", "boot", 2, 1, 1))
	ack := func() journal.Ack { return f.Acks("d")[0] }
	if a := ack(); a.Accepted.Seq != 2 || a.Durable.Seq > 2 {
		t.Errorf("after the append: %+v", a)
	}
	f.must(f.Checkpoint(context.Background()))
	f.append(Minute("d", "boot", 4, 1, 1))
	if a := ack(); a.Accepted.Seq != 4 || !a.Durable.Has(2) || a.Accepted.Has(3) || a.Durable.Has(3) {
		t.Errorf("after the checkpoint and one more: %+v", a)
	}
	f.reopen()
	if a := ack(); !a.Durable.Has(4) || a.Durable.Has(3) || a.Durable.Seq != a.Accepted.Seq {
		t.Errorf("after closing and opening: %+v", a)
	}
	if n := f.append(Minute("d", "boot", 2, 1, 1), Minute("d", "boot", 3, 1, 1)); n != 1 {
		t.Errorf("%d new, want 1: 2 was there before, 3 was not", n)
	}
	if got := len(f.hour(0, "")); got != 4 {
		t.Errorf("%d batches, want 4", got)
	}
}

// refusal: more holes than a store tells apart. The batch is named, and the
// rest of the group can be added without it.
func refusal(t *testing.T, open Open) {
	f := start(t, open)
	var group []usage.Batch
	for seq := uint64(1); seq < 100_000; seq += 2 {
		group = append(group, usage.Batch{Version: 1, Agent: "holes", Boot: "b", Node: "n", Seq: seq, StartMS: Start, DurationMS: 1})
	}
	_, err := f.Append(context.Background(), group)
	var r *journal.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%v, want a refusal", err)
	}
	if r.Index <= 0 || r.Seq != group[r.Index].Seq || r.Boot != "b" || r.Code != journal.RefusedGaps {
		t.Errorf("refused %+v, position %d is %d", r, r.Index, group[r.Index].Seq)
	}
	if got := f.totals().Batches; got != 0 {
		t.Errorf("%d batches of a refused group are there", got)
	}
	if n := f.append(group[:r.Index]...); n != r.Index {
		t.Errorf("%d of the others were new, want %d", n, r.Index)
	}
}
