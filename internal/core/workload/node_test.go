// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodeLabels(t *testing.T) {
	for _, c := range []struct {
		name          string
		labels        map[string]string
		replicas      int64
		known         bool
		strategy, mig string
	}{
		{"no labels", nil, 0, false, "", ""},
		{"sharing labels are off", map[string]string{"nvidia.com/gpu.replicas": "0"}, 0, false, "", ""},
		{"not shared", map[string]string{"nvidia.com/gpu.replicas": "1", LabelSharingStrategy: "none", LabelMIGStrategy: "single"}, 1, true, "none", "single"},
		{"time-slicing", map[string]string{"nvidia.com/gpu.replicas": "8", LabelSharingStrategy: "time-slicing"}, 8, true, "time-slicing", ""},
		{"mps", map[string]string{"nvidia.com/gpu.replicas": "4", LabelSharingStrategy: "mps", LabelMIGStrategy: "mixed"}, 4, true, "mps", "mixed"},
		{"GKE time-sharing", map[string]string{LabelGKESharing: "time-sharing", LabelGKEClients: "48"}, 48, true, "time-slicing", ""},
		{"GKE mps", map[string]string{LabelGKESharing: "mps", LabelGKEClients: "2"}, 2, true, "mps", ""},
		{"nonsense", map[string]string{"nvidia.com/gpu.replicas": "many"}, 0, false, "", ""},
		{"negative", map[string]string{"nvidia.com/gpu.replicas": "-1"}, 0, false, "", ""},
	} {
		n := Node{Labels: c.labels}
		replicas, known := n.Replicas()
		if known != c.known || known && replicas != c.replicas || n.SharingStrategy() != c.strategy || n.MIGStrategy() != c.mig {
			t.Errorf("%s: %d, %v, %q, %q", c.name, replicas, known, n.SharingStrategy(), n.MIGStrategy())
		}
	}
}

func TestReplicasOfResource(t *testing.T) {
	n := Node{Labels: map[string]string{"nvidia.com/gpu.replicas": "1", "nvidia.com/mig-1g.10gb.replicas": "3"}}
	for resource, want := range map[string]int64{"nvidia.com/gpu": 1, "nvidia.com/gpu.shared": 1, "nvidia.com/mig-1g.10gb": 3, "nvidia.com/mig-1g.10gb.shared": 3} {
		if got, ok := n.ReplicasOf(resource); !ok || got != want {
			t.Errorf("%s: %d, %v", resource, got, ok)
		}
	}
	if got, ok := n.ReplicasOf("nvidia.com/mig-2g.20gb"); ok {
		t.Errorf("a profile without a label has %d", got)
	}
}

// Story C09: three resources count the same cards; none is dropped or added.
func TestGPUResources(t *testing.T) {
	n := Node{Allocatable: map[string]int64{"cpu": 96, "nvidia.com/gpu": 8, "nvidia.com/mig-1g.5gb": 56, "nvidia.com/mig-7g.40gb": 0,
		"nvidia.com/gpumem": 40960, "example.com/gpu": 2}}
	want := map[string]int64{"nvidia.com/gpu": 8, "nvidia.com/mig-1g.5gb": 56, "nvidia.com/mig-7g.40gb": 0, "example.com/gpu": 2}
	if diff := cmp.Diff(want, n.GPUResources("example.com/gpu")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
