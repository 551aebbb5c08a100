// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// podRecord is a pod through one window, with thousandths of a CPU and bytes.
func podRecord(b *usage.Batch, name string, cpuRequest, cpuUsed int64, request, used uint64) usage.PodRecord {
	ms := b.DurationMS
	return usage.PodRecord{
		Span: usage.Span{StartMS: b.StartMS, DurationMS: ms}, Holder: pod(name), PresentMS: ms,
		CPUNanos: uint64(cpuUsed * ms * nanosPerMilliMS), MemoryByteMS: used * uint64(ms),
		CPURequestMilliMS: cpuRequest * ms, MemoryRequestByteMS: request * uint64(ms),
	}
}

// hostCost is a node of 4 CPUs and 1000 bytes: 1.00 for the CPUs, 2.00 for the
// memory.
func hostCost() []pricing.NodeCost {
	c := costOf(0, 0)
	c.CPU, c.Memory, c.Total = money.Unit, 2*money.Unit, 3*money.Unit
	c.CPUMilli, c.MemoryBytes = 4000, 1000
	return []pricing.NodeCost{c}
}

func hostCharges(t *testing.T, h Hour) (cpu, memory bill) {
	t.Helper()
	res, err := Allocate(h, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	cpu, memory = bill{}, bill{}
	for _, e := range res.Entries {
		to := cpu
		if e.Resource == ResourceMemory {
			to = memory
		}
		if *e.Amount != 0 {
			to[e.Account] = e.Amount.String()
		}
	}
	return cpu, memory
}

// TestHost: CPU and memory go to pods by the greater of request and use in each
// window, with their own idle.
func TestHost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		pods        func(n int, b *usage.Batch) []usage.PodRecord
		cpu, memory bill
	}{
		{"requests and use", func(_ int, b *usage.Batch) []usage.PodRecord {
			return []usage.PodRecord{podRecord(b, "a", 1000, 500, 100, 300), podRecord(b, "b", 0, 400, 200, 0)}
		}, bill{"t/a": "0.25", "t/b": "0.10", "idle": "0.65"}, bill{"t/a": "0.60", "t/b": "0.40", "idle": "1.00"}},
		{"by window, not by hour", func(n int, b *usage.Batch) []usage.PodRecord {
			used := int64(0)
			if n < 30 {
				used = 4000
			}
			return []usage.PodRecord{podRecord(b, "a", 1000, used, 0, 0)}
		}, bill{"t/a": "0.625", "idle": "0.375"}, bill{"idle": "2.00"}},
		{"more than there is: in proportion", func(_ int, b *usage.Batch) []usage.PodRecord {
			return []usage.PodRecord{podRecord(b, "b", 2000, 0, 500, 0), podRecord(b, "a", 4000, 0, 1500, 0)}
		}, bill{"t/a": "0.666666667", "t/b": "0.333333333"}, bill{"t/a": "1.50", "t/b": "0.50"}},
		{"time in which nobody looked", func(n int, b *usage.Batch) []usage.PodRecord {
			p := podRecord(b, "a", 1000, 0, 100, 0)
			if n >= 45 {
				p.PresentMS, p.UnmeasuredMS = 0, b.DurationMS
			}
			return []usage.PodRecord{p}
		}, bill{"t/a": "0.25", "idle": "0.5625", "unmeasured": "0.1875"}, bill{"t/a": "0.20", "idle": "1.35", "unmeasured": "0.45"}},
		{"a pod that could not be read: its request is its, what it used beside is unknown", func(_ int, b *usage.Batch) []usage.PodRecord {
			unread := podRecord(b, "a", 1000, 0, 100, 0)
			unread.PresentMS, unread.UnmeasuredMS = 0, b.DurationMS
			return []usage.PodRecord{unread, podRecord(b, "b", 0, 2000, 0, 500)}
		}, bill{"t/a": "0.25", "t/b": "0.50", "unmeasured": "0.25"}, bill{"t/a": "0.20", "t/b": "1.00", "unmeasured": "0.80"}},
		{"no pod at all: they could not be read", func(n int, b *usage.Batch) []usage.PodRecord {
			if n < 30 {
				return nil
			}
			return []usage.PodRecord{podRecord(b, "a", 0, 0, 0, 0)}
		}, bill{"idle": "0.50", "unmeasured": "0.50"}, bill{"idle": "1.00", "unmeasured": "1.00"}},
	} {
		h := Hour{Costs: hostCost(), Batches: wholeHour()}
		for n := range h.Batches {
			h.Batches[n].Pods = tc.pods(n, &h.Batches[n])
		}
		cpu, memory := hostCharges(t, h)
		if diff := cmp.Diff(tc.cpu, cpu); diff != "" {
			t.Errorf("%s, CPU (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(tc.memory, memory); diff != "" {
			t.Errorf("%s, memory (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestPodsAreKnownByUID: a name that comes late, or to another pod, is a label.
func TestPodsAreKnownByUID(t *testing.T) {
	t.Parallel()
	h := Hour{Costs: hostCost(), Batches: wholeHour()}
	for n := range h.Batches {
		b := &h.Batches[n]
		p, q := podRecord(b, "a", 1000, 0, 0, 0), podRecord(b, "a", 1000, 0, 0, 0)
		q.Holder.PodUID = "another"
		if n < 5 || n > 50 {
			p.Holder.Namespace, p.Holder.Pod = "", ""
		}
		b.Pods = append(b.Pods, p, q)
	}
	res, err := Allocate(h, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range res.Entries {
		if e.Kind == Direct && e.Resource == ResourceCPU {
			got = append(got, e.Account+" "+e.Holder.PodUID+" "+e.Amount.String())
		}
	}
	if diff := cmp.Diff([]string{"t/a another 0.25", "t/a uid-a 0.25"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheHostIncludedCostsNothingApart: where the GPUs have the whole price,
// CPU and memory have no entries.
func TestTheHostIncludedCostsNothingApart(t *testing.T) {
	t.Parallel()
	h := oneCard()
	h.Costs[0].CPUMilli, h.Costs[0].MemoryBytes = 4000, 1000
	for n := range h.Batches {
		h.Batches[n].Pods = []usage.PodRecord{podRecord(&h.Batches[n], "a", 1000, 0, 100, 0)}
	}
	if cpu, memory := hostCharges(t, h); len(memory) > 0 || len(cpu) != 1 {
		t.Errorf("CPU %v, memory %v", cpu, memory)
	}
}
