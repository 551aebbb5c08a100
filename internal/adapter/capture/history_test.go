// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// genHistory draws a history of one node in which anything may come, change
// and go from one sample to the next.
func genHistory(t *rapid.T) []sample.Sample {
	mono := rapid.Int64Range(-1e6, 1e12).Draw(t, "mono")
	wall := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "wall"), rapid.Int64Range(0, 999999999).Draw(t, "nanos")).UTC()
	var out []sample.Sample
	for range rapid.IntRange(1, 5).Draw(t, "samples") {
		s := genSample(t)
		s.MonoMS, s.At = mono, wall
		out = append(out, s)
		step := rapid.Int64Range(0, 20000).Draw(t, "step")
		mono += step
		wall = wall.Add(time.Duration(step) * time.Millisecond).Add(time.Duration(rapid.SampledFrom([]int64{0, 0, 1, -1, 3.6e12, -3.6e12}).Draw(t, "skew")))
	}
	return out
}

func genSample(t *rapid.T) sample.Sample {
	s := sample.Sample{
		Node:       "node-a",
		NVML:       rapid.SampledFrom([]sample.Library{{OK: true}, {OK: true, DriverVersion: "595.1"}, {Error: "gone"}}).Draw(t, "nvml"),
		Processes:  genMap(t, "processes", rapid.IntRange(1, 4), genProcess),
		Sources:    genMap(t, "sources", rapid.SampledFrom([]string{"nvml", "kubelet"}), genStatus),
		Standalone: rapid.Bool().Draw(t, "standalone"),
		Grants:     genGrants(t),
		Objects:    genObjects(t),
	}
	for i := range 3 {
		if rapid.Bool().Draw(t, "device") {
			s.Devices = append(s.Devices, genDevice(t, i))
		}
	}
	for i := range 3 {
		if rapid.Bool().Draw(t, "usage") {
			s.Usage = append(s.Usage, sample.PodUsage{PodUID: fmt.Sprint("u", 3-i), CPUNanos: genUint(t), MemoryBytes: genUint(t)})
		}
	}
	if rapid.Bool().Draw(t, "reach") {
		s.Reach = []sample.Reach{{PodUID: "u1", ContainerID: genText(t), Minors: []int{0, 2}, Evidence: "spec"}}
	}
	return s
}

func genMap[K comparable, V any](t *rapid.T, label string, keys *rapid.Generator[K], value func(*rapid.T) V) map[K]V {
	return rapid.MapOfN(keys, rapid.Custom(value), 0, 3).Draw(t, label)
}

func genText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a", "null", "true", "1e3", "0x1", "~", "- a: b", "tab\there", "line\nline", "\u2028ü🙂\"\\", "{x}", " lead"}).Draw(t, "text")
}

func genUint(t *rapid.T) uint64 {
	return rapid.SampledFrom([]uint64{0, 1, 4096, 1 << 40, 1<<64 - 1}).Draw(t, "uint")
}

func genOpt[T any](t *rapid.T, value func(*rapid.T) T) *T {
	if !rapid.Bool().Draw(t, "given") {
		return nil
	}
	v := value(t)
	return &v
}

func genShare(t *rapid.T) float64 { return rapid.Float64Range(0, 1).Draw(t, "share") }

func genProcess(t *rapid.T) sample.Process {
	return sample.Process{
		StartTicks: genUint(t), Cgroup: genText(t), Comm: genText(t), UID: rapid.IntRange(0, 3).Draw(t, "uid"), User: genText(t),
		Env:  genMap(t, "env", rapid.SampledFrom([]string{"NVIDIA_VISIBLE_DEVICES", "null"}), genText),
		Gone: rapid.Bool().Draw(t, "gone"),
	}
}

func genStatus(t *rapid.T) sample.SourceStatus {
	return sample.SourceStatus{OK: rapid.Bool().Draw(t, "ok"), Error: genText(t), DurationUS: rapid.Int64Range(0, 9).Draw(t, "us")}
}

func genGrants(t *rapid.T) sample.Grants {
	if !rapid.Bool().Draw(t, "readable") {
		return sample.Grants{}
	}
	g := sample.Grants{Readable: true}
	if rapid.Bool().Draw(t, "pods") {
		g.Pods = []workload.PodResources{{Namespace: "a", Name: genText(t), Containers: []workload.ContainerResources{{
			Name:    "c",
			Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{genText(t)}}},
			Dynamic: []workload.ClaimDevices{{Namespace: "a", Name: "cl", Devices: []workload.ClaimDevice{{Driver: "d", Pool: "p", Device: genText(t), ShareID: "s"}}}},
		}}}}
	}
	switch rapid.IntRange(0, 2).Draw(t, "allocatable") {
	case 1:
		g.Allocatable = []workload.ResourceDevices{}
	case 2:
		g.Allocatable = []workload.ResourceDevices{{Resource: "r", IDs: []string{"x"}}}
	}
	return g
}

func genObjects(t *rapid.T) sample.Objects {
	o := sample.Objects{Known: rapid.Bool().Draw(t, "known")}
	if rapid.Bool().Draw(t, "node") {
		o.Node = &workload.Node{Name: "node-a", Labels: map[string]string{"k": genText(t)}, Allocatable: map[string]int64{"r": 3}}
	}
	for i := range 3 {
		if rapid.Bool().Draw(t, "pod") {
			o.Pods = append(o.Pods, workload.Pod{
				Namespace: "a", Name: "same", UID: fmt.Sprint("u", i), Phase: genText(t), Gone: rapid.Bool().Draw(t, "gone"),
				Containers:       []workload.Container{{Name: "c", Env: map[string]string{"E": genText(t)}, Limits: map[string]int64{"r": 1}}},
				DeletionDeadline: genOpt(t, func(*rapid.T) time.Time { return time.Unix(5, 7).UTC() }),
			})
		}
	}
	if rapid.Bool().Draw(t, "claim") {
		o.Claims = []workload.Claim{{Namespace: "a", Name: "c", UID: "cu", Results: []workload.ClaimResult{{Driver: genText(t), ConsumedMemory: genOpt(t, genUint)}}}}
	}
	if rapid.Bool().Draw(t, "slice") {
		o.Slices = []workload.Slice{{Name: "s", Driver: "d", Generation: rapid.Int64Range(0, 9).Draw(t, "gen"), Devices: []workload.SliceDevice{{Name: "gpu-0", MemoryBytes: genOpt(t, genUint)}}}}
	}
	return o
}

// genDevice draws a GPU. One that is not ok has no readings: that is the
// contract of sample.Device.
func genDevice(t *rapid.T, i int) sample.Device {
	d := sample.Device{
		UUID: gpu.UUID(fmt.Sprint("GPU-", i)), Index: rapid.IntRange(0, 3).Draw(t, "index"), Minor: rapid.IntRange(0, 3).Draw(t, "minor"),
		State: rapid.SampledFrom([]gpu.State{gpu.StateOK, gpu.StateOK, gpu.StateOK, gpu.StateLost, gpu.StateHung}).Draw(t, "state"),
		Name:  genText(t), Reason: genText(t), PCIBusID: genText(t), MIG: rapid.Bool().Draw(t, "mig"),
		UnifiedMemory: rapid.Bool().Draw(t, "unified"), HostMemory: genOpt(t, genUint), MemorySlices: rapid.SampledFrom([]uint32{0, 4, 8}).Draw(t, "slices"),
	}
	if rapid.Bool().Draw(t, "events") {
		d.Events = []sample.Event{{Kind: "xid", XID: 79, Instance: genOpt(t, func(*rapid.T) uint32 { return 0 }), Detail: genText(t)}}
	}
	if d.State != gpu.StateOK {
		return d
	}
	d.Memory = genOpt(t, genMemory)
	d.Processes = genHeld(t)
	d.Signals = sample.Signals{Busy: genOpt(t, genShare), DRAMActive: genOpt(t, genShare)}
	d.Power = sample.Power{PowerMW: genOpt(t, genUint), EnergyMJ: genOpt(t, genUint)}
	for gi := range rapid.IntRange(0, 2).Draw(t, "instances") {
		d.Instances = append(d.Instances, sample.Instance{
			ID: uint32(gi), SinceMS: rapid.Int64Range(0, 3).Draw(t, "since"), ProfileID: 19, Profile: genText(t), Placement: gpu.Placement{Start: uint32(gi), Size: 1},
			ComputeSlices: 1, Memory: genOpt(t, genMemory), Processes: genHeld(t), Signals: sample.Signals{SMActive: genOpt(t, genShare)},
			Compute: []sample.ComputeInstance{{ID: 0, UUID: gpu.UUID(genText(t)), Slices: 1}, {ID: 1, UUID: "MIG-1"}},
		})
	}
	if rapid.Bool().Draw(t, "accounted") {
		d.Accounted = []sample.Accounted{{PID: 4, MaxMemory: genUint(t), StartUS: 1, RunMS: 2}}
	}
	if rapid.Bool().Draw(t, "placements") {
		d.Placements = []gpu.ProfilePlacements{{ProfileID: 19, Name: "1g", Placements: []gpu.Placement{{Start: 0, Size: 1}}}}
	}
	return d
}

func genMemory(t *rapid.T) sample.Memory {
	m := sample.Memory{Total: genUint(t), Reserved: genUint(t), Used: genUint(t), Free: genUint(t)}
	if rapid.Bool().Draw(t, "untold") {
		m.Reserved, m.ReserveUnknown = 0, true
	}
	return m
}

func genHeld(t *rapid.T) []sample.Held {
	var out []sample.Held
	for pid := range rapid.IntRange(0, 3).Draw(t, "held") {
		out = append(out, sample.Held{
			PID: pid, Kind: rapid.SampledFrom([]sample.ProcessKind{"", sample.KindCompute, sample.KindMPS}).Draw(t, "kind"),
			Bytes: genOpt(t, genUint), Compute: genOpt(t, func(*rapid.T) uint32 { return 1 }), SM: genOpt(t, genShare),
		})
	}
	return out
}
