// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"slices"
	"strings"
)

// nvidiaRuntime: the pod asks for NVIDIA's runtime: by one of the names that
// NVIDIA's operator and toolkit give it, or by a RuntimeClass of the input.
func (s *scan) nvidiaRuntime(w *Workload) bool {
	name := w.Pod.RuntimeClass.Value
	for _, c := range s.in.RuntimeClasses {
		if c.Name == name {
			return isNVIDIA(c.Handler)
		}
	}
	return isNVIDIA(name)
}

func isNVIDIA(name string) bool { return name == "nvidia" || strings.HasPrefix(name, "nvidia-") }

// checkRuntime: GT-G004.
func checkRuntime(v *view) []Finding {
	if !v.runtime || v.asks || v.refuses() {
		return nil
	}
	return v.finding(Runtime, High, v.w.Pod.RuntimeClass, fmt.Sprintf("runs with runtime class %s and asks for no GPU", v.w.Pod.RuntimeClass.Value))
}

// checkPrivileged: GT-G005.
func checkPrivileged(v *view) []Finding {
	if !v.privileged {
		return nil
	}
	switch {
	case v.asks:
		return v.finding(Privileged, High, v.c.Privileged, "is privileged: reaches every GPU of its node, not only those it asks for")
	case v.meansGPU():
		return v.finding(Privileged, High, v.c.Privileged, "is privileged in a pod that has to do with GPUs: reaches every GPU of its node")
	case v.w.told().Kind == "DaemonSet":
		return v.finding(Privileged, Low, v.c.Privileged, "is privileged on every node, GPU nodes too")
	}
	return v.finding(Privileged, Medium, v.c.Privileged, "is privileged: reaches every GPU of the node it comes to run on")
}

// meansGPU: something beside being privileged says that the container is about GPUs.
func (v *view) meansGPU() bool {
	return v.runtime || v.givesGPUs() || v.devices.certainty == unknown || v.usesMPS() || slices.ContainsFunc(v.mounts, hostMount.aboutGPUs)
}

// podFindings are those about a whole pod: GT-G009.
func (s *scan) podFindings(w *Workload) []Finding {
	var out []Finding
	severity := Medium
	if s.nvidiaRuntime(w) {
		severity = High
	}
	for _, n := range w.PodNotes {
		if strings.HasPrefix(n.Key, "cdi.k8s.io/") && namesGPU(n.Value.Value) {
			out = append(out, w.finding(CDIAnnotation, severity, n.Value, fmt.Sprintf("annotation %s names CDI devices %s", n.Key, n.Value.Value)))
		}
	}
	return out
}

// namesGPU: one of the CDI devices, vendor/class=name, is NVIDIA's or a GPU. What
// is no such name is taken for one: it cannot be told.
func namesGPU(devices string) bool {
	for _, d := range strings.Split(devices, ",") {
		kind, _, ok := strings.Cut(strings.TrimSpace(d), "=")
		vendor, class, two := strings.Cut(kind, "/")
		if strings.TrimSpace(d) != "" && (!ok || !two || strings.Contains(vendor, "nvidia") || strings.Contains(class, "gpu")) {
			return true
		}
	}
	return false
}

// mpsEnv is a variable of MPS that the spec sets.
func (v *view) mpsEnv() (Text, bool) {
	for _, e := range v.c.Env {
		if strings.HasPrefix(e.Name, mpsPrefix) {
			return e.Value, true
		}
	}
	got := v.env.get(mpsPipe)
	return got.at, got.certainty == known
}

// usesMPS: a variable or a mount of the container is about MPS.
func (v *view) usesMPS() bool {
	_, set := v.mpsEnv()
	return set || slices.ContainsFunc(v.mounts, func(m hostMount) bool { return m.kind == mpsDir })
}

// checkHostNamespace: GT-G010.
func checkHostNamespace(v *view) []Finding {
	pod := v.w.Pod
	switch {
	case !v.usesMPS():
		return nil
	case pod.HostIPC.True():
		severity := High
		if v.asks {
			severity = Medium
		}
		return v.finding(HostNamespace, severity, pod.HostIPC, "uses MPS with the IPC namespace of its node")
	case pod.HostPID.True():
		return v.finding(HostNamespace, Medium, pod.HostPID, "uses MPS with the process namespace of its node")
	}
	return nil
}
