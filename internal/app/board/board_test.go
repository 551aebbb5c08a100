// SPDX-License-Identifier: Apache-2.0

package board_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/memstore"
)

// batches are what a small fleet recorded.
func batches(t *testing.T) []usage.Batch {
	t.Helper()
	l, err := memstore.Open(t.Context(), memstore.End.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var out []usage.Batch
	for w, err := range l.Store.Touching(t.Context(), memstore.Start.Add(-time.Hour), memstore.End.Add(time.Hour), "") {
		if err != nil {
			t.Fatal(err)
		}
		of, err := w.Read()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, of...)
	}
	return out
}

// atEnd is the clock of a board over these records.
func atEnd() time.Time { return memstore.End }

func text(t *testing.T, b *board.Board) string {
	t.Helper()
	nodes, _, _ := b.Fleet(0)
	for _, n := range nodes {
		n.Revision = 0
	}
	out, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestBoardSurvivesARestart: what a board shows after batches came, one that is filled
// from the store of DuckDB shows, too.
func TestBoardSurvivesARestart(t *testing.T) {
	all := batches(t)
	store, _, err := duck.Open(t.Context(), t.TempDir(), duck.Options{MemoryBytes: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if _, err := store.Append(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	live, again := board.New(store, atEnd), board.New(store, atEnd)
	live.Take(all)
	if err := again.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a, b := text(t, live), text(t, again); a != b || len(a) < 1000 {
		t.Errorf("live:\n%s\nafter a restart:\n%s", a, b)
	}
	nodes, _, _ := again.Fleet(0)
	device := nodes[0].GPUs[0].UUID
	line, err := again.Timeline(t.Context(), device, "", memstore.Start.UnixMilli(), memstore.End.UnixMilli())
	if err != nil || line.Steps != 360 || len(line.Partitions) == 0 {
		t.Errorf("%+v, %v", line, err)
	}
	found, err := again.Findings(t.Context(), "", memstore.Start.UnixMilli(), memstore.End.UnixMilli())
	if err != nil || len(found) == 0 {
		t.Errorf("%d findings, %v", len(found), err)
	}
	sameFindings(t, store, again, all)
}

// sameFindings: the findings of the store are those of the records, also once the hours
// are sealed.
func sameFindings(t *testing.T, store *duck.Store, b *board.Board, all []usage.Batch) {
	t.Helper()
	want := scene.NewFindings()
	for i := range all {
		want.Add(&all[i], memstore.Start.UnixMilli(), memstore.End.UnixMilli())
	}
	for range 2 {
		got, err := b.Findings(t.Context(), "", memstore.Start.UnixMilli(), memstore.End.UnixMilli())
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want.List())
		if c, _ := json.Marshal(got); string(a) != string(c) {
			t.Errorf("of the records:\n%s\nof the store:\n%s", a, c)
		}
		for hour := memstore.Start; hour.Before(memstore.End); hour = hour.Add(time.Hour) {
			if err := store.Seal(t.Context(), hour); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestOrderDoesNotMatter: an older batch that comes late changes nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	all := batches(t)
	forth, back := board.New(nil, atEnd), board.New(nil, atEnd)
	for i := range all {
		forth.Take(all[i : i+1])
		back.Take(all[len(all)-1-i : len(all)-i])
	}
	if text(t, forth) != text(t, back) {
		t.Error("the board depends on the order of batches")
	}
}

// TestSince: only what changed after a revision comes.
func TestSince(t *testing.T) {
	all := batches(t)
	b := board.New(nil, atEnd)
	b.Take(all)
	_, rev, full := b.Fleet(0)
	if !full {
		t.Error("the first answer is all")
	}
	one := all[0]
	one.StartMS += 24 * 3_600_000
	b.Take([]usage.Batch{one})
	nodes, next, full := b.Fleet(rev)
	if full || len(nodes) != 1 || nodes[0].Node != one.Node || next <= rev {
		t.Errorf("%d nodes, full %v, revision %d after %d", len(nodes), full, next, rev)
	}
	if nodes, _, full := b.Fleet(next + 1000); !full || len(nodes) != 3 {
		t.Error("a revision of another process gets all")
	}
}

// TestGone: a node that is not heard of for a day leaves the board, those who ask for
// what changed are told, and it comes back when it delivers.
func TestGone(t *testing.T) {
	all := batches(t)
	now := memstore.End
	b := board.New(nil, func() time.Time { return now })
	b.Take(all)
	nodes, rev, _ := b.Fleet(0)
	if len(nodes) != 3 || len(b.Gone(0)) != 0 {
		t.Fatalf("%d nodes, gone %v", len(nodes), b.Gone(0))
	}
	stays, later := nodes[0].Node, all[0]
	for _, x := range all {
		if x.Node == stays {
			later = x
		}
	}
	now = now.Add(25 * time.Hour)
	later.StartMS += 25 * 3_600_000
	b.Take([]usage.Batch{later})
	left, next, _ := b.Fleet(rev)
	gone := b.Gone(rev)
	if len(left) != 1 || left[0].Node != stays || len(gone) != 2 || gone[0].Node == stays || gone[1].Node == stays {
		t.Errorf("%d nodes, gone %v", len(left), gone)
	}
	if again := b.Gone(next); len(again) != 0 {
		t.Errorf("told twice: %v", again)
	}
	for _, x := range all {
		if x.Node == gone[0].Node {
			x.StartMS += 25 * 3_600_000
			b.Take([]usage.Batch{x})
		}
	}
	if back, _, _ := b.Fleet(next); len(back) != 1 || back[0].Node != gone[0].Node || len(b.Gone(rev)) != 1 {
		t.Errorf("%d came back, gone %v", len(back), b.Gone(rev))
	}
}

// TestPool: what a node's labels say stands, whichever record has them.
func TestPool(t *testing.T) {
	one := batches(t)[0]
	one.Shape = &usage.NodeShape{Labels: map[string]string{"eks.amazonaws.com/nodegroup": "gpu-a100", "node.kubernetes.io/instance-type": "p4d.24xlarge"}}
	two := one
	two.Shape, two.StartMS = nil, one.StartMS+60_000
	for _, delivery := range [][]usage.Batch{{one, two}, {two, one}} {
		b := board.New(nil, atEnd)
		b.Take(delivery)
		three := two
		three.StartMS += 60_000
		b.Take([]usage.Batch{three})
		if nodes, _, _ := b.Fleet(0); nodes[0].Pool != "gpu-a100" || nodes[0].Instance != "p4d.24xlarge" {
			t.Errorf("pool %q of %q", nodes[0].Pool, nodes[0].Instance)
		}
	}
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	all := batches(t)
	b := board.New(nil, atEnd)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range all {
				b.Take(all[i : i+1])
			}
		})
		wg.Go(func() {
			for range 200 {
				nodes, _, _ := b.Fleet(0)
				_, _ = json.Marshal(nodes)
			}
		})
	}
	wg.Wait()
}

// fleet is a batch for each of many nodes of 8 GPUs.
func fleet(nodes int) (out []usage.Batch) {
	gb := uint64(1) << 30
	for n := range nodes {
		b := usage.Batch{Node: fmt.Sprintf("node-%04d", n), Cluster: "big", StartMS: 1_800_000_000_000, DurationMS: 60_000}
		for g := range 8 {
			id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", n, g)))
			capacity := 80 * gb
			b.Partitions = append(b.Partitions, usage.PartitionRecord{
				Partition: id, Span: usage.Span{StartMS: b.StartMS, DurationMS: 60_000}, Model: "NVIDIA H100 80GB HBM3", Mode: gpu.ModeExclusive, MeasuredMS: 60_000,
				CapacityBytes: &capacity, CapacityByteMS: capacity * 60_000, ReservedByteMS: gb * 60_000, FreeByteMS: 79 * gb * 60_000, Grade: gpu.Measured,
			})
		}
		out = append(out, b)
	}
	return out
}

// BenchmarkFleet is an answer about 10,000 GPUs, JSON included.
func BenchmarkFleet(b *testing.B) {
	x := board.New(nil, atEnd)
	x.Take(fleet(1250))
	var size int
	for b.Loop() {
		nodes, _, _ := x.Fleet(0)
		text, err := json.Marshal(nodes)
		if err != nil {
			b.Fatal(err)
		}
		size = len(text)
	}
	b.ReportMetric(float64(size), "bytes")
}
