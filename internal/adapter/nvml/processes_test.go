// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// A process in several lists is one process, with its memory once.
func TestProcessListsAreMerged(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("h100")
	n.state.Proc(g, 10, 6*gib, "kind=compute+mps")
	n.state.Proc(g, 11, 28*mib)
	n.state.Proc(g, 12, 1*gib, "kind=graphics")
	n.state.Proc(g, 13, 2*gib, "kind=compute+graphics")
	n.state.Proc(g, 14, 0, "kind=mps").Set("mem", "unknown")
	n.open()
	equal(t, "processes", n.one().Processes, []sample.Held{
		{PID: 10, Kind: sample.KindMPS, Bytes: new(6 * gib)},
		{PID: 11, Kind: sample.KindCompute, Bytes: new(28 * mib)},
		{PID: 12, Kind: sample.KindGraphics, Bytes: new(1 * gib)},
		{PID: 13, Kind: sample.KindCompute, Bytes: new(2 * gib)},
		{PID: 14, Kind: sample.KindMPS, Bytes: nil},
	})
}

func TestProcessListGrowsWhileRead(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("h100")
	for pid := range 40 {
		n.state.Proc(g, 100+pid, 100*mib)
	}
	n.state.Fault(g, "grow:50", "nvmlDeviceGetComputeRunningProcesses*", "times=1")
	n.open()
	if got := len(n.one().Processes); got < 40 {
		t.Errorf("%d processes, want 40 at least", got)
	}
}

// When processes hold more than is used, both are read again, once. The list of
// MPS clients fails in the first reading only: its mark shows which one stands.
func TestOverfullIsReadAgain(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("t4", "extra=0")
	n.state.Proc(g, 10, 20*gib, "kind=compute+mps") // a T4 has 15 GiB
	n.state.Fault(g, "not_supported", "nvmlDeviceGetMPSComputeRunningProcesses*", "times=1")
	n.open()
	d := n.one()
	if *d.Processes[0].Bytes <= d.Memory.Used {
		t.Fatalf("the mock shows %d of %d bytes: the test tests nothing", *d.Processes[0].Bytes, d.Memory.Used)
	}
	if d.Processes[0].Kind != sample.KindMPS {
		t.Errorf("kind %s: processes were not read again", d.Processes[0].Kind)
	}
}

func TestProcessListForbidden(t *testing.T) {
	for _, list := range []string{"Compute", "Graphics", "MPSCompute"} {
		t.Run(list, func(t *testing.T) {
			n := newNode(t)
			g := n.state.GPU("h100")
			n.state.Fault(g, "no_permission", "nvmlDeviceGet"+list+"RunningProcesses*")
			n.open()
			_, devices := n.sample()
			if d := devices[0]; d.State != gpu.StateUnreadable || d.Reason != "nvmlDeviceGet"+list+"RunningProcesses_v3: no permission" {
				t.Errorf("device is %s: %s", d.State, d.Reason)
			}
		})
	}
}

// However the lists are filled, each (GI, CI, PID) comes out once, with the
// most telling kind, and with a size if any list knew one.
func TestMergeProperty(t *testing.T) {
	kinds := []sample.ProcessKind{sample.KindMPS, sample.KindCompute, sample.KindGraphics}
	one := rapid.Custom(func(t *rapid.T) holding {
		return holding{
			pid: rapid.Uint32Range(1, 4).Draw(t, "pid"), gi: rapid.Uint32Range(0, 2).Draw(t, "gi"), ci: rapid.Uint32Range(0, 1).Draw(t, "ci"),
			kind:  rapid.SampledFrom(kinds).Draw(t, "kind"),
			bytes: rapid.SampledFrom([]uint64{0, 5, 7, unknownBytes}).Draw(t, "bytes"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(one).Draw(t, "in")
		out := merge(slices.Clone(in))
		for i, p := range out {
			if slices.ContainsFunc(out[:i], p.sameAs) {
				t.Fatalf("%+v is there twice", p)
			}
		}
		for _, p := range in {
			i := slices.IndexFunc(out, p.sameAs)
			if i < 0 || rank(out[i].kind) > rank(p.kind) || out[i].bytes == unknownBytes && p.bytes != unknownBytes {
				t.Fatalf("%+v came out as %+v", p, out)
			}
		}
	})
}
