// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// told is one machine as the tables have it.
type told struct {
	Node, ProviderID      string
	First, Last, Interval int64
	Shapes                []string
}

// machinesIn reads the tables of machines, with the shapes by time, each once
// while it does not change.
func machinesIn(t interface{ Fatal(...any) }, s *Store, cluster string) (out []told) {
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.db.Query(`SELECT node, provider_id, first_ms, last_ms, interval_ms FROM usage_machine WHERE cluster = ? ORDER BY ALL`, cluster)
	must(err)
	defer rows.Close()
	for rows.Next() {
		var m told
		must(rows.Scan(&m.Node, &m.ProviderID, &m.First, &m.Last, &m.Interval))
		out = append(out, m)
	}
	must(rows.Err())
	for i := range out {
		m := &out[i]
		rows, err := s.db.Query(`SELECT from_ms, shape_json FROM usage_shape JOIN usage_shape_text ON id = shape
			WHERE cluster = ? AND node = ? AND provider_id = ? ORDER BY from_ms, shape_json`, cluster, m.Node, m.ProviderID)
		must(err)
		defer rows.Close()
		last := ""
		for rows.Next() {
			var from int64
			var text string
			must(rows.Scan(&from, &text))
			if text != last {
				m.Shapes = append(m.Shapes, fmt.Sprint(from, " ", text))
			}
			last = text
		}
		must(rows.Err())
	}
	return out
}

func shaped(agent string, seq uint64, provider string, cpus int64) usage.Batch {
	b := storetest.Minute(agent, "b", seq, 1, 1)
	b.ProviderID, b.Shape = provider, &usage.NodeShape{CPUMilli: cpus * 1000}
	return b
}

// TestMachines: from when to when a machine was there, and what it was.
func TestMachines(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	gap := usage.Batch{Version: 1, Node: "node-a", Cluster: "test", ProviderID: "m2", Agent: "a", Boot: "b", Seq: 9, IntervalMS: 1000,
		StartMS: storetest.Start + 7*60_000, Gap: &usage.Gap{Reason: "agent_down", Span: usage.Span{StartMS: storetest.Start + 7*60_000, DurationMS: 90_000}}}
	batches := []usage.Batch{shaped("a", 1, "m1", 8), shaped("a", 2, "m1", 8), shaped("a", 3, "m1", 16), shaped("a", 4, "m1", 8), shaped("a", 6, "m2", 8), gap}
	if _, err := s.Append(context.Background(), batches); err != nil {
		t.Fatal(err)
	}
	at := func(minute int64) int64 { return storetest.Start + minute*60_000 }
	want := []told{
		{"node-a", "m1", at(0), at(4), 5000, []string{
			fmt.Sprint(at(0), ` {"cpu_milli":8000}`), fmt.Sprint(at(2), ` {"cpu_milli":16000}`), fmt.Sprint(at(3), ` {"cpu_milli":8000}`)}},
		{"node-a", "m2", at(5), at(8) + 30_000, 1000, []string{fmt.Sprint(at(5), ` {"cpu_milli":8000}`)}},
	}
	if diff := cmp.Diff(want, machinesIn(t, s, "test")); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
}

// TestMachinesInAnyOrder: what is known of machines does not depend on the order
// or grouping in which batches came, nor on the hours before being dropped.
func TestMachinesInAnyOrder(t *testing.T) {
	ctx := context.Background()
	s, _ := opened(t, t.TempDir())
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		batches := make([]usage.Batch, rapid.IntRange(1, 12).Draw(t, "batches"))
		for i := range batches {
			batches[i] = shaped("a", uint64(i+1), rapid.SampledFrom([]string{"", "m"}).Draw(t, "provider"), rapid.Int64Range(1, 2).Draw(t, "cpus"))
			batches[i].StartMS = storetest.Start + int64(i)*hourMS/2
			batches[i].IntervalMS = rapid.Int64Range(1, 3).Draw(t, "interval")
		}
		var got [2][]told
		for i := range got {
			run++
			cluster := fmt.Sprint("run-", run)
			for group := range slices.Chunk(batches, 3+9*i) {
				for j := range group {
					group[j].Cluster, group[j].Boot = cluster, cluster
				}
				if _, err := s.Append(ctx, group); err != nil {
					t.Fatal(err)
				}
			}
			got[i] = machinesIn(t, s, cluster)
			if _, _, err := s.dropHours(ctx, hourOf(storetest.Start)+rapid.Int32Range(0, 6).Draw(t, "drop")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got[i], machinesIn(t, s, cluster)); diff != "" {
				t.Fatalf("after dropping (-before +after):\n%s", diff)
			}
			batches = rapid.Permutation(batches).Draw(t, "order")
		}
		if diff := cmp.Diff(got[0], got[1]); diff != "" {
			t.Fatalf("in another order (-one +other):\n%s", diff)
		}
	})
	var rows int
	if err := s.db.QueryRow(`SELECT count(*) FROM usage_shape_text`).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d texts of two shapes, %v", rows, err)
	}
}
