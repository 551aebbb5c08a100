// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"cmp"
	"slices"
	"strings"
)

// ConfigMapName names a ConfigMap.
type ConfigMapName struct{ Namespace, Name string }

// Lookups are the ConfigMaps from which a variable that the rules know may come,
// and those that NVIDIA's device plugin is configured by: who reads a cluster need read no others. Sorted, each once.
func (in *Input) Lookups() []ConfigMapName {
	found := map[ConfigMapName]bool{}
	for i := range in.Workloads {
		w := &in.Workloads[i]
		for _, name := range w.pluginConfigs() {
			found[ConfigMapName{w.Namespace, name}] = true
		}
		for j := range w.Pod.Containers {
			for _, name := range w.Pod.Containers[j].lookups() {
				found[ConfigMapName{w.Namespace, name}] = true
			}
		}
	}
	var out []ConfigMapName
	for n := range found {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b ConfigMapName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// lookups are all that envFrom names, since each of their keys becomes a
// variable, and those of variables that the rules know. Where such a variable
// refers to others, theirs, too.
func (c *Container) lookups() (out []string) {
	for _, s := range c.EnvFrom {
		if s.Kind == FromConfigMap && s.Name.Value != "" {
			out = append(out, s.Name.Value)
		}
	}
	refers := slices.ContainsFunc(c.Env, func(v Variable) bool { return ruled(v.Name) && strings.Contains(v.Value.Value, "$(") })
	for _, v := range c.Env {
		if v.From != nil && v.From.Kind == FromConfigMap && v.From.Name != "" && (refers || ruled(v.Name)) {
			out = append(out, v.From.Name)
		}
	}
	return out
}

// pluginImage is in the name of the images of NVIDIA's device plugin.
const pluginImage = "k8s-device-plugin"

// pluginConfigs are the ConfigMaps that a DaemonSet of the device plugin mounts.
func (w *Workload) pluginConfigs() (out []string) {
	isPlugin := func(c Container) bool { return strings.Contains(c.Image.Value, pluginImage) }
	if w.Kind != "DaemonSet" || !slices.ContainsFunc(w.Pod.Containers, isPlugin) {
		return nil
	}
	for _, v := range w.Pod.Volumes {
		if v.ConfigMap != "" {
			out = append(out, v.ConfigMap)
		}
	}
	return out
}

// ruled: the rules look at the variable.
func ruled(variable string) bool {
	return strings.HasPrefix(variable, "NVIDIA_") || strings.HasPrefix(variable, mpsPrefix) || variable == cudaVersion || variable == disableControl
}
