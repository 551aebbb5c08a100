// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/workload"
)

// Seen is a finding of the agent of a node: exposure and unallocated_gpu_use count
// here, others say nothing of who can reach a GPU.
type Seen struct {
	Node    string
	Finding attribution.Finding
}

// seenOnNodes tells what agents saw, at the workload of the pod where the pod is in
// the input: GT-G023, GT-G024.
func (s *scan) seenOnNodes() {
	pods := map[Object]*Workload{}
	for i := range s.in.Workloads {
		if w := &s.in.Workloads[i]; w.Kind == "Pod" {
			pods[w.Object] = w
		}
	}
	for i := range s.in.Seen {
		f, ok := s.in.Seen[i].finding(pods)
		if !ok {
			continue
		}
		exemption, _ := s.exemption(podOf(&s.in.Seen[i], pods))
		if exemption == nil {
			s.report.Findings = append(s.report.Findings, f)
		} else {
			s.report.Exempted = append(s.report.Exempted, Exempted{Finding: f, Exemption: *exemption})
		}
	}
}

// podOf is the pod of the input, else one of which no more is known than its name.
func podOf(n *Seen, pods map[Object]*Workload) *Workload {
	o := Object{Kind: "Pod", Namespace: n.Finding.Holder.Namespace, Name: n.Finding.Holder.Pod}
	if w := pods[o]; w != nil {
		return w
	}
	return &Workload{Object: o}
}

func (n *Seen) finding(pods map[Object]*Workload) (Finding, bool) {
	h := n.Finding.Holder
	if h.Kind != workload.KindPod || h.Pod == "" {
		return Finding{}, false
	}
	w := *podOf(n, pods)
	w.File, w.Document, w.Line = "node/"+n.Node, 0, 0
	var f Finding
	switch n.Finding.Kind {
	case attribution.Exposure:
		severity := High
		if n.Finding.Severity == attribution.Info {
			severity = Low
		}
		f = w.finding(SeenOpen, severity, Text{Value: strings.Join(n.Finding.Partitions, ",")}, "can open GPUs that it was not given")
	case attribution.UnallocatedUse:
		f = w.finding(SeenUsing, Critical, Text{Value: n.Finding.Partition}, "holds memory of a GPU that it was not given")
	default:
		return Finding{}, false
	}
	f.Pods = &Pods{Count: 1, First: []string{h.Pod}}
	return f, true
}
