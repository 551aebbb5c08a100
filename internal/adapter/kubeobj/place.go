// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// placement is what a pod asks of its node beside room.
func placement(p *corev1.PodSpec) (out workload.Placement) {
	var pairs, tolerations []string
	for key, value := range p.NodeSelector {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	out.Selector = strings.Join(pairs, ",")
	if p.Affinity != nil && p.Affinity.NodeAffinity != nil {
		out.Affinity = required(p.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	for i := range p.Tolerations {
		if text := toleration(&p.Tolerations[i]); text != "" {
			tolerations = append(tolerations, text)
		}
	}
	slices.Sort(tolerations)
	out.Tolerations = strings.Join(slices.Compact(tolerations), ",")
	return out
}

func required(s *corev1.NodeSelector) string {
	if s == nil {
		return ""
	}
	var terms []string
	for _, t := range s.NodeSelectorTerms {
		var all []string
		for _, r := range t.MatchExpressions {
			text := r.Key + " " + string(r.Operator)
			if len(r.Values) > 0 {
				text += " " + strings.Join(slices.Sorted(slices.Values(r.Values)), "|")
			}
			all = append(all, text)
		}
		if len(t.MatchFields) > 0 {
			all = append(all, "fields")
		}
		slices.Sort(all)
		terms = append(terms, strings.Join(all, ","))
	}
	slices.Sort(terms)
	return strings.Join(terms, ";")
}

// toleration is one for a taint that keeps pods away; those that Kubernetes gives every
// pod, for a node that is not ready, say nothing of where it may be.
func toleration(t *corev1.Toleration) string {
	if t.Effect == corev1.TaintEffectPreferNoSchedule || t.TolerationSeconds != nil {
		return ""
	}
	text := t.Key
	switch {
	case t.Key == "":
		text = "*"
	case t.Operator == corev1.TolerationOpEqual || t.Operator == "":
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + string(t.Effect)
	}
	return text
}

// taints are those that keep pods away, as "KEY=VALUE:EFFECT". What a controller puts on
// a node for a while (node.kubernetes.io/…) is no property of it.
func taints(n *corev1.Node) (out []string) {
	for _, t := range n.Spec.Taints {
		if (t.Effect == workload.TaintNoSchedule || t.Effect == workload.TaintNoExecute) && !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			out = append(out, t.Key+"="+t.Value+":"+string(t.Effect))
		}
	}
	slices.Sort(out)
	return out
}
