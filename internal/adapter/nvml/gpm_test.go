// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"math"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

func TestGPM(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("h100", "util=90", "memutil=10")
	n.state.GPM(g, "graphics=80", "sm=37.5", "occupancy=12.5", "tensor=20", "dram=150", "fp64=1", "fp32=30", "fp16=250", "pcie_rx=1024.5", "pcie_tx=-3")
	n.open()
	first := n.one()
	equal(t, "one sample says nothing", first.Signals, sample.Signals{Busy: new(0.9), MemoryBusy: new(0.1)})
	time.Sleep(gpmInterval)
	equal(t, "what no share can be is not available", n.one().Signals, sample.Signals{
		Busy: new(0.9), MemoryBusy: new(0.1),
		EngineActive: new(0.8), SMActive: new(0.375), SMOccupancy: new(0.125), TensorActive: new(0.2),
		FP64Active: new(0.01), FP32Active: new(0.3), PCIeRxPerS: new(uint64(2049 * gib / 2048)),
	})
}

func TestGPMOfInstances(t *testing.T) {
	for _, kind := range []string{"by id", "by handle"} {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t)
			g := n.state.GPU("h100", "mig=1")
			n.state.MIG(g, "3g.40gb", 1, 0)
			gone := n.state.MIG(g, "1g.10gb", 9, 0)
			n.state.GPM(g, "gi=1", "sm=50")
			values := n.state.GPM(g, "gi=9", "sm=25")
			n.open()
			if kind == "by handle" {
				// As with a driver that lacks the call.
				n.one()
				n.src.mu.Lock()
				n.src.library.lib.symbols[symGpmMigSample] = ""
				n.src.mu.Unlock()
			}
			n.one()
			time.Sleep(gpmInterval)
			d := n.one()
			for i, want := range []float64{0.5, 0.25} {
				if got := d.Instances[i].Signals.SMActive; got == nil || *got != want {
					t.Errorf("instance %d: SM active %v, want %v", i, got, want)
				}
			}
			if d.Signals.SMActive != nil {
				t.Error("the parent has signals")
			}
			gone.Remove()
			values.Remove()
			n.rewrite()
			if d := n.one(); len(d.Instances) != 1 || d.Instances[0].ID != 1 {
				t.Errorf("instances %+v", d.Instances)
			}
		})
	}
}

func TestNoGPM(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a100-40gb")
	n.open()
	n.one()
	time.Sleep(gpmInterval)
	if s := n.one().Signals; s.SMActive != nil || s.EngineActive != nil {
		t.Errorf("signals %+v", s)
	}
}

func TestShare(t *testing.T) {
	for _, v := range []float64{-1, 101.5, 140737488355328, math.NaN(), math.Inf(1)} {
		if got := share(v); got != nil {
			t.Errorf("share(%v) = %v", v, *got)
		}
	}
	if got := share(100.5); got == nil || *got != 1 {
		t.Errorf("share(100.5) = %v", got)
	}
}
