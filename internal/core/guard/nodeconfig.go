// SPDX-License-Identifier: Apache-2.0

package guard

import "strings"

// Setting names what a file or object sets on GPU nodes, in one word for the many
// ways to write it.
type Setting string

// The settings that the rules know.
const (
	// SetDefault is the runtime that containers get which name none: its name, and
	// its program where that is told.
	SetDefault Setting = "default runtime"
	// SetAsDefault: the toolkit's installer makes NVIDIA's runtime the default one.
	SetAsDefault Setting = "set as default"
	// SetUnprivileged: the toolkit obeys NVIDIA_VISIBLE_DEVICES in every container.
	SetUnprivileged Setting = "accept-nvidia-visible-devices-envvar-when-unprivileged"
	// SetMounts: the toolkit takes devices from the names of mounts.
	SetMounts Setting = "accept-nvidia-visible-devices-as-volume-mounts"
	// SetStrategy is how the device plugin hands out devices, a list of words.
	SetStrategy Setting = "deviceListStrategy"
	// SetCDI: the GPU operator gives GPUs through CDI, and leaves the default
	// runtime as it is.
	SetCDI Setting = "cdi.enabled"
)

// Component is which part of a node a NodeConfig sets up.
type Component string

// The components. A default that is not written down counts only for the
// component itself.
const (
	Toolkit          Component = "NVIDIA container toolkit"
	ContainerRuntime Component = "container runtime"
	DevicePlugin     Component = "NVIDIA device plugin"
	Operator         Component = "NVIDIA GPU operator"
)

// NodeConfig is a file or an object that sets up GPU nodes.
type NodeConfig struct {
	Object
	Component Component
	File      string
	Document  int
	Line      int
	Notes     []Note
	Values    map[Setting]Text
	Shares    []Share
}

// Share is a resource that is offered several times.
type Share struct {
	How      string // time-slicing or MPS
	Resource Text
	Replicas Text
	// Renamed: those who ask for it see by its name that it is a share.
	Renamed bool
	// OneOnly: nobody can ask for two, and take them for two GPUs.
	OneOnly bool
}

// The ways of sharing that the device plugin configures.
const (
	TimeSlicing = "time-slicing"
	MPS         = "MPS"
)

func (n *NodeConfig) is(set Setting, value string) bool {
	return n.Values[set].Given && strings.EqualFold(n.Values[set].Value, value)
}

// environmentSettings are the variables by which NVIDIA's DaemonSets are set up,
// as their programs and the operator name them.
var environmentSettings = []struct {
	variable string
	set      Setting
	of       Component
}{
	{"DEVICE_LIST_STRATEGY", SetStrategy, DevicePlugin},
	{"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", SetUnprivileged, Toolkit},
	{"ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", SetMounts, Toolkit},
	{"NVIDIA_RUNTIME_SET_AS_DEFAULT", SetAsDefault, Toolkit},
	{"CONTAINERD_SET_AS_DEFAULT", SetAsDefault, Toolkit},
	{"CRIO_SET_AS_DEFAULT", SetAsDefault, Toolkit},
	{"DOCKER_SET_AS_DEFAULT", SetAsDefault, Toolkit},
}

// Set takes a variable of one of NVIDIA's components: those of its DaemonSet, or
// of the operator's toolkit.env and devicePlugin.env.
func (n *NodeConfig) Set(variable string, value Text) {
	for _, e := range environmentSettings {
		if e.variable != variable || !value.Given {
			continue
		}
		if e.set == SetAsDefault && !strings.EqualFold(value.Value, "true") {
			return // as it would be without it
		}
		if n.Values == nil {
			n.Values = map[Setting]Text{}
		}
		n.Values[e.set] = value
		if n.Component == "" {
			n.Component = e.of
		}
	}
}

// ofDaemonSet is what a DaemonSet of NVIDIA's sets by its environment, nil where
// it sets nothing that is looked at.
func ofDaemonSet(w *Workload) *NodeConfig {
	if w.Kind != "DaemonSet" || w.Of != nil {
		return nil
	}
	n := NodeConfig{Object: w.Object, File: w.File, Document: w.Document, Line: w.Line, Notes: append(w.Notes, w.PodNotes...)}
	for _, c := range w.Pod.Containers {
		for _, v := range c.Env {
			if v.From == nil {
				n.Set(v.Name, v.Value)
			}
		}
	}
	if len(n.Values) == 0 {
		return nil
	}
	return &n
}
