// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Hour is one pod on one partition within one hour of the clock.
type Hour struct {
	// Cluster and Node are those of the records.
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	HourMS  int64  `json:"hour_ms"` // the hour's beginning, Unix milliseconds
	// Holder is the pod, without a container; Owner the workload that it belongs to,
	// as it stood last in the hour.
	Holder    workload.Holder `json:"holder"`
	Owner     workload.Owner  `json:"owner,omitzero"`
	Partition gpu.PartitionID `json:"partition"`
	Model     string          `json:"model,omitempty"`
	Profile   string          `json:"profile,omitempty"`
	Mode      gpu.Mode        `json:"mode,omitempty"`
	// Slices are the partition's memory slices, DeviceSlices the card's; 0 without
	// MIG.
	Slices       uint32 `json:"slices,omitempty"`
	DeviceSlices uint32 `json:"device_slices,omitempty"`
	// Placement is where a MIG instance lies on its card.
	Placement gpu.Placement `json:"placement,omitzero"`
	// CapacityBytes is the partition's, nil where not known; ReserveBytes the mean of
	// what the driver keeps of it.
	CapacityBytes *uint64 `json:"capacity_bytes,omitempty"`
	ReserveBytes  uint64  `json:"reserve_bytes,omitempty"`
	// DurationMS is how long it had a grant or a process there. MeasuredMS of it was
	// read, SkewedMS of that with reads that disagree.
	DurationMS int64 `json:"duration_ms"`
	MeasuredMS int64 `json:"measured_ms"`
	SkewedMS   int64 `json:"skewed_ms,omitempty"`
	// GrantedMS is how long it had a grant.
	GrantedMS int64 `json:"granted_ms"`
	// Holders is the most that had the partition at one time, itself among them.
	Holders int `json:"holders"`
	// PeakBytes is the most that it held, nil where a size was not known. Several
	// containers' peaks are added, though they need not have been at one time.
	PeakBytes *uint64 `json:"peak_bytes"`
	// LeakBytes is the most that others held there without a grant.
	LeakBytes uint64 `json:"leak_bytes,omitempty"`
	// ByteMS is what its containers held, KnownMS how long what they held was known,
	// each container for itself.
	ByteMS  uint64 `json:"byte_ms"`
	KnownMS int64  `json:"known_ms"`
	// Grade is the worst of its memory figures.
	Grade   gpu.Grade      `json:"grade"`
	Verdict signal.Verdict `json:"verdict"`
	// Active is over all of its measured time; SM, DRAM and Tensor are over the
	// windows in which kernels ran. All of them only where a window speaks for it
	// (signal.Window.Speaks). They and those that follow are in hundredths.
	Active signal.Spread `json:"active,omitzero"`
	SM     signal.Spread `json:"sm,omitzero"`
	DRAM   signal.Spread `json:"dram,omitzero"`
	Tensor signal.Spread `json:"tensor,omitzero"`
	// Held is what it held as a share of the capacity.
	Held signal.Spread `json:"held,omitzero"`
	// CPU is what the pod used of CPURequestMilli, or of one CPU where it asks for
	// none.
	CPU             signal.Spread `json:"cpu,omitzero"`
	CPURequestMilli int64         `json:"cpu_request_milli,omitempty"`
	// MemoryRequestBytes is the most of the host's memory that it asked for,
	// MemoryBytes the most that it used, each as the mean of a window; nil is not read.
	MemoryRequestBytes uint64  `json:"memory_request_bytes,omitempty"`
	MemoryBytes        *uint64 `json:"memory_bytes,omitempty"`
	// About is what the pod's object said, as it stood last in the hour.
	About   attribution.PodAbout `json:"about,omitzero"`
	Minutes Minutes              `json:"minutes,omitzero"`
	// Engine is what an inference engine in the pod told of itself.
	Engine *demand.Evidence `json:"engine,omitempty"`
}

// HostBytes is what the pod needs of the host's memory: what it asks for, or uses.
func (h *Hour) HostBytes() uint64 {
	if h.MemoryBytes == nil {
		return h.MemoryRequestBytes
	}
	return max(h.MemoryRequestBytes, *h.MemoryBytes)
}

// key names an hour of a pod.
type key struct {
	pod  string
	part gpu.PartitionID
	hour int64
}

// building is an hour while records are added.
type building struct {
	Hour
	windows []signal.Window
	// latest is the beginning of the newest piece, ownerAt of the newest record of
	// the pod.
	latest, ownerAt int64
	engine          demand.Evidence
	// told is the window whose evidence was added last.
	told *podWindow
}

// OfNode makes the hours of a node's pods from its records. A piece of a window
// belongs to the hour in which it begins: it is a minute at most, but where a
// machine slept. idle is what a device draws without any process, nil where that is
// not known.
func OfNode(batches []usage.Batch, idle func(gpu.UUID) *uint64) []Hour {
	hours := map[key]*building{}
	for i := range batches {
		b := &batches[i]
		about := aboutPods(b)
		for _, p := range piecesOf(b) {
			p.add(hours, b, about)
		}
	}
	out := make([]Hour, 0, len(hours))
	for _, b := range hours {
		out = append(out, b.end(idle(b.Partition.Device)))
	}
	slices.SortFunc(out, func(a, b Hour) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), a.Partition.Compare(b.Partition), a.Holder.Compare(b.Holder))
	})
	return out
}

// piece is a partition in a piece of a window, and who was there.
type piece struct {
	part   *usage.PartitionRecord
	held   []usage.Record
	grants []usage.GrantRecord
}

// piecesOf joins the records of a batch that are of one partition and span.
func piecesOf(b *usage.Batch) []piece {
	type place struct {
		id   gpu.PartitionID
		span usage.Span
	}
	at := make(map[place]int, len(b.Partitions))
	out := make([]piece, len(b.Partitions))
	for i := range b.Partitions {
		p := &b.Partitions[i]
		at[place{p.Partition, p.Span}], out[i].part = i, p
	}
	for _, h := range b.Holders {
		if i, ok := at[place{h.Partition, h.Span}]; ok {
			out[i].held = append(out[i].held, h)
		}
	}
	for _, g := range b.Grants {
		if i, ok := at[place{g.Partition, g.Span}]; ok {
			out[i].grants = append(out[i].grants, g)
		}
	}
	return out
}

// add adds the piece to the hour of each pod that was there.
func (p *piece) add(hours map[key]*building, batch *usage.Batch, about map[string]*podWindow) {
	for pod, holder := range p.pods() {
		w, there := signal.OfPod(pod, *p.part, p.held, p.grants)
		if !there {
			continue
		}
		k := key{pod, p.part.Partition, p.part.StartMS - mod(p.part.StartMS, hourMS)}
		b := hours[k]
		if b == nil {
			b = newBuilding(k, holder, p.part, batch)
			hours[k] = b
		}
		b.add(w, p.granted(pod))
		b.place(p.part)
		b.Held.Add(shareOf(w.PeakBytes, p.part.CapacityBytes), w.MeasuredMS)
		b.LeakBytes = max(b.LeakBytes, p.leaked(pod))
		b.about(about[pod], w)
		for i := range p.held {
			if h := &p.held[i]; h.Holder.Kind == workload.KindPod && h.Holder.PodKey() == pod {
				b.ByteMS, b.KnownMS = b.ByteMS+h.ByteMS, b.KnownMS+h.KnownMS
			}
		}
	}
}

func newBuilding(k key, holder workload.Holder, part *usage.PartitionRecord, batch *usage.Batch) *building {
	return &building{latest: part.StartMS - 1, Hour: Hour{Cluster: batch.Cluster, Node: batch.Node, HourMS: k.hour, Holder: holder, Partition: part.Partition, Model: part.Model,
		Profile: part.Profile, Placement: part.Placement, Slices: part.Slices, DeviceSlices: part.DeviceSlices, PeakBytes: new(uint64)}}
}

// place keeps what the partition was last: records come in any order.
func (b *building) place(part *usage.PartitionRecord) {
	if part.StartMS <= b.latest {
		return
	}
	b.latest = part.StartMS
	b.Mode, b.CapacityBytes = part.Mode, part.CapacityBytes
	if known := part.MeasuredMS - part.ReserveUnknownMS; known > 0 {
		b.ReserveBytes = part.ReservedByteMS / uint64(known)
	}
}

// shareOf is a size as a share of the capacity, nil where one is not known.
func shareOf(bytes, capacity *uint64) *float64 {
	if bytes == nil || capacity == nil || *capacity == 0 {
		return nil
	}
	share := float64(*bytes) / float64(*capacity)
	return &share
}

// leaked is what others than the pod held without a grant.
func (p *piece) leaked(pod string) (bytes uint64) {
	for i := range p.held {
		if h := &p.held[i]; h.Leak && h.Holder.PodKey() != pod {
			bytes += h.PeakBytes
		}
	}
	return bytes
}

// pods are those that held memory or had a grant, by their keys.
func (p *piece) pods() map[string]workload.Holder {
	out := map[string]workload.Holder{}
	see := func(h workload.Holder) {
		if h.Kind == workload.KindPod {
			h.Container = ""
			out[h.PodKey()] = h
		}
	}
	for i := range p.held {
		see(p.held[i].Holder)
	}
	for i := range p.grants {
		see(p.grants[i].Grant.Holder)
	}
	return out
}

// granted is how long the pod had a grant: the longest, where it had several.
func (p *piece) granted(pod string) (ms int64) {
	for i := range p.grants {
		if g := &p.grants[i]; g.Grant.Holder.PodKey() == pod && !g.Grant.Admin {
			ms = max(ms, g.GrantedMS)
		}
	}
	return ms
}

func (b *building) add(w signal.Window, grantedMS int64) {
	b.windows = append(b.windows, w)
	b.DurationMS, b.MeasuredMS, b.GrantedMS = b.DurationMS+w.DurationMS, b.MeasuredMS+w.MeasuredMS, b.GrantedMS+grantedMS
	b.Holders = max(b.Holders, w.Holders)
	if w.Grade == gpu.Skewed {
		b.SkewedMS += w.MeasuredMS
	}
	if b.Grade == "" || w.Grade.Rank() > b.Grade.Rank() {
		b.Grade = w.Grade
	}
	switch {
	case w.PeakBytes == nil:
		b.PeakBytes = nil
	case b.PeakBytes != nil:
		*b.PeakBytes = max(*b.PeakBytes, *w.PeakBytes)
	}
	if w.Speaks() {
		b.spread(&w)
	}
}

func (b *building) spread(w *signal.Window) {
	active := w.Active()
	b.Active.Add(active, w.MeasuredMS)
	if active != nil && *active > 0 {
		b.SM.Add(w.SMActive, w.MeasuredMS)
		b.DRAM.Add(w.DRAMActive, w.MeasuredMS)
		b.Tensor.Add(w.TensorActive, w.MeasuredMS)
	}
}

func (b *building) end(idleMW *uint64) Hour {
	if b.engine != (demand.Evidence{}) {
		b.Engine = &b.engine
	}
	for _, s := range []*signal.Spread{&b.Active, &b.SM, &b.DRAM, &b.Tensor, &b.Held, &b.CPU} {
		*s = s.Coarse()
	}
	b.Verdict = signal.Classify(signal.Hour{DurationMS: b.DurationMS, Windows: b.windows, IdleMW: idleMW})
	return b.Hour
}

// hourMS is the length of an hour.
const hourMS = 3_600_000

// mod is the rest of a division, never below 0.
func mod(a, b int64) int64 { return (a%b + b) % b }

// QuietHours is what a node's devices drew while no process was on them, by the hour
// in which a window begins.
func QuietHours(batches []usage.Batch) map[int64]map[gpu.UUID]signal.IdlePower {
	out := map[int64]map[gpu.UUID]signal.IdlePower{}
	for i := range batches {
		hour := batches[i].StartMS - mod(batches[i].StartMS, hourMS)
		for device, quiet := range signal.QuietOf(&batches[i]) {
			known := out[hour][device]
			known.Learn(quiet)
			if known == (signal.IdlePower{}) {
				continue
			}
			if out[hour] == nil {
				out[hour] = map[gpu.UUID]signal.IdlePower{}
			}
			out[hour][device] = known
		}
	}
	return out
}

// SignalsOf are the windows of a batch that speak for one of some pods, by their keys.
func SignalsOf(b *usage.Batch, pods map[string]bool) (out []signal.Window) {
	for _, p := range piecesOf(b) {
		for pod := range p.pods() {
			if !pods[pod] {
				continue
			}
			if w, there := signal.OfPod(pod, *p.part, p.held, p.grants); there && w.Speaks() {
				out = append(out, w)
			}
		}
	}
	return out
}
