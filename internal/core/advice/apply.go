// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"strings"
)

// Apply says how a change is made, line by line, for people: what to put into a
// manifest, which label or flag to set, and what to do first. It is nil where nothing
// is proposed. gputally changes nothing itself.
func Apply(r *Recommendation) []string {
	if r.Proposed == nil || r.State == Refused {
		return nil
	}
	switch r.Kind {
	case KindMIG:
		return applyProfile(r)
	case KindPool:
		return applyPool(r)
	case KindReclaim:
		return applyReclaim(r)
	case KindFewer:
		return []string{
			Say("do_ask"),
			Say("do_unused", strings.Join(r.Proposed.With, ", ")),
			Say("do_lower", r.Current.Resource, r.Target.Owner),
		}
	case KindShape:
		return []string{
			Say("do_test"),
			"nodeSelector:",
			"  node.kubernetes.io/instance-type: " + r.Proposed.Model,
		}
	case KindHostDemand:
		return applyHost(r)
	case KindShare:
		return []string{
			Say("do_plugin"),
			Say("do_share", r.Proposed.Resource, strings.Join(r.Proposed.With, ", ")),
			"kubectl label node NODE nvidia.com/device-plugin.config=CONFIG --overwrite",
		}
	}
	return nil
}

// Back says how to undo a change, line by line, for people. It is nil where nothing was
// proposed.
func Back(r *Recommendation) []string {
	if r.Proposed == nil || r.State == Refused {
		return nil
	}
	c := &r.Current
	switch r.Kind {
	case KindMIG, KindFewer:
		return []string{Say("undo_template"), "resources:", "  limits:", fmt.Sprintf("    %s: %d", c.Resource, max(c.Count, 1))}
	case KindPool:
		was := *r
		was.Proposed = c
		return append([]string{Say("undo_fraction", c.Fraction)}, applyPool(&was)...)
	case KindHostDemand:
		was := *r
		was.Proposed = c
		return append([]string{Say("undo_host")}, applyHost(&was)...)
	case KindReclaim:
		return []string{Say("undo_stop")}
	case KindShape:
		return []string{Say("undo_shape", c.Model)}
	case KindShare:
		return []string{Say("undo_share"), "kubectl label node NODE nvidia.com/device-plugin.config-"}
	}
	return nil
}

// applyProfile: the device plugin's name of an instance, or DRA's class; and the
// layout, for which the card's pods must be gone (gpu-operator#262: the MIG manager
// does not look).
func applyProfile(r *Recommendation) []string {
	p := r.Proposed.Profile
	out := []string{
		Say("do_template"),
		"resources:", "  limits:", "    " + r.Proposed.Resource + ": 1",
		Say("do_claim"),
		"deviceClassName: mig.nvidia.com",
		fmt.Sprintf("selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].profile == '%s'\"}}]", p),
	}
	if r.Current.Profile != "" {
		return append(out, Say("do_beside"))
	}
	return append(out,
		Say("do_instance"),
		"kubectl cordon NODE  "+Say("do_wait"),
		"kubectl label node NODE nvidia.com/mig.config=LAYOUT --overwrite  "+Say("do_layout", p))
}

// applyHost: requests are of containers. The pod's are their sum.
func applyHost(r *Recommendation) []string {
	out := []string{Say("do_host"), "resources:", "  requests:"}
	if r.Proposed.CPUMilli > 0 {
		out = append(out, fmt.Sprintf("    cpu: %q", fmt.Sprint(r.Proposed.CPUMilli/1000)))
	}
	if r.Proposed.HostBytes > 0 {
		out = append(out, fmt.Sprintf("    memory: %dGi", r.Proposed.HostBytes>>30), Say("do_limit"))
	}
	return out
}

func applyPool(r *Recommendation) []string {
	switch r.Current.Engine {
	case "sglang":
		return []string{"--mem-fraction-static " + r.Proposed.Fraction}
	case "tensorrt-llm":
		return []string{Say("do_free"), "kv_cache_config: {free_gpu_memory_fraction: …}"}
	}
	return []string{"--gpu-memory-utilization " + r.Proposed.Fraction, Say("do_kv_bytes")}
}

func applyReclaim(r *Recommendation) []string {
	kind, name, _ := strings.Cut(r.Target.Owner, "/")
	out := []string{Say("do_stop", r.Proposed.Idle)}
	switch kind {
	case "Deployment", "StatefulSet", "ReplicaSet":
		out = append(out, fmt.Sprintf("kubectl -n %s scale %s/%s --replicas=0", r.Target.Namespace, strings.ToLower(kind), name))
	case "Notebook":
		out = append(out, fmt.Sprintf("kubectl -n %s annotate notebook/%s kubeflow-resource-stopped=$(date -u +%%FT%%TZ)", r.Target.Namespace, name))
	case "Pod":
		out = append(out, fmt.Sprintf("kubectl -n %s delete pod/%s", r.Target.Namespace, name))
	}
	return out
}
