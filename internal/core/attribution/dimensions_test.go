// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func TestCostLabels(t *testing.T) {
	pod := workload.Pod{
		Namespace: "ml", Name: "train", UID: "u",
		Owner:  workload.Owner{Kind: "ReplicaSet", Name: "train-6d4cf", UID: "rs"},
		Labels: map[string]string{"pod-template-hash": "6d4cf", "team": "vision", "project": "", "unasked": "x"},
		Annotations: map[string]string{"team": "annotated", "project": "hidden by the label", "cost-center": "4711", "environment": "", "unasked": "x",
			"long": strings.Repeat("é", 200), "exact": strings.Repeat("x", MaxCostLabelBytes), "broken": "a\xffb"},
	}
	for _, c := range []struct {
		name string
		keys []string
		want map[string]string
	}{
		{"the usual ones", nil, map[string]string{"team": "vision", "cost-center": "4711"}},
		{"none", []string{}, nil},
		{"those asked for", []string{"unasked", "nowhere"}, map[string]string{"unasked": "x"}},
		{"cut at a character", []string{"long", "exact", "broken"}, map[string]string{"long": strings.Repeat("é", 128), "exact": pod.Annotations["exact"], "broken": "a\uFFFDb"}},
	} {
		r := New(Policy{CostLabels: c.keys}).Attribute(sample.Sample{
			Objects: sample.Objects{Known: true, Pods: []workload.Pod{pod}}, Usage: []sample.PodUsage{{PodUID: "u"}, {PodUID: "stranger"}},
		})
		want := []PodResult{
			{Holder: workload.Holder{Kind: workload.KindPod, PodUID: "stranger"}, CPUNanos: new(uint64), MemoryBytes: new(uint64)},
			{Holder: podHolder(pod), Owner: workload.Owner{Kind: "Deployment", Name: "train"}, Labels: c.want, CPUNanos: new(uint64), MemoryBytes: new(uint64),
				About: PodAbout{Template: "6d4cf"}},
		}
		if diff := cmp.Diff(want, r.Pods); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	// 256 bytes fall in the middle of a character of three.
	if got := cut(strings.Repeat("€", 100), MaxCostLabelBytes); got != strings.Repeat("€", 85) {
		t.Errorf("cut to %d bytes: %q", len(got), got)
	}
}

func TestCheckCostLabels(t *testing.T) {
	var many []string
	for i := range MaxCostLabels + 1 {
		many = append(many, fmt.Sprint("k", i))
	}
	if err := CheckCostLabels(append(many[:MaxCostLabels-1], "example.com/cost_center.v1")); err != nil {
		t.Error(err)
	}
	if err := CheckCostLabels(DefaultCostLabels()); err != nil {
		t.Error(err)
	}
	for says, keys := range map[string][]string{
		"17 keys are more than 16": many, `"team" is there twice`: {"team", "a", "team"},
		`"" is no key`: {""}, `"team=a" is no key`: {"team=a"}, `"/team" is no key`: {"/team"}, `"a/b/c" is no key`: {"a/b/c"},
		`is no key of a label`: {strings.Repeat("x", 64)},
	} {
		if err := CheckCostLabels(keys); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want %q", keys, err, says)
		}
	}
}

func TestMachineOfTheNode(t *testing.T) {
	node := workload.Node{
		Name: "n", ProviderID: "aws:///i-1", Labels: map[string]string{"a": "b"}, CreatedMS: 5, Unschedulable: true,
		Capacity: map[string]int64{"cpu": 96000, "memory": 1 << 40, "nvidia.com/gpu": 8}, Allocatable: map[string]int64{"cpu": 1, "memory": 1},
	}
	for _, c := range []struct {
		node *workload.Node
		want *Machine
	}{
		{nil, nil},
		{&workload.Node{Name: "n"}, &Machine{}},
		{&node, &Machine{ProviderID: "aws:///i-1", Labels: node.Labels, CPUMilli: 96000, MemoryBytes: 1 << 40, CreatedMS: 5, Unschedulable: true,
			AllocatableCPUMilli: 1, AllocatableMemoryBytes: 1}},
	} {
		r := New(Policy{}).Attribute(sample.Sample{Objects: sample.Objects{Node: c.node}})
		if diff := cmp.Diff(c.want, r.Machine); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
