// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

func (o out) result(s State) {
	r := s.Result
	if r.NVML.OK {
		cuda := ""
		if v := r.NVML.CUDAVersion; v > 0 {
			cuda = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
		}
		o.put(nvmlInfo, 1, r.NVML.DriverVersion, r.NVML.NVMLVersion, cuda)
	}
	for i := range r.Partitions {
		o.partition(&r.Partitions[i])
	}
	for _, t := range s.Totals {
		o.put(memoryByteSeconds, t.ByteMS.ByteSeconds(), holderLabels(t.Partition, t.Holder)...)
	}
	o.findings(r)
	o.engines(r.Engines)
	for _, p := range r.Pods {
		h := p.Holder
		known(o, podCPU, p.CPUNanos, 1e-9, h.Namespace, h.Pod, h.PodUID)
		known(o, podMemory, p.MemoryBytes, 1, h.Namespace, h.Pod, h.PodUID)
	}
}

// partitionLabels are gpu_uuid and partition: "whole", or "gi7@ms" for a GPU
// instance and when it was first seen, since ids are reused.
func partitionLabels(id gpu.PartitionID) []string {
	if !id.IsInstance() {
		return []string{string(id.Device), "whole"}
	}
	return []string{string(id.Device), fmt.Sprintf("gi%d@%d", id.Instance, id.SinceMS)}
}

func holderLabels(id gpu.PartitionID, h workload.Holder) []string {
	return append(partitionLabels(id), string(h.Kind), h.Namespace, h.Pod, h.Container, h.PodUID, h.Unit)
}

func (o out) partition(p *attribution.Partition) {
	at := partitionLabels(p.ID)
	names := ""
	if p.ID.IsInstance() {
		names = joinUUIDs(p.Names)
	}
	o.put(partitionInfo, 1, append(at, strconv.Itoa(p.Index), strconv.Itoa(p.Minor), p.Slot, p.Model, p.Profile, names)...)
	o.put(partitionState, 1, append(at, string(p.State))...)
	o.put(sharingMode, 1, append(at, string(p.Mode))...)
	known(o, replicas, p.Replicas, 1, at...)
	if p.GrantsKnown {
		o.put(grants, float64(len(p.Grants)), at...)
	}
	if p.MIGParent {
		o.put(stranded, float64(p.StrandedSlices), at...)
	}
	o.memory(p, at)
	o.granted(p, at)
	o.signals(p, at)
	if !p.ID.IsInstance() {
		o.power(p)
	}
}

func joinUUIDs(names []gpu.UUID) string {
	text := make([]string, len(names))
	for i, n := range names {
		text[i] = string(n)
	}
	return strings.Join(text, ",")
}

// memory writes the balance of a partition. The class used is what named
// holders have; what processes hold that nobody can be named for is
// unattributed, as accounting.md §2 has it.
func (o out) memory(p *attribution.Partition, at []string) {
	known(o, partitionCapacity, p.Capacity, 1, at...)
	class := func(name string, v *uint64) {
		known(o, partitionMemory, v, 1, append(at, name, string(p.Grade))...)
	}
	var used, unknown uint64
	for _, h := range p.Holdings {
		if h.Bytes != nil {
			if h.Holder.Kind == workload.KindUnknown {
				unknown += *h.Bytes
			} else {
				used += *h.Bytes
			}
			o.put(memoryUsed, float64(*h.Bytes), append(holderLabels(p.ID, h.Holder), string(h.Grade))...)
		}
		known(o, holderSM, h.SM, 1, append(holderLabels(p.ID, h.Holder), string(h.SMGrade))...)
	}
	if p.Capacity == nil || p.State != gpu.StateOK {
		return
	}
	if !p.ReserveUnknown {
		class("reserved", p.Reserved)
	}
	if p.Unattributed != nil {
		unknown += *p.Unattributed
		class("used", &used)
		class("unattributed", &unknown)
	}
	class("free", p.Free)
}

func (o out) granted(p *attribution.Partition, at []string) {
	seen := map[string]bool{}
	for _, g := range p.Grants {
		labels := append(append([]string(nil), at...), g.Holder.Namespace, g.Holder.Pod, g.Holder.PodUID, g.Source, g.Resource, string(g.Mode))
		key := strings.Join(labels, "\x00")
		if seen[key] {
			continue // one per pod and partition; two would break the scrape
		}
		seen[key] = true
		known(o, memoryReserved, g.ReservedBytes, 1, labels...)
		known(o, memoryLimit, g.LimitBytes, 1, labels...)
	}
}

func (o out) signals(p *attribution.Partition, at []string) {
	for _, s := range []struct {
		name  string
		value *float64
	}{
		{"busy", p.Signals.Busy}, {"memory_busy", p.Signals.MemoryBusy}, {"engine_active", p.Signals.EngineActive},
		{"sm_active", p.Signals.SMActive}, {"sm_occupancy", p.Signals.SMOccupancy},
		{"tensor_active", p.Signals.TensorActive}, {"dram_active", p.Signals.DRAMActive},
		{"fp64_active", p.Signals.FP64Active}, {"fp32_active", p.Signals.FP32Active}, {"fp16_active", p.Signals.FP16Active},
	} {
		known(o, signal, s.value, 1, append(at, s.name, string(p.SignalsGrade))...)
	}
	known(o, pcie, p.Signals.PCIeRxPerS, 1, append(at, "rx", string(p.SignalsGrade))...)
	known(o, pcie, p.Signals.PCIeTxPerS, 1, append(at, "tx", string(p.SignalsGrade))...)
}

func (o out) power(p *attribution.Partition) {
	uuid := string(p.ID.Device)
	known(o, power, p.Power.PowerMW, 1e-3, uuid)
	known(o, powerLimit, p.Power.LimitMW, 1e-3, uuid)
	known(o, energy, p.Power.EnergyMJ, 1e-3, uuid)
	known(o, temperature, p.Power.TemperatureC, 1, uuid)
	known(o, smClock, p.Power.SMClockMHz, 1e6, uuid)
	known(o, clockReasons, p.Power.ClocksEventSet, 1, uuid)
}

func (o out) findings(r *attribution.Result) {
	open := map[attribution.FindingKind]int{}
	if r.NVML.OK { // none is known to be open only where it was looked for
		for _, k := range attribution.Kinds() {
			open[k] = 0
		}
	}
	seen := map[string]bool{}
	for _, f := range r.Findings {
		open[f.Kind]++
		labels := append(findingPlace(f), string(f.Holder.Kind), f.Holder.Namespace, f.Holder.Pod, f.Holder.Container,
			f.Holder.PodUID, f.Holder.Unit, string(f.Kind), string(f.Severity), f.Resource)
		if key := strings.Join(labels, "\x00"); !seen[key] {
			seen[key] = true
			o.put(findingInfo, 1, labels...)
		}
	}
	for k, n := range open {
		o.put(findings, float64(n), string(k))
	}
}

// findingPlace is gpu_uuid and partition of a finding, from the text key of
// its partition.
func findingPlace(f attribution.Finding) []string {
	device, instance, ok := strings.Cut(f.Partition, "/")
	switch {
	case f.Partition == "":
		return []string{string(f.Device), ""}
	case ok && strings.HasPrefix(instance, "gi"):
		return []string{device, instance}
	}
	return []string{f.Partition, "whole"}
}
