// SPDX-License-Identifier: Apache-2.0

package board_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/board"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/memstore"
)

// TestKeptHours: findings of any time, of one node or of all, are those of the windows, asked
// once and again, and after late records.
func TestKeptHours(t *testing.T) {
	store, _, err := duck.Open(t.Context(), t.TempDir(), duck.Options{MemoryBytes: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	var all, late []usage.Batch
	troubled(3, memstore.Start.Add(-30*time.Second), 5*60, func(x usage.Batch) bool {
		switch at := x.Seq % 60; {
		case x.Node == "node-0001" && x.Seq == 150:
			late = append(late, x)
		case x.Node == "node-0002" && at > 20: // it stands and goes
		default:
			all = append(all, x)
		}
		return true
	})
	add := func(batches []usage.Batch) {
		if _, err := store.Append(t.Context(), batches); err != nil {
			t.Fatal(err)
		}
	}
	add(all)
	b := board.New(store, nil)
	same := func() {
		t.Helper()
		for _, minutes := range [][2]int{{-60, 360}, {0, 300}, {0, 60}, {13, 14}, {13, 200}, {59, 121}, {60, 119}, {-5, 5}, {60, 240}} {
			from, to := memstore.Start.Add(time.Duration(minutes[0])*time.Minute).UnixMilli(), memstore.Start.Add(time.Duration(minutes[1])*time.Minute).UnixMilli()
			for _, node := range []string{"", "node-0001", "other"} {
				want := scene.NewFindings()
				for i := range all {
					if node == "" || node == all[i].Node {
						want.Add(&all[i], from, to)
					}
				}
				got, err := b.Findings(t.Context(), node, from, to)
				if err != nil {
					t.Fatal(err)
				}
				a, _ := json.Marshal(want.List())
				if c, _ := json.Marshal(got); string(a) != string(c) {
					t.Errorf("minutes %v of %q:\n%s\nnot\n%s", minutes, node, c, a)
				}
			}
		}
	}
	same()
	same()
	add(late)
	all = append(all, late...)
	same()
}
