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
			"# ask the owner first: the degree of parallelism must divide heads and batch",
			"# never used: " + strings.Join(r.Proposed.With, ", "),
			fmt.Sprintf("# then lower %s in resources.limits of %s, or take it out, and the program's own number of GPUs with it", r.Current.Resource, r.Target.Owner),
		}
	case KindShape:
		return []string{
			"# test the workload on one such node first: kernels must be built for its architecture",
			"nodeSelector:",
			"  node.kubernetes.io/instance-type: " + r.Proposed.Model,
		}
	case KindHostDemand:
		return applyHost(r)
	case KindShare:
		return []string{
			"# the setting of the device plugin holds for every pod of the node",
			fmt.Sprintf("# %s for: %s", r.Proposed.Resource, strings.Join(r.Proposed.With, ", ")),
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
		return []string{"# in the pod's template, as it was:", "resources:", "  limits:", fmt.Sprintf("    %s: %d", c.Resource, max(c.Count, 1))}
	case KindPool:
		was := *r
		was.Proposed = c
		return append([]string{"# the memory fraction as it was: " + c.Fraction}, applyPool(&was)...)
	case KindHostDemand:
		was := *r
		was.Proposed = c
		return append([]string{"# as it was:"}, applyHost(&was)...)
	case KindReclaim:
		return []string{"# stop it no more when it stands idle, and start it:"}
	case KindShape:
		return []string{"# take the nodeSelector out of the pod's template: it ran on a " + c.Model}
	case KindShare:
		return []string{"# give each a card of its own: take the device plugin's sharing off the node again", "kubectl label node NODE nvidia.com/device-plugin.config-"}
	}
	return nil
}

// applyProfile: the device plugin's name of an instance, or DRA's class; and the
// layout, for which the card's pods must be gone (gpu-operator#262: the MIG manager
// does not look).
func applyProfile(r *Recommendation) []string {
	p := r.Proposed.Profile
	out := []string{
		"# in the pod's template, with the device plugin's mixed strategy:",
		"resources:", "  limits:", "    " + r.Proposed.Resource + ": 1",
		"# or with a claim (DRA):",
		"deviceClassName: mig.nvidia.com",
		fmt.Sprintf("selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].profile == '%s'\"}}]", p),
	}
	if r.Current.Profile != "" {
		return append(out, "# a card with other instances keeps them: make the new one where its slices are free")
	}
	return append(out,
		"# a card must have such an instance. On a node that is given to MIG, when its pods are gone:",
		"kubectl cordon NODE  # and wait for its GPU pods to end: nothing else waits for them",
		"kubectl label node NODE nvidia.com/mig.config=LAYOUT --overwrite  # one with "+p)
}

// applyHost: requests are of containers. The pod's are their sum.
func applyHost(r *Recommendation) []string {
	out := []string{"# in the pod's template; of several containers, those that ask for most:", "resources:", "  requests:"}
	if r.Proposed.CPUMilli > 0 {
		out = append(out, fmt.Sprintf("    cpu: %q", fmt.Sprint(r.Proposed.CPUMilli/1000)))
	}
	if r.Proposed.HostBytes > 0 {
		out = append(out, fmt.Sprintf("    memory: %dGi", r.Proposed.HostBytes>>30), "# a memory limit below what is used ends the program: leave it")
	}
	return out
}

func applyPool(r *Recommendation) []string {
	switch r.Current.Engine {
	case "sglang":
		return []string{"--mem-fraction-static " + r.Proposed.Fraction}
	case "tensorrt-llm":
		return []string{"# of what is free after loading, not of the card:", "kv_cache_config: {free_gpu_memory_fraction: …}"}
	}
	return []string{"--gpu-memory-utilization " + r.Proposed.Fraction, "# or --kv-cache-memory-bytes, which does not depend on the card"}
}

func applyReclaim(r *Recommendation) []string {
	kind, name, _ := strings.Cut(r.Target.Owner, "/")
	out := []string{"# tell the owner first: what is not saved is lost. It would have been stopped after " + r.Proposed.Idle + " without use"}
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
