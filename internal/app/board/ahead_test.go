// SPDX-License-Identifier: Apache-2.0

package board_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/memstore"
)

// counting counts the hours that findings are read of.
type counting struct {
	board.Journal
	hours int
}

func (c *counting) Findings(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error] {
	c.hours += int(to.Sub(from) / time.Hour)
	return c.Journal.Findings(ctx, from, to, node)
}

// TestReadAhead: what was read ahead is not read when somebody asks, until late records come;
// then their hour is read again, and no other.
func TestReadAhead(t *testing.T) {
	store, _, err := duck.Open(t.Context(), t.TempDir(), duck.Options{MemoryBytes: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var all, late []usage.Batch
	troubled(2, memstore.Start, 5*60, func(x usage.Batch) bool {
		if x.Seq == 150 && x.Node == "node-0001" {
			late = append(late, x)
		} else {
			all = append(all, x)
		}
		return true
	})
	if _, err := store.Append(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	now := memstore.Start.Add(5 * time.Hour)
	journal := &counting{Journal: store}
	b := board.New(journal, func() time.Time { return now })
	reads := func(what string, want int, do func() error) {
		t.Helper()
		journal.hours = 0
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if journal.hours != want {
			t.Errorf("%s: %d hours were read, not %d", what, journal.hours, want)
		}
	}
	ahead := func() error { return b.ReadAhead(t.Context(), 0) }
	ask := func() error {
		f, err := b.Findings(t.Context(), "", memstore.Start.UnixMilli(), now.UnixMilli())
		if err == nil && len(f) == 0 {
			t.Error("nothing is found")
		}
		return err
	}
	reads("the last 30 days ahead", 30*24, ahead)
	reads("again", 0, ahead)
	reads("when somebody asks, the hour before alone, in which windows may have begun", 1, ask)
	if _, err := store.Append(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	reads("after late records, ahead", 1, ahead)
	now = now.Add(time.Hour)
	reads("an hour later", 1, ahead)
	reads("and when somebody asks then", 1, ask)
}
