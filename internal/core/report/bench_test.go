// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"iter"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

// fleet yields a million lines: 500 hours of 50 nodes with 8 cards, on each of
// which two pods of 400 and idle have a line, and 16 lines for CPU and memory.
func fleet(b *testing.B) (iter.Seq2[*ledger.Line, error], int) {
	const hours, nodes, cards, pods, each = 500, 50, 8, 400, 40
	names := make([]workload.Holder, pods)
	for i := range names {
		names[i] = workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("6a1c9c1e-%04d", i), Namespace: fmt.Sprint("team-", i%20), Pod: fmt.Sprint("train-", i)}
	}
	var nodeNames, devices []string
	for i := range nodes {
		nodeNames = append(nodeNames, fmt.Sprint("node-", i))
	}
	for i := range nodes * cards {
		devices = append(devices, fmt.Sprintf("GPU-8d3f21ba-%06d", i))
	}
	return func(yield func(*ledger.Line, error) bool) {
		var l ledger.Line
		start := month("2026-11").StartMS()
		for i := range hours * nodes * each {
			node, hour, k := i/each%nodes, i/each/nodes, i%each
			l.NodeHour = ledger.NodeHour{Cluster: "prod", Node: nodeNames[node], HourMS: start + int64(hour)*hourMS}
			l.StartMS, l.DurationMS, l.Resource, l.Slot = l.HourMS, hourMS, allocation.ResourceGPU, ""
			l.Kind, l.Step, l.EntryKind, l.Holder = ledger.Charge, ledger.Booked, allocation.Direct, names[(i*7+hour)%pods]
			l.Currency, l.Price, l.Account = "USD", pricing.Listed, l.Holder.Pod
			l.Amount, l.ShareMS, l.UsedMS = new(money.Nano(int64(i)*7919)), hourMS/3, hourMS/4
			l.Partition = gpu.Whole(gpu.UUID(devices[node*cards+k%cards]))
			l.Grades = append(l.Grades[:0], ledger.GradePart{Grade: gpu.Measured, ShareMS: l.ShareMS, Amount: *l.Amount})
			switch {
			case k >= 24:
				l.Resource = allocation.ResourceCPU
			case k >= 16:
				l.EntryKind, l.Account, l.Holder = allocation.Platform, allocation.Idle, workload.Holder{}
			}
			if !yield(&l, nil) {
				return
			}
		}
	}, hours * nodes * each
}

// BenchmarkRun: a million lines. The aim is under a second.
func BenchmarkRun(b *testing.B) {
	lines, n := fleet(b)
	owners := map[string]*PodDimensions{}
	for i := range 400 {
		owners[fmt.Sprintf("6a1c9c1e-%04d", i)] = &PodDimensions{Labels: map[string]string{"team": fmt.Sprint("t", i%9)}}
	}
	lookup := func(uid string, _ int64) (*PodDimensions, bool) { d, ok := owners[uid]; return d, ok }
	none := func(func(*pricing.NodeCost, error) bool) {}
	for name, s := range map[string]struct {
		Spec
		costs iter.Seq2[*pricing.NodeCost, error]
	}{
		"read only":             {by(Spec{Month: month("2025-01")}), nil},
		"namespace":             {by(nov, Namespace), nil},
		"namespace and balance": {by(nov, Namespace), none},
		"team, day":             {by(nov, Label("team"), Day), nil},
		"pod, gpu, top 10":      {Spec{Month: month("2026-11"), By: []Dimension{Pod, GPU}, Top: 10}, nil},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(s.Spec, Input{Lines: lines, Costs: s.costs, Pods: lookup}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}
