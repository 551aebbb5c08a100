// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// BenchmarkAttribute measures one sample of a full node: devices × processes
// on each, 110 pods, ten replicas of each card offered.
func BenchmarkAttribute(b *testing.B) {
	for _, size := range [][2]int{{8, 64}, {16, 512}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			s := fullNode(size[0], size[1])
			a := New(Policy{Daemons: DefaultDaemons()})
			b.ReportAllocs()
			for b.Loop() {
				a.Attribute(s)
			}
		})
	}
}

func fullNode(devices, processes int) sample.Sample {
	s := node(0)
	s.Devices = nil
	for i := range 110 {
		s.Objects.Pods = append(s.Objects.Pods, running(i))
		s.Grants.Pods = append(s.Grants.Pods, given(i, fmt.Sprintf("%s::%d", deviceUUID(i%devices), i/devices)))
	}
	var ids []string
	for d := range devices {
		dev := sample.Device{
			UUID: deviceUUID(d), Index: d, Minor: d, State: gpu.StateOK, MemorySlices: 8,
			Memory: &sample.Memory{Total: 80 << 30, Reserved: 1 << 29, Used: 60 << 30},
		}
		for i := range processes {
			pid, bytes := 1+d*processes+i, uint64(64<<20)
			dev.Processes = append(dev.Processes, sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: &bytes})
			s.Processes[pid] = sample.Process{StartTicks: 7, Comm: "python", Cgroup: cgroupOf(d + i%(110/devices)*devices)}
		}
		s.Devices = append(s.Devices, dev)
		for r := range 10 {
			ids = append(ids, fmt.Sprintf("%s::%d", deviceUUID(d), r))
		}
	}
	s.Grants.Allocatable = []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: ids}}
	return s
}
