// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestPodsOfTheGPUsAreListedUnread: a pod with a grant, and one that holds memory
// without, are listed with their owner, labels and requests though no cgroup was
// read; a pod without either is not, and one that was read is there once.
func TestPodsOfTheGPUsAreListedUnread(t *testing.T) {
	s := node(1, holds(2, 4))
	granted, holding, other := running(1), running(2), running(3)
	granted.Labels = map[string]string{"team": "vision"}
	granted.Owner = workload.Owner{Kind: "Job", Name: "train"}
	granted.Containers = []workload.Container{{Name: "c", Kind: workload.ContainerApp, CPUMilli: 500, MemoryBytes: 1 << 30}}
	s.Objects.Pods = []workload.Pod{granted, holding, other}
	s.Grants.Pods = []workload.PodResources{given(1, string(deviceUUID(1)))}

	want := []PodResult{
		{Holder: podHolder(granted), Owner: granted.Owner, Labels: granted.Labels, CPUMilli: 500, MemoryReq: 1 << 30},
		{Holder: podHolder(holding)},
	}
	if diff := cmp.Diff(want, New(Policy{}).Attribute(s).Pods); diff != "" {
		t.Errorf("nothing read (-want +got):\n%s", diff)
	}
	s.Usage = []sample.PodUsage{{PodUID: granted.UID, CPUNanos: 5, MemoryBytes: 6}, {PodUID: other.UID}}
	want[0].CPUNanos, want[0].MemoryBytes = new(uint64(5)), new(uint64(6))
	want = append(want, PodResult{Holder: podHolder(other), CPUNanos: new(uint64), MemoryBytes: new(uint64)})
	if diff := cmp.Diff(want, New(Policy{}).Attribute(s).Pods); diff != "" {
		t.Errorf("two of three read (-want +got):\n%s", diff)
	}
	// The object is gone from the API server, the process is not.
	s.Usage, s.Objects.Pods = nil, []workload.Pod{granted}
	nameless := PodResult{Holder: workload.Holder{Kind: workload.KindPod, PodUID: holding.UID}}
	want[0].CPUNanos, want[0].MemoryBytes = nil, nil
	if diff := cmp.Diff([]PodResult{nameless, want[0]}, New(Policy{}).Attribute(s).Pods); diff != "" {
		t.Errorf("no object (-want +got):\n%s", diff)
	}
}
