// SPDX-License-Identifier: Apache-2.0

package sample

import "github.com/gputally/gputally/internal/core/gpu"

// Device is what NVML said of one physical GPU. All sizes are bytes. A nil
// pointer is "not available", which is never 0.
type Device struct {
	UUID   gpu.UUID  `json:"uuid"`
	Index  int       `json:"index"`
	Minor  int       `json:"minor"`
	State  gpu.State `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Name   string    `json:"name,omitempty"`
	// PCIBusID is domain:bus:device.function with a 4-digit domain, lower case.
	PCIBusID       string `json:"pci_bus_id,omitempty"`
	Serial         string `json:"serial,omitempty"`
	Architecture   string `json:"architecture,omitempty"`
	Virtualization string `json:"virtualization,omitempty"`
	ComputeMode    string `json:"compute_mode,omitempty"`
	// Memory is nil where the device does not report it (unified memory).
	Memory *Memory `json:"memory,omitempty"`
	// UnifiedMemory: the GPU has no memory of its own; HostMemory then is the
	// host's total and stands in as an estimated capacity.
	UnifiedMemory bool    `json:"unified_memory,omitempty"`
	HostMemory    *uint64 `json:"host_memory,omitempty"`
	// MIG is true when MIG mode is on, with or without instances.
	MIG bool `json:"mig,omitempty"`
	// MemorySlices is how many memory slices the device has: 8 or 4.
	MemorySlices uint32                  `json:"memory_slices,omitempty"`
	Instances    []Instance              `json:"instances,omitempty"`
	Placements   []gpu.ProfilePlacements `json:"placements,omitempty"`
	Processes    []Held                  `json:"processes,omitempty"`
	Signals      Signals                 `json:"signals,omitzero"`
	Power        Power                   `json:"power,omitzero"`
	Events       []Event                 `json:"events,omitempty"`
	// Accounted are processes that NVML's accounting mode says ended since
	// the last sample.
	Accounted []Accounted `json:"accounted,omitempty"`
}

// Memory is NVML's memory info v2, where Used excludes Reserved.
type Memory struct {
	Total    uint64 `json:"total"`
	Reserved uint64 `json:"reserved"`
	Used     uint64 `json:"used"`
	// ReserveUnknown: an old driver (memory info v1) did not tell the reserve,
	// and Used includes it.
	ReserveUnknown bool `json:"reserve_unknown,omitempty"`
	// Reported free, as NVML printed it. Never used in a balance: free is
	// what is left of Total by subtraction.
	Free uint64 `json:"free,omitempty"`
}

// Instance is one MIG GPU instance.
type Instance struct {
	ID uint32 `json:"gi"`
	// SinceMS is when the agent first saw this instance, Unix milliseconds.
	SinceMS       int64         `json:"since_ms,omitempty"`
	ProfileID     uint32        `json:"profile_id,omitempty"`
	Profile       string        `json:"profile,omitempty"`
	Placement     gpu.Placement `json:"placement"`
	ComputeSlices uint32        `json:"compute_slices,omitempty"`
	Memory        *Memory       `json:"memory,omitempty"`
	// Compute are the compute instances; their MIG UUIDs name the instance.
	Compute   []ComputeInstance `json:"compute,omitempty"`
	Processes []Held            `json:"processes,omitempty"`
	Signals   Signals           `json:"signals,omitzero"`
}

// ComputeInstance is one MIG device: a compute instance of a GPU instance.
type ComputeInstance struct {
	ID     uint32   `json:"ci"`
	UUID   gpu.UUID `json:"uuid"`
	Slices uint32   `json:"slices,omitempty"`
}

// ProcessKind is which of NVML's lists named a process.
type ProcessKind string

// The lists. A process in several is kept once, as the most telling one: mps
// before compute before graphics.
const (
	KindCompute  ProcessKind = "compute"
	KindGraphics ProcessKind = "graphics"
	KindMPS      ProcessKind = "mps"
)

// Held is the memory that one process holds on a device or instance.
type Held struct {
	PID  int         `json:"pid"`
	Kind ProcessKind `json:"kind,omitempty"`
	// Bytes is nil when NVML says "not available".
	Bytes *uint64 `json:"bytes"`
	// Compute is the compute instance id inside a MIG instance.
	Compute *uint32 `json:"ci,omitempty"`
	// SM is the share of time kernels of this process ran, 0..1, averaged
	// over NVML's samples since the last reading; nil when not sampled.
	SM *float64 `json:"sm,omitempty"`
}

// Signals are device-level measures of work, nil if not available. Each is a
// share of time or cycles, 0..1, but for the traffic.
type Signals struct {
	Busy         *float64 `json:"busy,omitempty"`
	MemoryBusy   *float64 `json:"memory_busy,omitempty"`
	EngineActive *float64 `json:"engine_active,omitempty"`
	SMActive     *float64 `json:"sm_active,omitempty"`
	SMOccupancy  *float64 `json:"sm_occupancy,omitempty"`
	TensorActive *float64 `json:"tensor_active,omitempty"`
	DRAMActive   *float64 `json:"dram_active,omitempty"`
	// The pipes for floating point, without the tensor cores.
	FP64Active *float64 `json:"fp64_active,omitempty"`
	FP32Active *float64 `json:"fp32_active,omitempty"`
	FP16Active *float64 `json:"fp16_active,omitempty"`
	// Traffic over PCIe to the device (rx) and from it (tx), bytes per second.
	PCIeRxPerS *uint64 `json:"pcie_rx_bytes_per_s,omitempty"`
	PCIeTxPerS *uint64 `json:"pcie_tx_bytes_per_s,omitempty"`
}

// Power is energy and clocks. EnergyMJ counts since the driver was loaded.
type Power struct {
	PowerMW        *uint64 `json:"power_mw,omitempty"`
	LimitMW        *uint64 `json:"limit_mw,omitempty"`
	EnergyMJ       *uint64 `json:"energy_mj,omitempty"`
	TemperatureC   *uint64 `json:"temperature_c,omitempty"`
	SMClockMHz     *uint64 `json:"sm_clock_mhz,omitempty"`
	ClocksEventSet *uint64 `json:"clocks_event_reasons,omitempty"`
}

// Event is something that happened to a device.
type Event struct {
	// Kind is xid, gpu_unavailable, recovery_action, driver_reload, mig_layout.
	Kind string `json:"kind"`
	XID  uint64 `json:"xid,omitempty"`
	// Instance is the GPU instance concerned, nil for the whole device.
	Instance *uint32 `json:"gi,omitempty"`
	Detail   string  `json:"detail,omitempty"`
}

// Accounted is a process that ended between two samples, by accounting mode.
type Accounted struct {
	PID       int    `json:"pid"`
	MaxMemory uint64 `json:"max_memory"`
	// StartUS is Unix microseconds; RunMS is how long it lived.
	StartUS uint64 `json:"start_us"`
	RunMS   uint64 `json:"run_ms"`
}
