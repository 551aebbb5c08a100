// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"slices"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// unknownBytes is NVML_VALUE_NOT_AVAILABLE as an unsigned number.
const unknownBytes = ^uint64(0)

// holding is one entry of a process list.
type holding struct {
	pid, gi, ci uint32
	kind        sample.ProcessKind
	bytes       uint64
}

// holdings is the memory of a device or GPU instance and who holds it.
type holdings struct {
	memory  *sample.Memory
	unified bool
	list    []holding // one per (GI, CI, PID), in that order
}

// holdings reads memory and processes. They are two calls, and processes come
// and go: when the processes hold more than is used, both are read again, once
// (accounting.md §2). handles are all that list processes: the compute
// instances of a GPU instance.
func (r *reading) holdings(memory binding.Device, handles []binding.Device) holdings {
	h := r.holdingsOnce(memory, handles)
	if h.overfull() && !r.failed() {
		h = r.holdingsOnce(memory, handles)
	}
	return h
}

func (r *reading) holdingsOnce(memory binding.Device, handles []binding.Device) (h holdings) {
	for _, handle := range handles {
		h.list = r.processes(handle, h.list, false)
	}
	h.list = merge(h.list)
	h.memory, h.unified = r.memoryInfo(memory, false)
	return h
}

func (h holdings) overfull() bool {
	if h.memory == nil {
		return false
	}
	var sum uint64
	for _, p := range h.list {
		if p.bytes != unknownBytes {
			sum += p.bytes
		}
	}
	return sum > h.memory.Used
}

// processes appends the three lists of a device. A list that the device does
// not have is empty; one that fails otherwise ends the reading, since bytes
// without their holder would look like nobody's, unless lenient.
func (r *reading) processes(h binding.Device, list []holding, lenient bool) []holding {
	judge := r.must
	if lenient {
		judge = r.ok
	}
	if r.begin(symMPSProcesses) {
		if infos, ret := h.GetMPSComputeRunningProcesses(); judge(ret) {
			list = appendHoldings(list, infos, sample.KindMPS)
		}
	}
	if r.begin(symComputeProcesses) {
		if infos, ret := h.GetComputeRunningProcesses(); judge(ret) {
			list = appendHoldings(list, infos, sample.KindCompute)
		}
	}
	if r.begin(symGraphicsProcesses) {
		if infos, ret := h.GetGraphicsRunningProcesses(); judge(ret) {
			list = appendHoldings(list, infos, sample.KindGraphics)
		}
	}
	return list
}

func appendHoldings(list []holding, infos []binding.ProcessInfo, kind sample.ProcessKind) []holding {
	list = slices.Grow(list, len(infos))
	for _, i := range infos {
		list = append(list, holding{
			pid: i.Pid, gi: i.GpuInstanceId, ci: i.ComputeInstanceId,
			kind: kind, bytes: i.UsedGpuMemory,
		})
	}
	return list
}

// merge keeps one entry per (GI, CI, PID): the same process appears in several
// lists, with the same memory. Its kind is the most telling of them, its size
// that list's unless only another knows it.
func merge(list []holding) []holding {
	slices.SortStableFunc(list, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.gi, b.gi), cmp.Compare(a.ci, b.ci), cmp.Compare(a.pid, b.pid), cmp.Compare(rank(a.kind), rank(b.kind)))
	})
	kept := list[:0]
	for _, p := range list {
		if n := len(kept); n > 0 && kept[n-1].sameAs(p) {
			if kept[n-1].bytes == unknownBytes {
				kept[n-1].bytes = p.bytes
			}
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func (p holding) sameAs(q holding) bool { return p.pid == q.pid && p.gi == q.gi && p.ci == q.ci }

func rank(k sample.ProcessKind) int {
	switch k {
	case sample.KindMPS:
		return 0
	case sample.KindCompute:
		return 1
	}
	return 2
}

// processes turns the list into the sample's form. The numbers behind the
// pointers lie in two arrays, one allocation each.
func (h holdings) processes() []sample.Held {
	if len(h.list) == 0 {
		return nil
	}
	out := make([]sample.Held, len(h.list))
	bytes, ids := make([]uint64, len(h.list)), make([]uint32, len(h.list))
	for i, p := range h.list {
		out[i] = sample.Held{PID: int(p.pid), Kind: p.kind}
		if p.bytes != unknownBytes {
			bytes[i] = p.bytes
			out[i].Bytes = &bytes[i]
		}
		if p.ci != gpu.WholeDevice {
			ids[i] = p.ci
			out[i].Compute = &ids[i]
		}
	}
	return out
}
