// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// Policy is what an operator may decide about attribution. The zero value
// plus DefaultDaemons is the default.
type Policy struct {
	// Daemons is the list of GPU infrastructure: what these hold without a
	// grant is overhead.
	Daemons []Daemon
	// ExtraResources are further names of extended resources that stand for
	// GPUs, beside those that workload.IsGPUResource knows.
	ExtraResources []string
	// ReservationNamespaces are the namespaces in which KAI runs its
	// reservation pods; nil means DefaultReservationNamespaces. A pod of a
	// tenant cannot shed its grant by looking like one.
	ReservationNamespaces []string
	// CostLabels are the keys of labels, or of annotations, that are cost
	// dimensions: records keep them of each pod. Nil means DefaultCostLabels.
	CostLabels []string
	// MPSServerBase is what an MPS server holds for itself, in bytes; 0 means
	// DefaultMPSServerBase.
	MPSServerBase uint64
}

// DefaultReservationNamespaces are those of KAI and of Run:ai, which it came from.
var DefaultReservationNamespaces = []string{"kai-resource-reservation", "runai-reservation"}

// DefaultMPSServerBase is what an MPS server holds at most for itself. Servers
// were seen at 26 to 35 MiB (k8s-device-plugin#720).
const DefaultMPSServerBase = 64 * gpu.MiB

// mpsServer is the name of the process that serves MPS clients.
const mpsServer = "nvidia-cuda-mps-server"

// commLen is how much of a process's name the kernel keeps, in bytes:
// TASK_COMM_LEN less its final zero (proc(5), /proc/PID/comm).
const commLen = 15

// isCalled reports whether a process with this comm can be the program of that
// name. A capture written by hand may have the name whole.
func isCalled(comm, name string) bool {
	return comm == name || len(comm) == commLen && strings.HasPrefix(name, comm)
}

// Daemon selects GPU infrastructure. For pods, Namespace is required and every
// other field that is set must match; for host processes, Unit is required. A
// process name alone selects nothing: anyone may call their program anything.
type Daemon struct {
	Namespace string            `json:"namespace,omitempty" yaml:"namespace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
	// PodPrefix is the beginning of the pod's name.
	PodPrefix string `json:"pod_prefix,omitempty" yaml:"pod_prefix,omitempty"`
	// Comm is the process name (/proc/PID/comm), within the namespace.
	Comm string `json:"comm,omitempty" yaml:"comm,omitempty"`
	// Unit is the systemd unit of a host process.
	Unit string `json:"unit,omitempty" yaml:"unit,omitempty"`
}

// infrastructure are the namespaces in which NVIDIA's charts and the clouds
// install GPU infrastructure.
var infrastructure = []string{
	"kube-system", "gpu-operator", "nvidia-gpu-operator", "nvidia-device-plugin",
	"nvidia-dra-driver-gpu", "nvidia", "gke-managed-system", "gputally",
}

// DefaultDaemons is the list that applies unless the operator gives another.
func DefaultDaemons() []Daemon {
	var out []Daemon
	for _, ns := range infrastructure {
		out = append(out,
			Daemon{Namespace: ns, Comm: mpsServer},
			Daemon{Namespace: ns, Comm: "nvidia-cuda-mps-control"},
		)
		for _, app := range []string{
			"nvidia-device-plugin-daemonset", "nvidia-device-plugin-mps-control-daemon", "nvidia-dcgm",
			"nvidia-dcgm-exporter", "gpu-feature-discovery", "nvidia-operator-validator", "nvidia-mig-manager",
			"nvidia-cuda-validator",
		} {
			out = append(out, Daemon{Namespace: ns, Labels: map[string]string{"app": app}})
		}
		for _, name := range []string{"nvidia-device-plugin", "dcgm-exporter", "gpu-feature-discovery", "nvidia-dra-driver-gpu", "gputally"} {
			out = append(out, Daemon{Namespace: ns, Labels: map[string]string{"app.kubernetes.io/name": name}})
		}
	}
	for _, unit := range []string{
		"nvidia-persistenced.service", "nvidia-dcgm.service", "dcgm.service", "nvidia-fabricmanager.service",
		"nvidia-mps.service", "nvidia-cuda-mps-control.service",
	} {
		out = append(out, Daemon{Unit: unit})
	}
	return out
}

func (p Policy) mpsBase() uint64 {
	if p.MPSServerBase == 0 {
		return DefaultMPSServerBase
	}
	return p.MPSServerBase
}

func (p Policy) reserves(namespace string) bool {
	if p.ReservationNamespaces == nil {
		return slices.Contains(DefaultReservationNamespaces, namespace)
	}
	return slices.Contains(p.ReservationNamespaces, namespace)
}

// isDaemonPod reports whether a process called comm of pod is infrastructure.
func (p Policy) isDaemonPod(pod workload.Pod, comm string) bool {
	// Asked for every process of every sample, of a list of a hundred: the
	// namespace alone settles nearly all.
	for i := range p.Daemons {
		if d := &p.Daemons[i]; d.Namespace == pod.Namespace && d.matchesPod(pod, comm) {
			return true
		}
	}
	return false
}

func (p Policy) isDaemonUnit(unit string) bool {
	for _, d := range p.Daemons {
		if d.Unit != "" && d.Unit == unit {
			return true
		}
	}
	return false
}

func (d Daemon) matchesPod(pod workload.Pod, comm string) bool {
	if d.Namespace == "" || d.Namespace != pod.Namespace {
		return false
	}
	if d.Comm != "" && !isCalled(comm, d.Comm) {
		return false
	}
	if !strings.HasPrefix(pod.Name, d.PodPrefix) {
		return false
	}
	for k, v := range d.Labels {
		if pod.Labels[k] != v {
			return false
		}
	}
	return d.Comm != "" || d.PodPrefix != "" || len(d.Labels) > 0
}

// isInfrastructure reports whether a namespace holds platform pods, whose
// reach of devices is expected and worth a note, not a warning.
func isInfrastructure(namespace string) bool {
	return slices.Contains(infrastructure, namespace)
}
