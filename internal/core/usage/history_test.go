// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// draw picks a number in [0, n): a seeded generator, or rapid.
type draw func(n int) int

func seeded(seed uint64) draw { return rand.New(rand.NewPCG(seed, 7)).IntN }

func (d draw) one(in int) bool { return d(in) == 0 }

// bytes picks a size below n, n up to 2^62.
func (d draw) bytes(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	return (uint64(d(1<<31))<<31 | uint64(d(1<<31))) % n
}

func ptr[T any](v T) *T { return &v }

const start = int64(1_790_000_012_345) // some wall clock, not on a minute

// history invents the samples of one node.
type history struct {
	d      draw
	mono   int64
	offset int64 // wall − mono
	parts  map[gpu.PartitionID]attribution.Partition
	energy map[gpu.PartitionID]uint64
	pods   map[int]attribution.PodResult
	// suspends: now and then the node sleeps for days.
	suspends bool
}

func newHistory(d draw) *history {
	return &history{
		d: d, mono: int64(d(100000)), offset: start, parts: map[gpu.PartitionID]attribution.Partition{},
		energy: map[gpu.PartitionID]uint64{}, pods: map[int]attribution.PodResult{},
	}
}

func pod(i int) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("uid-%d", i), Namespace: "ns", Pod: fmt.Sprintf("p%d", i)}
}

// next is the next sample, some time after the last one.
func (h *history) next() attribution.Result {
	h.tick()
	for range h.d(3) {
		h.change()
	}
	for id, p := range h.ordered() {
		if !h.d.one(3) {
			h.fill(&p)
		}
		p.Accounted = nil
		if h.d.one(40) {
			p.Accounted = []sample.Accounted{{PID: 9, MaxMemory: h.d.bytes(1 << 40), RunMS: uint64(h.d(9000))}}
		}
		h.parts[id] = p
	}
	return h.result()
}

func (h *history) tick() {
	interval := int64(4000 + h.d(2000))
	switch h.d(60) {
	case 0:
		interval = int64(h.d(400_000))
	case 1:
		interval = 0
	case 2:
		interval = 15000 + int64(h.d(2))
	case 3:
		interval = 60000 - (h.mono+h.offset)%60000 // exactly on a boundary
	}
	if h.suspends && h.d.one(30) {
		interval += 86_400_000 * int64(1+h.d(3))
	}
	h.mono += interval
	switch h.d(80) {
	case 0:
		h.offset += 3_600_000
	case 1:
		h.offset -= 3_600_000
	case 2:
		h.offset += int64(h.d(4000)) - 2000
	}
}

func (h *history) ordered() map[gpu.PartitionID]attribution.Partition {
	out := make(map[gpu.PartitionID]attribution.Partition, len(h.parts))
	for k, v := range h.parts {
		out[k] = v
	}
	return out
}

func (h *history) id(n int) gpu.PartitionID {
	id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%d", n/3)))
	if n%3 > 0 {
		id.Instance, id.SinceMS = uint32(n), int64(n)
	}
	return id
}

func (h *history) change() {
	id := h.id(h.d(12))
	p, have := h.parts[id]
	switch {
	case !have:
		p = attribution.Partition{ID: id, State: gpu.StateOK, Mode: gpu.ModeTimeSlicing, GrantsKnown: true, Model: "H100"}
		h.fill(&p)
	case h.d.one(6):
		delete(h.parts, id)
		return
	}
	switch h.d(6) {
	case 0:
		p.State = []gpu.State{gpu.StateOK, gpu.StateHung, gpu.StateLost, gpu.StateUnreadable, gpu.StateNotSupported}[h.d(5)]
		p.Reason = []string{"", "why"}[h.d(2)]
	case 1:
		p.Grants = h.grants()
	case 2:
		p.GrantsKnown = h.d.one(2)
	case 3:
		p.Mode = []gpu.Mode{gpu.ModeExclusive, gpu.ModeMPS, gpu.ModeTimeSlicing}[h.d(3)]
		p.Placement.Start = uint32(h.d(2))
	}
	h.parts[id] = p
}

func (h *history) grants() []attribution.Grant {
	var gs []attribution.Grant
	for i := range h.d(4) {
		gs = append(gs, attribution.Grant{
			Holder: pod(i), Source: "kubelet", Mode: gpu.ModeTimeSlicing, Replicas: int64(1 + h.d(2)),
			Containers: []string{"a", "b"}, DeviceIDs: []string{"x", "y"}, Reserved: gpu.Ratio{Num: uint64(h.d(2)), Den: 4},
		})
	}
	return gs
}

// fill gives a partition new figures that balance, up to near 2^48 bytes.
func (h *history) fill(p *attribution.Partition) {
	p.Capacity, p.Reserved, p.Used, p.Unattributed, p.Free, p.Holdings = nil, nil, nil, nil, nil, nil
	p.Signals, p.ReserveUnknown = sample.Signals{}, false
	if h.d.one(2) {
		p.Signals.Busy = ptr(float64(h.d(101)) / 100)
	}
	h.energy[p.ID] += uint64(h.d(5_000_000))
	if h.d.one(50) {
		h.energy[p.ID] = uint64(h.d(1000)) // the driver was reloaded
	}
	p.Power.EnergyMJ = ptr(h.energy[p.ID])
	if h.d.one(10) {
		p.Power.EnergyMJ = nil
	}
	capacity := uint64(1)<<48 + uint64(h.d(3))
	p.Grade = []gpu.Grade{gpu.Measured, gpu.Skewed}[h.d(2)]
	left := capacity
	take := func() *uint64 { v := h.d.bytes(left + 1); left -= v; return &v }
	reserved := take()
	for i := range h.d(6) {
		g := attribution.Holding{Holder: pod(i), Leak: h.d.one(3), Grade: []gpu.Grade{gpu.Measured, gpu.Estimated, gpu.Derived}[h.d(3)]}
		if !h.d.one(5) {
			g.Bytes = take()
		}
		if h.d.one(2) {
			g.SM = ptr(float64(h.d(1000)) / 999)
		}
		p.Holdings = append(p.Holdings, g)
	}
	if h.d.one(12) {
		return // unified memory: no capacity
	}
	p.Capacity, p.Reserved, p.Unattributed = &capacity, reserved, take()
	p.Free = ptr(left)
	if *p.Reserved%7 == 0 { // an old driver
		p.ReserveUnknown = true
		*p.Unattributed, *p.Reserved = *p.Unattributed+*p.Reserved, 0
	}
	p.Used = ptr(capacity - *p.Reserved - left)
}

func (h *history) result() attribution.Result {
	r := attribution.Result{Node: "n", MonoMS: h.mono, At: time.UnixMilli(h.mono + h.offset).UTC(), Events: map[gpu.UUID][]sample.Event{}}
	for _, p := range h.parts {
		p.Holdings, p.Grants, p.Accounted = slices.Clone(p.Holdings), slices.Clone(p.Grants), slices.Clone(p.Accounted)
		r.Partitions = append(r.Partitions, p)
	}
	slices.SortFunc(r.Partitions, func(a, b attribution.Partition) int { return a.ID.Compare(b.ID) })
	if len(r.Partitions) > 0 && h.d.one(30) {
		d := r.Partitions[0].ID.Device
		r.Events[d] = []sample.Event{{Kind: "xid", XID: 13}, {Kind: "xid", XID: 79}, {Kind: "driver_reload"}}
	}
	for i := range h.d(4) {
		r.Findings = append(r.Findings, attribution.Finding{
			Kind: attribution.Exposure, Holder: pod(i), Bytes: ptr(uint64(h.d(9))), Victims: []string{"v", "w"}, Detail: "d",
		})
	}
	h.podResults(&r)
	return r
}

func (h *history) podResults(r *attribution.Result) {
	for i := range 6 {
		p, have := h.pods[i]
		switch {
		case !have && h.d.one(10):
			p = attribution.PodResult{Holder: pod(i), CPUMilli: int64(h.d(4000)), MemoryReq: int64(h.d(1 << 30))}
		case !have:
			continue
		case h.d.one(40):
			delete(h.pods, i)
			continue
		}
		if p.CPUNanos == nil {
			p.CPUNanos = ptr(uint64(0))
		}
		p.CPUNanos = ptr(*p.CPUNanos + uint64(h.d(1_000_000_000)))
		p.MemoryBytes = ptr(h.d.bytes(1 << 40))
		h.pods[i] = p
		if h.d.one(8) {
			p.CPUNanos, p.MemoryBytes = nil, nil // its cgroup could not be read
		}
		r.Pods = append(r.Pods, p)
	}
}

func someHistory(d draw, n int) []attribution.Result {
	h := newHistory(d)
	rs := make([]attribution.Result, n)
	for i := range rs {
		rs[i] = h.next()
	}
	return rs
}

var testConfig = usage.Config{Cluster: "c", Node: "n", Agent: "a", Boot: "b"}

// replay integrates a history and closes at its last sample.
func replay(rs []attribution.Result) []usage.Batch {
	in := usage.New(testConfig)
	var out []usage.Batch
	for _, r := range rs {
		out = append(out, in.Add(r)...)
	}
	last := rs[len(rs)-1]
	return append(out, in.Close(last.MonoMS, last.At)...)
}

func asJSON(t testing.TB, bs []usage.Batch) string {
	t.Helper()
	out, err := json.Marshal(bs)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
