// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// What sets up GPU nodes: configuration files of the container toolkit, of
// containerd and CRI-O, of NVIDIA's device plugin (a file, or in a ConfigMap), and
// the GPU operator's ClusterPolicy.

func (r *reading) config(n node, component guard.Component) guard.NodeConfig {
	return guard.NodeConfig{
		Object:    guard.Object{Kind: "file", Name: filepath.Base(r.file)},
		Component: component, File: r.file, Document: r.number, Line: n.line(), Values: map[guard.Setting]guard.Text{},
	}
}

func (r *reading) keep(c guard.NodeConfig) { r.out.Input.Nodes = append(r.out.Input.Nodes, c) }

func put(c *guard.NodeConfig, set guard.Setting, value guard.Text) {
	if value.Given {
		c.Values[set] = value
	}
}

// toolkit reads /etc/nvidia-container-runtime/config.toml.
func (r *reading) toolkit(n node) {
	c := r.config(n, guard.Toolkit)
	put(&c, guard.SetUnprivileged, n.get(string(guard.SetUnprivileged)).flag())
	put(&c, guard.SetMounts, n.get(string(guard.SetMounts)).flag())
	r.keep(c)
}

// criPlugins are the names of containerd's CRI plugin, of versions 1.x and 2.x.
var criPlugins = []string{"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "cri"}

// runtime reads the configuration of containerd or CRI-O.
func (r *reading) runtime(n node) {
	c := r.config(n, guard.ContainerRuntime)
	for _, name := range criPlugins {
		if cri := n.at("plugins", name, "containerd"); cri.there() {
			def := cri.get("default_runtime_name").text()
			if !def.Given {
				def = guard.Text{Value: "runc"} // containerd's own; Given stays false
			}
			program(&c, def, cri.at("runtimes", def.Value, "options", "BinaryName").text())
		}
	}
	if crio := n.at("crio", "runtime"); crio.there() {
		def := crio.get("default_runtime").text()
		program(&c, def, crio.at("runtimes", def.Value, "runtime_path").text())
	}
	r.keep(c)
}

// program sets the default runtime: where its program is NVIDIA's, that is what
// counts, whatever the runtime is called.
func program(c *guard.NodeConfig, def, binary guard.Text) {
	if strings.Contains(binary.Value, "nvidia-container-runtime") {
		def = binary
	}
	put(c, guard.SetDefault, def)
}

// isPluginConfig: the mapping is a configuration of NVIDIA's device plugin.
func isPluginConfig(n node) bool {
	if !n.there() || n.v.shape != mapping || n.get("version").string() != "v1" {
		return false
	}
	return n.at("flags", "plugin").there() || n.at("flags", "migStrategy").there() || n.get("sharing").there()
}

// devicePlugin reads a configuration of the device plugin into c.
func devicePlugin(c *guard.NodeConfig, n node) {
	strategy := n.at("flags", "plugin", "deviceListStrategy")
	switch {
	case !strategy.there():
	case strategy.v.shape == list:
		all := guard.Text{Field: strategy.path, Line: strategy.line(), Given: true}
		strategy.each(func(item node) { all.Value = strings.TrimPrefix(all.Value+","+item.string(), ",") })
		put(c, guard.SetStrategy, all)
	default:
		put(c, guard.SetStrategy, strategy.text())
	}
	shares(c, n.at("sharing", "timeSlicing"), guard.TimeSlicing)
	shares(c, n.at("sharing", "mps"), guard.MPS)
}

func shares(c *guard.NodeConfig, n node, how string) {
	if !n.there() {
		return
	}
	renamed := n.get("renameByDefault").flag().True()
	one := n.get("failRequestsGreaterThanOne").flag().True() || how == guard.MPS // the plugin sets it for MPS
	n.get("resources").each(func(res node) {
		replicas := res.get("replicas").text()
		if replicas.Value == "1" {
			return
		}
		c.Shares = append(c.Shares, guard.Share{
			How: how, Resource: res.get("name").text(), Replicas: replicas, OneOnly: one,
			Renamed: renamed || res.get("rename").string() != "",
		})
	})
}

// pluginFile reads a configuration of the device plugin that is a document.
func (r *reading) pluginFile(n node) {
	c := r.config(n, guard.DevicePlugin)
	devicePlugin(&c, n)
	r.keep(c)
}

// pluginConfigMap reads those that a ConfigMap holds, as the plugin's chart and
// the GPU operator take them: one under each key. Texts that are no such
// configuration are other things' and not looked at.
func (r *reading) pluginConfigMap(n node, namespace string) {
	n.get("data").fields(func(key string, field node) {
		text := field.string()
		if !strings.Contains(text, "sharing") && !strings.Contains(text, "deviceListStrategy") {
			return
		}
		v, err := parseYAML(text, 0)
		if err != nil {
			return
		}
		inner := node{r: r, v: v, path: field.path}
		if !isPluginConfig(inner) {
			return
		}
		move(v, field.line())
		c := r.config(n, guard.DevicePlugin)
		c.Object = guard.Object{Kind: "ConfigMap", Namespace: namespace, Name: n.at("metadata", "name").string()}
		c.Notes = notes(n.at("metadata", "annotations"))
		devicePlugin(&c, inner)
		r.keep(c)
	})
}

// move puts a text's values to the lines of the document that it is in: the text
// begins below its key.
func move(v *value, by int) {
	if v == nil {
		return
	}
	if by > 0 {
		v.line += by
	} else {
		v.line = 0
	}
	for _, k := range v.keys {
		move(v.fields[k], by)
	}
	for _, item := range v.items {
		move(item, by)
	}
}

// clusterPolicy reads the GPU operator's (nvidia.com/v1 ClusterPolicy).
func (r *reading) clusterPolicy(n node) {
	spec := n.get("spec")
	c := r.config(n, guard.Operator)
	c.Object = guard.Object{Kind: "ClusterPolicy", Name: n.at("metadata", "name").string()}
	c.Notes = notes(n.at("metadata", "annotations"))
	if enabled := spec.at("toolkit", "enabled").flag(); enabled.Given && !enabled.True() {
		c.Component = guard.DevicePlugin // the toolkit of the node is set up elsewhere
	}
	put(&c, guard.SetCDI, spec.at("cdi", "enabled").flag())
	for _, part := range []string{"toolkit", "devicePlugin"} {
		spec.at(part, "env").each(func(e node) { c.Set(e.get("name").string(), e.get("value").text()) })
	}
	r.keep(c)
}
