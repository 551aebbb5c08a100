// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// node answers what the sources of one node would: NVML, /proc, the kubelet and
// the API server.
type node struct {
	world *world
	pods  []workload.Pod
}

const device = "GPU-00000000-0000-4000-8000-000000000001"

func newNode(w *world) *node {
	n := &node{world: w}
	for i := range w.class {
		n.pods = append(n.pods, workload.Pod{Namespace: "sim", Name: fmt.Sprint(i), UID: uid(i), Phase: workload.PhaseRunning})
	}
	return n
}

func uid(pod int) string { return fmt.Sprintf("00000000-0000-4000-a000-%012d", pod) }

// attributed is a source of results that asks the real attributor.
func attributed(w *world) func(look) attribution.Result {
	a, n := attribution.New(attribution.Policy{}), newNode(w)
	return func(l look) attribution.Result { return a.Attribute(n.sample(l)) }
}

// sample is the node at one look: its processes on one GPU.
func (n *node) sample(l look) sample.Sample {
	var used uint64
	var on []sample.Held
	procs := make(map[int]sample.Process, len(l.held))
	for _, h := range l.held {
		pid, p := h.process+1, &n.world.processes[h.process]
		on = append(on, sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: &h.bytes})
		used += h.bytes
		procs[pid] = sample.Process{
			StartTicks: uint64(p.start+horizon) / 10, Comm: "python",
			Cgroup: fmt.Sprintf("0::/kubepods/pod%s/%064x", uid(p.pod), p.pod),
		}
	}
	return sample.Sample{
		Node: "sim", MonoMS: l.at + horizon, At: began.Add(time.Duration(l.at) * time.Millisecond),
		NVML: sample.Library{OK: true}, Processes: procs,
		Devices: []sample.Device{{
			UUID: device, State: gpu.StateOK, Processes: on, Memory: &sample.Memory{Total: capacity, Used: used},
		}},
		Grants: sample.Grants{Readable: true}, Objects: sample.Objects{Known: true, Pods: n.pods},
	}
}
