// SPDX-License-Identifier: Apache-2.0

package workload

import "strings"

// Kind is what sort of owner a holder is.
type Kind string

// The kinds of holder of accounting.md §1.
const (
	// KindPod: a container of a pod.
	KindPod Kind = "pod"
	// KindDaemon: a pod or host unit on the operator's list of GPU
	// infrastructure; what it holds without a grant is overhead.
	KindDaemon Kind = "daemon"
	// KindHost: a process outside Kubernetes: a systemd unit, a user's
	// session, a container of another engine.
	KindHost Kind = "host"
	// KindUnknown: nothing names an owner: its bytes are unattributed.
	KindUnknown Kind = "unknown"
)

// Holder is whom a grant or a holding belongs to.
type Holder struct {
	Kind Kind `json:"kind"`
	// PodUID is the API server's UID (a static pod's config hash is resolved
	// to its mirror pod's UID where that is known).
	PodUID    string `json:"pod_uid,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	// Container is the container's name; empty when only the pod is known.
	Container string `json:"container,omitempty"`
	// Unit names a host holder: a systemd unit, a container id, a user.
	Unit string `json:"unit,omitempty"`
}

// Account is the holder as it stands on a bill: "namespace/pod", or the name
// of the platform account. A pod whose name is not known is "uid:" and its UID.
func (h Holder) Account() string {
	switch h.Kind {
	case KindPod:
		if h.Pod == "" {
			return "uid:" + h.PodUID
		}
		return h.Namespace + "/" + h.Pod
	case KindDaemon:
		return "overhead"
	case KindHost:
		return "host"
	}
	return "unattributed"
}

// PodKey identifies the pod of a holder, by UID where known, else by name.
func (h Holder) PodKey() string {
	if h.PodUID != "" {
		return h.PodUID
	}
	return h.Namespace + "/" + h.Pod
}

// Compare orders holders by account, pod UID, container and unit, so that no
// output depends on map order.
func (h Holder) Compare(o Holder) int {
	for _, p := range [][2]string{
		{string(h.Kind), string(o.Kind)}, {h.Namespace, o.Namespace}, {h.Pod, o.Pod},
		{h.PodUID, o.PodUID}, {h.Container, o.Container}, {h.Unit, o.Unit},
	} {
		if c := strings.Compare(p[0], p[1]); c != 0 {
			return c
		}
	}
	return 0
}
