// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// BenchmarkFrame draws a node of 16 GPUs with 512 holders each, 200 of which
// have a finding.
func BenchmarkFrame(b *testing.B) {
	r := attribution.Result{Node: "node-a", NVML: okLibrary}
	for i := range 16 {
		var holdings []attribution.Holding
		for j := range 512 {
			holdings = append(holdings, attribution.Holding{Holder: pod(fmt.Sprint("p", i, "-", j)), Bytes: bytes(uint64(j) * gpu.MiB), Grade: gpu.Measured})
		}
		p := partition(200_000*gpu.MiB, holdings, nil)
		p.ID, p.Index = gpu.Whole(gpu.UUID(fmt.Sprint("GPU-", i))), i
		r.Partitions = append(r.Partitions, p)
		for j := range 13 {
			r.Findings = append(r.Findings, attribution.Finding{
				Kind: attribution.OverLimit, Severity: attribution.Warning, Holder: holdings[j].Holder,
				Partition: p.ID.String(), Device: p.ID.Device,
			})
		}
	}
	v := &View{Glyphs: Unicode}
	for b.Loop() {
		v.Show([]Reading{{Result: &r}})
		v.Frame(120, 50)
	}
}
