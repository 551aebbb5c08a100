// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// pathKind is what a directory of a node holds, as far as GPUs go.
type pathKind int

const (
	otherDir  pathKind = iota
	broadDir           // holds all devices among much else
	deviceDir          // GPU device files
	driverDir          // the driver's libraries, tools and sockets
	cdiDir             // specifications of CDI devices
	mpsDir             // pipes of an MPS daemon
)

// places are the paths of a node that matter, most telling first. Each stands
// for what is below it, too. /var/run is /run.
var places = []struct {
	path string
	kind pathKind
}{
	{"/run/nvidia/mps", mpsDir}, {"/tmp/nvidia-mps", mpsDir},
	{"/dev/dri", deviceDir}, {"/dev/char", deviceDir},
	{"/run/nvidia/driver/dev", deviceDir},
	{"/proc/driver/nvidia", driverDir}, {"/run/nvidia", driverDir}, {"/run/nvidia-persistenced", driverDir},
	{"/run/nvidia-fabricmanager", driverDir}, {"/usr/local/nvidia", driverDir}, {"/opt/nvidia", driverDir},
	{"/home/kubernetes/bin/nvidia", driverDir}, {"/usr/lib/nvidia", driverDir},
	{"/etc/cdi", cdiDir}, {"/run/cdi", cdiDir},
}

// kindOf says what the path of a node holds. It must be clean (see onNode).
func kindOf(p string) pathKind {
	if p == "/" || p == "/dev" {
		return broadDir
	}
	if strings.HasPrefix(p, "/dev/nvidia") {
		return deviceDir
	}
	for _, at := range places {
		if p == at.path || strings.HasPrefix(p, at.path+"/") {
			return at.kind
		}
	}
	return otherDir
}

// onNode is the clean path of a node that a mount shows.
func onNode(hostPath, subPath string) string {
	p := path.Clean("/" + hostPath + "/" + subPath)
	if p == "/var/run" || strings.HasPrefix(p, "/var/run/") {
		p = strings.TrimPrefix(p, "/var")
	}
	return p
}

// hostMount is a directory of the node inside a container.
type hostMount struct {
	path     string // on the node
	kind     pathKind
	at       Text   // the volume's hostPath
	inside   string // the path in the container
	readOnly bool
}

// aboutGPUs: the directory is there for GPUs and little else.
func (m hostMount) aboutGPUs() bool {
	return m.kind != otherDir && m.kind != broadDir && m.kind != cdiDir
}

// hostMounts are the directories of the node that the container mounts. A volume
// that no container mounts reaches nothing.
func hostMounts(w *Workload, c *Container) []hostMount {
	var out []hostMount
	for _, m := range c.Mounts {
		i := slices.IndexFunc(w.Pod.Volumes, func(v Volume) bool { return v.Name == m.Volume })
		if i < 0 || !w.Pod.Volumes[i].HostPath.Given {
			continue
		}
		at := w.Pod.Volumes[i].HostPath
		p := onNode(at.Value, m.SubPath)
		out = append(out, hostMount{path: p, kind: kindOf(p), at: at, inside: path.Clean(m.Path.Value), readOnly: m.ReadOnly})
	}
	return out
}

// checkDeviceMount: GT-G006.
func checkDeviceMount(v *view) []Finding {
	var out []Finding
	for _, m := range v.mounts {
		if m.kind == deviceDir || m.kind == broadDir {
			out = append(out, v.finding(DeviceMount, v.deviceSeverity(m), m.at, fmt.Sprintf("mounts %s of its node, with %s", m.path, devicesIn(m)))...)
		}
	}
	return out
}

func devicesIn(m hostMount) string {
	if m.kind == broadDir {
		return "the device files of all GPUs among others"
	}
	return "device files of GPUs"
}

func (v *view) deviceSeverity(m hostMount) Severity {
	switch {
	case m.kind == broadDir && (!v.privileged || v.w.told().Kind == "DaemonSet" && !v.asks && !v.meansGPU()):
		return Low
	case m.kind == deviceDir && v.privileged:
		return High
	}
	return Medium
}

// checkDriverMount: GT-G007.
func checkDriverMount(v *view) []Finding {
	var out []Finding
	for _, m := range v.mounts {
		what := "the driver of its node"
		severity := Low
		switch {
		case m.kind != driverDir && m.kind != cdiDir:
			continue
		case m.kind == cdiDir:
			what = "the CDI specifications of its node"
			if !m.readOnly {
				severity = Medium
			}
		}
		if v.privileged {
			severity = High
		}
		out = append(out, v.finding(DriverMount, severity, m.at, fmt.Sprintf("mounts %s: %s", m.path, what))...)
	}
	return out
}

// checkMPS: GT-G008. The mount tells more than the variable and counts first.
func checkMPS(v *view) []Finding {
	pipe := v.env.get(mpsPipe)
	severity := High
	if v.asks {
		severity = Medium
	}
	for _, m := range v.mounts {
		if m.kind == mpsDir || pipe.certainty == known && m.inside != "/" && within(pipe.value, m.inside) {
			return v.finding(MPSDaemon, severity, m.at, fmt.Sprintf("mounts the pipes of an MPS daemon of its node, %s", m.path))
		}
	}
	if pipe.certainty != known && pipe.certainty != unknown || pipe.certainty == known && (pipe.value == "" || v.ownVolume(pipe.value)) {
		return nil
	}
	at := pipe.at
	if pipe.certainty == known {
		at = valued(pipe)
	}
	return v.finding(MPSDaemon, Medium, at, "names the pipes of an MPS daemon by "+mpsPipe)
}

// ownVolume: the path lies in a volume that is not of the node: the pod's own daemon.
func (v *view) ownVolume(p string) bool {
	for _, m := range v.c.Mounts {
		i := slices.IndexFunc(v.w.Pod.Volumes, func(vol Volume) bool { return vol.Name == m.Volume })
		if i >= 0 && !v.w.Pod.Volumes[i].HostPath.Given && within(p, m.Path.Value) {
			return true
		}
	}
	return false
}

// within: p is dir or below it.
func within(p, dir string) bool {
	p, dir = path.Clean("/"+p), path.Clean("/"+dir)
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// deviceListDir is where the toolkit looks for mounts that are named for GPUs.
const deviceListDir = "/run/nvidia-container-devices"

// checkDeviceList: GT-G011. What is mounted does not matter, only where.
func checkDeviceList(v *view) []Finding {
	for _, m := range v.c.Mounts {
		name, ok := strings.CutPrefix(onNode(m.Path.Value, ""), deviceListDir+"/")
		if !ok || name == "" {
			continue
		}
		severity := High
		switch {
		case v.asks:
			severity = Medium
		case v.privileged:
			severity = Critical
		}
		return v.finding(DeviceList, severity, m.Path, "asks the toolkit for GPU "+name+" by the path of a mount")
	}
	return nil
}
