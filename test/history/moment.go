// SPDX-License-Identifier: Apache-2.0

package history

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// driver is what NVML says of itself.
var driver = sample.Library{OK: true, DriverVersion: "580.95.05", NVMLVersion: "13.580.95.05", CUDAVersion: 13000}

// moment is the node at one time, as the agent's sources answer.
type moment struct {
	*script
	at  time.Time
	out sample.Sample
}

// moment observes the node. energy is what each card has used so far, in mJ.
func (s *script) moment(at time.Time, mono int64, energy []uint64) sample.Sample {
	m := moment{script: s, at: at, out: sample.Sample{
		Node: s.node.Name, At: at, MonoMS: mono, NVML: driver, Processes: map[int]sample.Process{},
		Grants:  sample.Grants{Readable: true},
		Objects: sample.Objects{Known: true, Slices: s.slices},
	}}
	m.hardware(energy)
	m.people()
	for i := range m.out.Devices {
		m.out.Devices[i].Signals = signalsOf(&m.out.Devices[i], m.node.GPUs[i].Model)
	}
	m.offers()
	m.out.Objects.Node = s.node.object(m.out.Grants.Allocatable, anyHas(s.cordons, at))
	return m.out
}

// hardware is the cards without anyone on them.
func (m *moment) hardware(energy []uint64) {
	m.out.Devices = make([]sample.Device, len(m.node.GPUs))
	for i := range m.node.GPUs {
		d := m.node.GPUs[i].device(i)
		used := energy[i]
		d.Power.EnergyMJ = &used
		m.out.Devices[i] = d
	}
	for _, l := range m.layouts {
		if d := &m.out.Devices[l.gpu]; l.has(m.at) {
			d.Memory.Reserved = 0 // in MIG mode the instances have what there is
			for _, in := range l.instances {
				d.Instances = append(d.Instances, in.sample(l.gpu, l.from.UnixMilli()))
			}
		}
	}
	for _, e := range m.extras {
		if e.has(m.at) {
			m.out.Devices[e.gpu].Memory.Used += e.bytes
		}
	}
	for _, t := range m.troubles {
		if !t.has(m.at) {
			continue
		}
		d := m.node.GPUs[t.gpu].device(t.gpu)
		d.State, d.Reason, d.Memory = t.state, t.reason, nil
		if m.at.Sub(t.from) < Interval*3/2 {
			d.Events = []sample.Event{{Kind: "xid", XID: t.xid}}
		}
		m.out.Devices[t.gpu] = d
	}
}

func (in Instance) sample(device int, since int64) sample.Instance {
	p := profiles[in.Profile]
	return sample.Instance{
		ID: in.GI, SinceMS: since, ProfileID: p.id, Profile: in.Profile, Placement: gpu.Placement{Start: in.Start, Size: p.size},
		ComputeSlices: p.compute, Memory: &sample.Memory{Total: p.bytes},
		Compute: []sample.ComputeInstance{{UUID: gpu.UUID(migUUID(device, in.GI)), Slices: p.compute}},
	}
}

// people are the pods and the processes of the host.
func (m *moment) people() {
	for _, st := range m.stays {
		if !st.has(m.at) {
			continue
		}
		m.out.Objects.Pods = append(m.out.Objects.Pods, st.pod)
		if st.listed != nil {
			m.out.Grants.Pods = append(m.out.Grants.Pods, *st.listed)
		}
		m.out.Usage = append(m.out.Usage, sample.PodUsage{
			PodUID: st.pod.UID, CPUNanos: uint64(st.cpuMilli) * 1000 * uint64(m.at.Sub(st.from).Milliseconds()), MemoryBytes: st.memory,
		})
		for i := range st.processes {
			m.hold(&st.processes[i], podCgroup(st.pod.UID, st.pod.Containers[0].ID), st.pod.Containers[0].Env)
		}
	}
	for i := range m.hosts {
		if h := &m.hosts[i]; h.has(m.at) {
			m.hold(&h.process, "0::/system.slice/"+h.unit, nil)
		}
	}
	for _, c := range m.claims {
		m.reserve(c)
	}
}

// reserve publishes a claim with the pods that have it now.
func (m *moment) reserve(c workload.Claim) {
	for _, st := range m.stays {
		if st.has(m.at) && st.claim == c.Name && st.pod.Namespace == c.Namespace {
			c.Reserved = append(c.Reserved, workload.ClaimConsumer{Pod: st.pod.Name, UID: st.pod.UID})
		}
	}
	if len(c.Reserved) > 0 {
		m.out.Objects.Claims = append(m.out.Objects.Claims, c)
	}
}

// hold has a process hold its memory, where its card answers.
func (m *moment) hold(p *process, cgroup string, env map[string]string) {
	d := &m.out.Devices[p.gpu]
	if d.State != gpu.StateOK {
		return
	}
	bytes, sm := p.size.at(m.at), p.sm
	h := sample.Held{PID: p.pid, Kind: p.kind, Bytes: &bytes, SM: &sm}
	if p.size.unknown {
		h.Bytes = nil
	}
	if p.gi == nil {
		d.Memory.Used += bytes
		d.Processes = append(d.Processes, h)
	} else {
		for i := range d.Instances {
			if in := &d.Instances[i]; in.ID == *p.gi {
				in.Memory.Used += bytes
				in.Processes = append(in.Processes, h)
			}
		}
	}
	m.out.Processes[p.pid] = sample.Process{StartTicks: p.start, Cgroup: cgroup, Comm: p.comm, Env: env}
}

// podCgroup is the path that the kubelet gives a burstable pod under systemd.
func podCgroup(uid, container string) string {
	return "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") +
		".slice/cri-containerd-" + container + ".scope"
}

// signalsOf is how busy a card looks with what runs on it.
func signalsOf(d *sample.Device, model string) sample.Signals {
	if d.State != gpu.StateOK {
		return sample.Signals{}
	}
	busy := 0.0
	for _, h := range d.Processes {
		busy += *h.SM
	}
	busy = min(busy, 1)
	out := sample.Signals{Busy: &busy}
	if strings.Contains(model, "H100") {
		hopper(&out, busy)
	}
	return out
}

// hopper adds what cards tell from that generation on (GPM). Kernels are taken to be
// alike: they fill six SMs of ten, and move more than they compute.
func hopper(s *sample.Signals, busy float64) {
	sm, tensor, dram, fp := 0.6*busy, 0.2*busy, 0.4*busy, 0.1*busy
	s.EngineActive, s.SMActive, s.TensorActive, s.DRAMActive = &busy, &sm, &tensor, &dram
	s.FP64Active, s.FP32Active, s.FP16Active = &fp, &fp, &fp
}

// offers are the devices that the kubelet has to give.
func (m *moment) offers() {
	of := map[string][]string{}
	for i := range m.node.GPUs {
		g, d := &m.node.GPUs[i], &m.out.Devices[i]
		switch {
		case d.State != gpu.StateOK || g.Resource == "":
		case g.MIG:
			for _, in := range d.Instances {
				of["nvidia.com/mig-"+in.Profile] = append(of["nvidia.com/mig-"+in.Profile], migUUID(i, in.ID))
			}
		default:
			if g.MPS && !anyHas(m.broken, m.at) {
				d.ComputeMode = "exclusive_process" // as the plugin's MPS daemon sets it
			}
			of[g.Resource] = append(of[g.Resource], g.IDs()...)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(of)) {
		m.out.Grants.Allocatable = append(m.out.Grants.Allocatable, workload.ResourceDevices{Resource: resource, IDs: of[resource]})
	}
}
