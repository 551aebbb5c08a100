// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gputally/gputally/test/stage"
)

// setting is one node and how often the agent looks at it.
type setting struct {
	gpus, pods, processes int // pods per GPU, processes per pod
	interval              time.Duration
}

// settings are those of the aims, an empty node, and one of the greatest size.
var settings = []setting{
	{8, 0, 0, 5 * time.Second},
	{8, 8, 8, 5 * time.Second},
	{8, 8, 8, time.Second},
	{16, 16, 32, 5 * time.Second},
	{16, 16, 32, time.Second},
}

func (s setting) String() string {
	return fmt.Sprintf("%dx%d@%s", s.gpus, s.pods*s.processes, s.interval)
}

const (
	gpuResource = "nvidia.com/gpu"
	mib         = 1 << 20
	// firstPID is above every id that the kernel gives here, so that no figure
	// is taken for a process of the machine.
	firstPID = 5_000_000
)

// populate puts the node of a setting on the stage: time-sliced H100s, each
// offered as many times as there are pods on it, all of them at work.
func populate(s *stage.Stage, set setting) error {
	s.NVML.Option("reap=0") // figures live in the staged /proc only
	pid := firstPID
	for range set.gpus {
		g := s.NVML.GPU("h100", "util=90", "power=600W")
		var ids []string
		for p := range max(set.pods, 1) {
			ids = append(ids, fmt.Sprintf("%s::%d", g.Get("uuid"), p))
		}
		s.Kubelet.Offer(gpuResource, ids...)
		for p := range set.pods {
			pod, err := s.Run(stage.PodSpec{
				Namespace: fmt.Sprintf("team-%d", p%5), Name: fmt.Sprintf("worker-%d-%d", g.Index(), p),
				Resource: gpuResource, Devices: ids[p : p+1], CPUMilli: 1000, MemoryBytes: 4 << 30,
			})
			if err != nil {
				return err
			}
			for range set.processes {
				if _, err := pod.Figure(pid); err != nil {
					return err
				}
				s.NVML.Proc(g, pid, 100*mib+uint64(pid%13)*mib, "sm=1")
				pid++
			}
		}
	}
	err := s.SetNode(map[string]string{"nvidia.com/gpu.sharing-strategy": "time-slicing"}, corev1.ResourceList{
		gpuResource: *resource.NewQuantity(int64(set.gpus*max(set.pods, 1)), resource.DecimalSI),
	})
	if err != nil {
		return err
	}
	if err := linkToKernel(s); err != nil {
		return err
	}
	return s.NVML.Write()
}
