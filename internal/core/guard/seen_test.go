// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/workload"
)

func saw(node, podName string, kind attribution.FindingKind, severity attribution.Severity) Seen {
	return Seen{node, attribution.Finding{Kind: kind, Severity: severity, Partition: "GPU-1", Partitions: []string{"GPU-1", "GPU-2"},
		Holder: workload.Holder{Kind: workload.KindPod, Namespace: "lab", Pod: podName}}}
}

// TestSeenOnNodes: what agents saw of the pods of a Deployment is told once, at it;
// of a pod that is not in the input at the pod; exemptions count.
func TestSeenOnNodes(t *testing.T) {
	web := Object{Kind: "Deployment", Namespace: "lab", Name: "web"}
	exporter := pod(note(ExemptNote, "platform: reads every GPU"))
	exporter.Name = "exporter"
	host := saw("n1", "x", attribution.UnallocatedUse, attribution.Critical)
	host.Finding.Holder.Kind = workload.KindHost
	r := Scan(Input{
		Workloads: []Workload{pod(of(web, "web-1")), pod(of(web, "web-2")), exporter},
		Seen: []Seen{
			saw("n1", "web-1", attribution.Exposure, attribution.Warning), saw("n2", "web-2", attribution.Exposure, attribution.Warning),
			saw("n2", "web-2", attribution.UnallocatedUse, attribution.Critical), saw("n1", "agent", attribution.Exposure, attribution.Info),
			saw("n1", "exporter", attribution.Exposure, attribution.Info), saw("n1", "web-1", attribution.OverLimit, attribution.Warning), host,
		},
	}, Policy{})
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprint(f.Rule, " ", f.Severity, " ", f.Object, " ", f.Pods.Count, " ", f.File, " ", f.Value))
	}
	want := []string{
		"GT-G024 critical lab/Deployment/web 1 node/n2 GPU-1",
		"GT-G023 high lab/Deployment/web 2 node/n1 GPU-1,GPU-2",
		"GT-G023 low lab/Pod/agent 1 node/n1 GPU-1,GPU-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Exempted) != 1 || r.Exempted[0].Finding.Object.Name != "exporter" {
		t.Errorf("exempted %+v", r.Exempted)
	}
}
