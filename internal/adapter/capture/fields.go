// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"reflect"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// device writes a GPU as the fields of a timeline entry. A field at its zero
// value is left out. Sizes that a device without a reading does not say stay as
// they were before.
func (m *marshaller) device(dev sample.Device, before map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{"index": m.json(dev.Index), "state": m.json(dev.State)}
	add := func(key string, v any) {
		if !reflect.ValueOf(v).IsZero() {
			out[key] = m.json(v)
		}
	}
	add("minor", dev.Minor)
	add("reason", dev.Reason)
	add("model", dev.Name)
	add("pci_bus_id", dev.PCIBusID)
	add("serial", dev.Serial)
	add("architecture", dev.Architecture)
	add("virtualization", dev.Virtualization)
	add("compute_mode", dev.ComputeMode)
	add("unified_memory", dev.UnifiedMemory)
	add("host_memory_bytes", dev.HostMemory)
	add("memory_slices", dev.MemorySlices)
	add("placements", dev.Placements)
	add("signals", dev.Signals)
	add("power", dev.Power)
	if dev.MIG != (len(dev.Instances) > 0) {
		out["mig_mode"] = m.json(dev.MIG)
	}
	if len(dev.Instances) > 0 {
		out["mig"] = m.instances(dev.Instances)
	}
	if len(dev.Processes) > 0 {
		out["processes"] = m.held(dev.Processes)
	}
	if dev.Memory == nil {
		out["used_bytes"] = null
		for _, key := range []string{"total_bytes", "reserved_bytes", "free_bytes"} {
			if v, ok := before[key]; ok {
				out[key] = v
			}
		}
		return out
	}
	for key, v := range m.memory(*dev.Memory) {
		out[key] = v
	}
	return out
}

func (m *marshaller) memory(v sample.Memory) map[string]json.RawMessage {
	return map[string]json.RawMessage{
		"total_bytes": m.json(v.Total), "reserved_bytes": m.json(reserveOf(v)),
		"used_bytes": m.json(v.Used), "free_bytes": m.json(v.Free),
	}
}

// reserveOf is the driver's reserve, nil where it did not tell it.
func reserveOf(v sample.Memory) *uint64 {
	if v.ReserveUnknown {
		return nil
	}
	return &v.Reserved
}

// moment adds what belongs to this sample alone.
func (m *marshaller) moment(out map[string]json.RawMessage, dev sample.Device) {
	if len(dev.Events) > 0 {
		out["events"] = m.json(dev.Events)
	}
	if len(dev.Accounted) > 0 {
		out["accounted"] = m.json(dev.Accounted)
	}
}

// writtenInstance is a GPU instance as instance reads it.
type writtenInstance struct {
	ID            uint32                   `json:"gi"`
	SinceMS       int64                    `json:"since_ms"`
	ProfileID     uint32                   `json:"profile_id,omitempty"`
	Profile       string                   `json:"profile,omitempty"`
	Placement     gpu.Placement            `json:"placement"`
	ComputeSlices uint32                   `json:"compute_slices,omitempty"`
	Total         *uint64                  `json:"total_bytes"`
	Reserved      *uint64                  `json:"reserved_bytes"`
	Used          *uint64                  `json:"used_bytes"`
	Free          *uint64                  `json:"free_bytes"`
	Compute       []sample.ComputeInstance `json:"compute"`
	Processes     json.RawMessage          `json:"processes,omitempty"`
	Signals       sample.Signals           `json:"signals,omitzero"`
}

func (m *marshaller) instances(list []sample.Instance) json.RawMessage {
	out := make([]writtenInstance, len(list))
	for i, v := range list {
		w := writtenInstance{
			ID: v.ID, SinceMS: v.SinceMS, ProfileID: v.ProfileID, Profile: v.Profile, Placement: v.Placement,
			ComputeSlices: v.ComputeSlices, Compute: append([]sample.ComputeInstance{}, v.Compute...), Signals: v.Signals,
		}
		if v.Memory != nil {
			w.Total, w.Reserved, w.Used, w.Free = &v.Memory.Total, reserveOf(*v.Memory), &v.Memory.Used, &v.Memory.Free
		}
		if len(v.Processes) > 0 {
			w.Processes = m.held(v.Processes)
		}
		out[i] = w
	}
	return m.json(out)
}

// writtenProcess is a process as processes reads it.
type writtenProcess struct {
	PID   int                `json:"pid"`
	Bytes *uint64            `json:"used_bytes"`
	Kind  sample.ProcessKind `json:"kind,omitempty"`
	CI    *uint32            `json:"ci,omitempty"`
	SM    *float64           `json:"sm,omitempty"`
}

func (m *marshaller) held(list []sample.Held) json.RawMessage {
	out := make([]writtenProcess, len(list))
	for i, h := range list {
		out[i] = writtenProcess{PID: h.PID, Bytes: h.Bytes, Kind: h.Kind, CI: h.Compute, SM: h.SM}
	}
	return m.json(out)
}
