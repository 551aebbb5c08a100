// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/policyfile"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
)

// TestReplayBills: what gputally replay makes of a story whose prices stand beside
// its nodes is what the story says is to be paid: the same path as a server's,
// through machines, prices and rating.
func TestReplayBills(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, file := range files {
		f := read(t, file)
		book, err := f.Book()
		if err != nil {
			t.Fatal(err)
		}
		if book == nil || f.Expect == nil || len(f.Expect.Money) == 0 {
			continue
		}
		played++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			var want moneyOf
			if err := json.Unmarshal(f.Expect.Money, &want); err != nil {
				t.Fatal(err)
			}
			var policy policyfile.File
			if f.Policy != nil {
				p, err := policyfile.ReadSection(*f.Policy, f.Name, "policy")
				if err != nil {
					t.Fatal(err)
				}
				policy = *p
			}
			split, err := policy.SplitBy(nil)
			if err != nil {
				t.Fatal(err)
			}
			prices, err := pricing.New(split, book)
			if err != nil {
				t.Fatal(err)
			}
			var reports []replay.Report
			for _, node := range f.Nodes {
				rep, err := replay.Run(f, node.Name, replay.Options{
					Policy: attribution.Policy{Daemons: attribution.DefaultDaemons()}, Interval: f.Interval, MonoMS: f.MonoMS(),
				})
				if err != nil {
					t.Fatal(err)
				}
				reports = append(reports, rep)
			}
			if err := replay.Rate(reports, prices, policy.Policy); err != nil {
				t.Fatal(err)
			}
			got := billed{names: map[gpu.PartitionID][]gpu.UUID{}}
			for _, r := range reports {
				for _, b := range r.Batches {
					for _, p := range b.Partitions {
						got.names[p.Partition] = p.Names
					}
				}
				for _, h := range r.Hours {
					conserved(t, allocation.Hour{Costs: h.Costs}, h.Entries)
					got.entries = append(got.entries, h.Entries...)
					for _, c := range h.Costs {
						for _, s := range c.Slots {
							got.cost.Add(s.Cost)
						}
					}
				}
			}
			got.check(t, want)
		})
	}
	if played < 45 {
		t.Errorf("only %d stories have prices beside their nodes; were they lost?", played)
	}
}
