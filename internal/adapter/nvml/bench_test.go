// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"testing"
)

// crowd is a node with GPUs of which each has processes.
func crowd(b *testing.B, gpus, processes int, profile string, mig bool) *node {
	n := newNode(b)
	n.state.Option("sample_period_us=1")
	for i := range gpus {
		if mig {
			sliced(n, profile, processes)
			continue
		}
		g := n.state.GPU(profile)
		for p := range processes {
			n.state.Proc(g, 1000*(i+1)+p, 100*mib, "sm=1")
		}
	}
	n.open()
	n.good()
	return n
}

// sliced adds a GPU cut into seven, with processes in each instance.
func sliced(n *node, profile string, processes int) {
	g := n.state.GPU(profile, "mig=1")
	for gi := range 7 {
		m := n.state.MIG(g, "1g.10gb", 7+gi, 0, fmt.Sprintf("start=%d", gi))
		for p := range processes / 7 {
			n.state.Proc(g, 1000*(gi+1)+p, 100*mib, "gi="+m.Get("gi"), "ci=0")
		}
	}
}

func BenchmarkSample(b *testing.B) {
	for _, c := range []struct {
		gpus, processes int
		profile         string
		mig             bool
	}{
		{8, 64, "a100-80gb", false},
		{8, 64, "h100", false}, // with GPM
		{8, 64, "h100", true},
		{16, 512, "h100", false},
	} {
		name := fmt.Sprintf("%dx%d/%s", c.gpus, c.processes, c.profile)
		if c.mig {
			name += "/mig"
		}
		b.Run(name, func(b *testing.B) {
			n := crowd(b, c.gpus, c.processes, c.profile, c.mig)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := n.src.Sample(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
