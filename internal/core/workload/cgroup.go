// SPDX-License-Identifier: Apache-2.0

package workload

// CgroupKind is what a process's cgroup path says of its owner.
type CgroupKind string

// The kinds of owner a cgroup path can name.
const (
	// CgroupPod: the path has a pod segment. PodUID is set; ContainerID is
	// empty for a container's monitor and for the pod's own cgroup.
	CgroupPod CgroupKind = "pod"
	// CgroupContainer: a container id and no pod segment: either a container
	// of another engine, or a pod's container seen through a path that does
	// not name the pod. Pod statuses tell which (PodIndex.ByContainer).
	CgroupContainer CgroupKind = "container"
	// CgroupUnit: a systemd service (or scope) of the host.
	CgroupUnit CgroupKind = "unit"
	// CgroupUser: a login session or a user's own service.
	CgroupUser CgroupKind = "user"
	// CgroupUnknown: the path names nobody, as "0::/" does when the reader
	// is in another cgroup namespace. It is not proof of a host process.
	CgroupUnknown CgroupKind = "unknown"
)

// CgroupOwner is whom a process belongs to by its cgroup.
type CgroupOwner struct {
	Kind CgroupKind `json:"kind"`
	// PodUID is 8-4-4-4-12 hex, or the 32 hex digits of a static pod's hash.
	PodUID string `json:"pod_uid,omitempty"`
	// ContainerID is 64 hex digits.
	ContainerID string `json:"container_id,omitempty"`
	// Engine is containerd, crio, docker or libpod; empty where the path has
	// a bare id.
	Engine string `json:"engine,omitempty"`
	// Unit is the systemd unit, or the user slice and what is below it.
	Unit string `json:"unit,omitempty"`
	// Monitor is true for conmon, which runs beside a container, not in it.
	Monitor bool `json:"monitor,omitempty"`
}

// ParseCgroup reads the whole text of /proc/PID/cgroup.
func ParseCgroup(text string) CgroupOwner {
	return CgroupOwner{Kind: CgroupUnknown}
}
