// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
)

// ExemptNote is the annotation that exempts a workload: "owner: reason".
const ExemptNote = "gputally.io/guard-exempt"

// Where an exemption comes from.
const (
	ByCommand    = "command line"
	ByAnnotation = "annotation"
)

// Exemption says that a workload may reach GPUs it does not ask for, as an
// exporter of GPU metrics must. Its findings are reported apart, never dropped.
type Exemption struct {
	Object Object `json:"object"`
	By     string `json:"by"`
	Owner  string `json:"owner,omitempty"`
	Reason string `json:"reason"`
}

// Exempted is a finding with the exemption it falls under.
type Exempted struct {
	Finding
	Exemption Exemption `json:"exemption"`
}

// ParseExemption reads NAMESPACE/KIND/NAME=REASON, or ClusterPolicy/NAME=REASON, which is
// in no namespace. No part may be left out and
// none is a pattern: what is exempted is named.
func ParseExemption(text string) (Exemption, error) {
	const form = "write NAMESPACE/KIND/NAME=REASON, such as gpu-operator/DaemonSet/dcgm-exporter=reads the metrics of every GPU"
	object, reason, ok := strings.Cut(text, "=")
	parts := strings.Split(object, "/")
	reason = strings.TrimSpace(reason)
	clusterWide := len(parts) == 2 && strings.EqualFold(parts[0], "ClusterPolicy")
	if clusterWide {
		parts = append([]string{""}, parts...)
	}
	switch {
	case !ok || reason == "":
		return Exemption{}, fmt.Errorf("%q gives no reason; %s", text, form)
	case len(parts) != 3 || parts[0] == "" && !clusterWide || parts[1] == "" || parts[2] == "":
		return Exemption{}, fmt.Errorf("%q names no single object; %s", text, form)
	case strings.ContainsAny(object, "*?[ "):
		return Exemption{}, fmt.Errorf("%q is a pattern; name each object, so that a new one is looked at; %s", text, form)
	}
	return Exemption{Object: Object{Namespace: parts[0], Kind: parts[1], Name: parts[2]}, By: ByCommand, Reason: reason}, nil
}

// exemption is the one that w falls under. The command line counts before the
// annotation. Wrong is an annotation that lacks an owner or a reason: it
// exempts nothing.
func (s *scan) exemption(w *Workload) (e *Exemption, wrong *Text) {
	note := s.exemptNote(w)
	if note != nil {
		owner, reason, _ := strings.Cut(note.Value, ":")
		owner, reason = strings.TrimSpace(owner), strings.TrimSpace(reason)
		if owner == "" || reason == "" {
			wrong = note
		} else {
			e = &Exemption{Object: w.told(), By: ByAnnotation, Owner: owner, Reason: reason}
		}
	}
	for i, x := range s.policy.Exempt {
		if sameObject(x.Object, w.told()) {
			s.used[i] = true
			e = &s.policy.Exempt[i]
		}
	}
	return e, wrong
}

// sameObject compares names; kinds without regard to case, as kubectl takes them.
func sameObject(a, b Object) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && strings.EqualFold(a.Kind, b.Kind)
}

// exemptNote is the annotation of the workload. That of a pod's workload counts
// for the pod, too.
func (s *scan) exemptNote(w *Workload) *Text {
	if w.Of != nil {
		if top := s.tops[*w.Of]; top != nil {
			return top.exemptNote()
		}
	}
	return w.exemptNote()
}

func (w *Workload) exemptNote() *Text {
	for _, notes := range [][]Note{w.Notes, w.PodNotes} {
		for i, n := range notes {
			if n.Key == ExemptNote {
				return &notes[i].Value
			}
		}
	}
	return nil
}
