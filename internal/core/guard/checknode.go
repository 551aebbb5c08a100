// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"strings"
)

// nodes looks at what sets up GPU nodes: GT-G017 to GT-G022.
func (s *scan) nodes() {
	configs := s.in.Nodes
	for i := range s.in.Workloads {
		if n := ofDaemonSet(&s.in.Workloads[i]); n != nil {
			configs = append(configs[:len(configs):len(configs)], *n)
		}
	}
	closed := variableClosed(configs)
	for i := range configs {
		n := &configs[i]
		found := n.check(closed)
		w := Workload{Object: n.Object, File: n.File, Document: n.Document, Line: n.Line, Notes: n.Notes}
		exemption, wrong := s.exemption(&w)
		if wrong != nil && n.Kind != "DaemonSet" { // of a DaemonSet it is told already
			s.report.Findings = append(s.report.Findings, w.finding(BadExemption, Low, *wrong, ExemptNote+" gives no owner or no reason"))
		}
		for _, f := range found {
			if exemption == nil {
				s.report.Findings = append(s.report.Findings, f)
			} else {
				s.report.Exempted = append(s.report.Exempted, Exempted{Finding: f, Exemption: *exemption})
			}
		}
	}
	s.report.NodeConfigs = len(configs)
}

// variableClosed: the input sets up a toolkit, and every one that it sets up obeys
// the variable in privileged containers alone.
func variableClosed(configs []NodeConfig) bool {
	closed := false
	for i := range configs {
		n := &configs[i]
		if n.Values[SetUnprivileged].Given || n.Component == Toolkit || n.Component == Operator {
			if !n.is(SetUnprivileged, "false") {
				return false
			}
			closed = true
		}
	}
	return closed
}

func (n *NodeConfig) check(closed bool) []Finding {
	var out []Finding
	for _, one := range []*Finding{n.checkDefault(closed), n.checkUnprivileged(), n.checkMounts(), n.checkStrategy()} {
		if one != nil {
			out = append(out, *one)
		}
	}
	for _, share := range n.Shares {
		out = append(out, n.checkShare(share)...)
	}
	return out
}

// finding is one about a setting. Where the setting is left to its default the
// place is that of the whole.
func (n *NodeConfig) finding(id ID, severity Severity, at Text, what string) *Finding {
	if !at.Given {
		at = Text{Line: n.Line}
	}
	w := Workload{Object: n.Object, File: n.File, Document: n.Document}
	f := w.finding(id, severity, at, what)
	return &f
}

// checkDefault: GT-G017.
func (n *NodeConfig) checkDefault(closed bool) *Finding {
	at := n.Values[SetDefault]
	what := "makes NVIDIA's runtime the default of every container"
	switch {
	case at.Given && (isNVIDIA(at.Value) || strings.Contains(at.Value, "nvidia-container-runtime")):
	case n.is(SetAsDefault, "true"):
		at = n.Values[SetAsDefault]
	case n.is(SetCDI, "false") && !at.Given:
		at, what = n.Values[SetCDI], "switches CDI off, by which NVIDIA's runtime becomes the default of every container"
	default:
		return nil
	}
	severity := High
	if closed {
		severity = Low
	}
	return n.finding(DefaultRuntime, severity, at, what)
}

// checkUnprivileged: GT-G018. The toolkit's own default is yes; what only sets
// other things of a node says nothing of it.
func (n *NodeConfig) checkUnprivileged() *Finding {
	at := n.Values[SetUnprivileged]
	what := "obeys " + visibleDevices + " in containers that are not privileged"
	switch {
	case n.is(SetUnprivileged, "true"):
	case !at.Given && (n.Component == Toolkit || n.Component == Operator):
		what += ": " + string(SetUnprivileged) + " is not set, and true by default"
	default:
		return nil
	}
	severity := Medium
	if n.is(SetCDI, "true") {
		severity = Low
	}
	return n.finding(Unprivileged, severity, at, what)
}

// checkMounts: GT-G019.
func (n *NodeConfig) checkMounts() *Finding {
	if !n.is(SetMounts, "true") {
		return nil
	}
	return n.finding(MountsObeyed, Medium, n.Values[SetMounts], "gives GPUs to whoever mounts anything under /var/run/nvidia-container-devices")
}

// checkStrategy: GT-G020.
func (n *NodeConfig) checkStrategy() *Finding {
	at := n.Values[SetStrategy]
	for _, word := range strings.FieldsFunc(at.Value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word == "envvar" {
			return n.finding(ByStrategy, Low, at, "hands out GPUs by "+visibleDevices+", which the toolkit must then obey in every container")
		}
	}
	return nil
}

// checkShare: GT-G021, GT-G022.
func (n *NodeConfig) checkShare(share Share) (out []Finding) {
	times := fmt.Sprintf("offers %s %s times by %s", share.Resource.Value, share.Replicas.Value, share.How)
	if !share.Renamed {
		severity := Medium
		if share.How == MPS {
			severity = Low
		}
		out = append(out, *n.finding(ShareUnnamed, severity, share.Resource, times+" under the name of a whole GPU"))
	}
	if !share.OneOnly {
		out = append(out, *n.finding(SharesAdded, Low, share.Resource, times+", and lets a container ask for several, which may be the same GPU"))
	}
	return out
}
