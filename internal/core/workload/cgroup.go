// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"regexp"
	"strings"
)

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
	// CgroupUnit: a systemd unit of the host, or another named cgroup of it.
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
	// Unit is a systemd unit ("trainer.service"), or a user's slice and what
	// is below it ("user-1000.slice/session-2.scope"), or a cgroup's path.
	Unit string `json:"unit,omitempty"`
	// Monitor is true for conmon, which runs beside a container, not in it.
	// Outside a pod segment ContainerID then is the container it watches.
	Monitor bool `json:"monitor,omitempty"`
}

// podSegment matches the part of a path segment that names a pod: pod<uid> of
// the cgroupfs driver, or <parents>-pod<uid>.slice of the systemd driver, where
// "_" stands for "-" (kubelet's cgroup_manager_linux.go). The 32-digit form is
// a static pod's config hash. A ":" after it begins containerd's colon form.
var podSegment = regexp.MustCompile(
	`(?:^|-)pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:$|:)`)

// containerID matches the 64 hex digits of a container id in a path segment.
var containerID = regexp.MustCompile(`(?:^|[^0-9a-f])([0-9a-f]{64})(?:$|[^0-9a-f])`)

// ParseCgroup reads the whole text of /proc/PID/cgroup.
//
// Names of hierarchies and the order of their lines vary, and some controllers
// sit at "/": the first line with a pod segment decides, wherever in the path
// it is (kubelet's --cgroup-root, kind and nested cgroup namespaces put parents
// or "/../" before it). Without one, the first line with a container id does,
// then the first that names a unit or user of the host.
func ParseCgroup(text string) CgroupOwner {
	paths := cgroupPaths(text)
	for _, read := range []func([]string) (CgroupOwner, bool){podOwner, containerOwner, hostOwner, otherOwner} {
		for _, path := range paths {
			if owner, ok := read(path); ok {
				return owner
			}
		}
	}
	return CgroupOwner{Kind: CgroupUnknown}
}

// cgroupPaths are the paths of the text's lines, in segments. A line is
// "hierarchy:controllers:path", where the path may hold colons of its own and
// ends in " (deleted)" once its cgroup was removed (cgroup_namespaces(7)).
func cgroupPaths(text string) [][]string {
	var paths [][]string
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(line, "\r\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		path := strings.TrimSuffix(parts[2], " (deleted)")
		if s := named(strings.Split(path, "/")); len(s) > 0 {
			paths = append(paths, s)
		}
	}
	return paths
}

// named drops the segments that name nothing.
func named(segments []string) []string {
	var kept []string
	for _, s := range segments {
		if s != "" && s != "." && s != ".." {
			kept = append(kept, s)
		}
	}
	return kept
}

// podOwner reads a path with a pod segment. The container id is the first one
// after it: ids to the left are of a node that is itself a container (kind),
// ids to the right are of containers inside the pod's container.
func podOwner(path []string) (CgroupOwner, bool) {
	for i, segment := range path {
		m := podSegment.FindStringSubmatchIndex(segment)
		if m == nil {
			continue
		}
		owner := CgroupOwner{Kind: CgroupPod, PodUID: strings.ReplaceAll(segment[m[2]:m[3]], "_", "-")}
		rest := append([]string{segment[m[3]:]}, path[i+1:]...)
		for _, s := range rest {
			id, engine, monitor := container(s)
			if id == "" {
				continue
			}
			owner.Engine, owner.Monitor = engine, monitor
			if !monitor {
				owner.ContainerID = id
			}
			break
		}
		return owner, true
	}
	return CgroupOwner{}, false
}

// containerOwner reads a path without a pod segment that has a container id.
func containerOwner(path []string) (CgroupOwner, bool) {
	for i, segment := range path {
		id, engine, monitor := container(segment)
		if id == "" {
			continue
		}
		if engine == "" && i > 0 {
			engine = engineOf(path[i-1])
		}
		return CgroupOwner{Kind: CgroupContainer, ContainerID: id, Engine: engine, Monitor: monitor}, true
	}
	return CgroupOwner{}, false
}

// container takes a segment such as "cri-containerd-<id>.scope" apart.
func container(segment string) (id, engine string, monitor bool) {
	m := containerID.FindStringSubmatchIndex(segment)
	if m == nil {
		return "", "", false
	}
	prefix := segment[:m[2]]
	return segment[m[2]:m[3]], engineOf(prefix), strings.Contains(prefix, "conmon")
}

// engineOf finds the engine a container's scope or parent is named after.
func engineOf(text string) string {
	for _, e := range [][2]string{
		{"cri-containerd", "containerd"}, {"nerdctl", "containerd"},
		{"crio", "crio"}, {"libpod", "libpod"}, {"docker", "docker"},
	} {
		if strings.Contains(text, e[0]) {
			return e[1]
		}
	}
	return ""
}
