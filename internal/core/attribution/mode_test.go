// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestSharingByEvidence: what tells MPS from time-slicing, and what does not,
// for a card that two pods have replicas of.
func TestSharingByEvidence(t *testing.T) {
	const host, tenant = "0::/system.slice/nvidia-mps.service", 1
	process := func(pid int, cgroup, comm string, kind sample.ProcessKind) func(*sample.Sample) {
		return func(s *sample.Sample) {
			h := holds(pid, 1)
			h.Kind = kind
			s.Devices[0].Processes = append(s.Devices[0].Processes, h)
			s.Devices[0].Memory.Used += *h.Bytes
			s.Processes[pid] = sample.Process{StartTicks: 7, Comm: comm, Cgroup: cgroup}
		}
	}
	label := func(value string) func(*sample.Sample) {
		return func(s *sample.Sample) {
			s.Objects.Node = &workload.Node{Labels: map[string]string{workload.LabelSharingStrategy: value}}
		}
	}
	pipe := func(s *sample.Sample) {
		env := map[string]string{"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"}
		s.Objects.Pods[0].Containers = []workload.Container{{Name: "c", Env: env}}
		p := s.Processes[1]
		p.Env = env
		s.Processes[1] = p
	}
	exclusive := func(s *sample.Sample) { s.Devices[0].ComputeMode = "exclusive_process" }
	client := process(1, cgroupOf(tenant), "python", sample.KindMPS)
	plain := process(1, cgroupOf(tenant), "python", sample.KindCompute)
	ownServer := process(3, cgroupOf(tenant), "nvidia-cuda-mps", sample.KindCompute)
	otherClient := process(2, cgroupOf(2), "python", sample.KindMPS)
	server := process(9, host, mpsServer, sample.KindCompute)
	for name, c := range map[string]struct {
		facts []func(*sample.Sample)
		want  gpu.Mode
	}{
		"nothing":                              {nil, gpu.ModeShared},
		"a pod's environment":                  {[]func(*sample.Sample){plain, pipe}, gpu.ModeShared},
		"the label":                            {[]func(*sample.Sample){label("mps")}, gpu.ModeMPS},
		"the label of time-slicing":            {[]func(*sample.Sample){label("time-slicing"), client}, gpu.ModeTimeSlicing},
		"a label that says nothing":            {[]func(*sample.Sample){label("none"), client}, gpu.ModeMPS},
		"the compute mode":                     {[]func(*sample.Sample){exclusive}, gpu.ModeMPS},
		"the label before the compute mode":    {[]func(*sample.Sample){exclusive, label("time-slicing")}, gpu.ModeTimeSlicing},
		"a server of the platform":             {[]func(*sample.Sample){server}, gpu.ModeMPS},
		"the server before the label":          {[]func(*sample.Sample){server, label("time-slicing")}, gpu.ModeMPS},
		"a client":                             {[]func(*sample.Sample){client}, gpu.ModeMPS},
		"a tenant's server":                    {[]func(*sample.Sample){plain, ownServer}, gpu.ModeShared},
		"a tenant's server and its client":     {[]func(*sample.Sample){client, ownServer}, gpu.ModeShared},
		"a tenant's server, another's client":  {[]func(*sample.Sample){client, ownServer, otherClient}, gpu.ModeMPS},
		"a tenant's server beside a real one":  {[]func(*sample.Sample){client, ownServer, server}, gpu.ModeMPS},
		"a tenant's server that is its client": {[]func(*sample.Sample){process(3, cgroupOf(tenant), mpsServer, sample.KindMPS)}, gpu.ModeShared},
	} {
		s := node(0)
		card := string(deviceUUID(1))
		s.Objects.Pods = []workload.Pod{running(1), running(2)}
		s.Grants.Pods = []workload.PodResources{given(1, card+"::0"), given(2, card+"::1")}
		for _, fact := range c.facts {
			fact(&s)
		}
		if p := New(Policy{Daemons: DefaultDaemons()}).Attribute(s).Partitions[0]; p.Mode != c.want {
			t.Errorf("%s: mode %s (%s), want %s", name, p.Mode, p.ModeEvidence, c.want)
		}
	}
}
