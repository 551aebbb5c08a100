// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// steering are the variables that tell GPU runtimes which devices to give.
var steering = map[string]bool{
	"NVIDIA_VISIBLE_DEVICES":  true,
	"CUDA_VISIBLE_DEVICES":    true,
	"CUDA_MPS_PIPE_DIRECTORY": true,
}

// containers lists the init, app and ephemeral containers of a pod, in the
// order of its spec.
func containers(p *corev1.Pod) []workload.Container {
	paths := hostPaths(p.Spec.Volumes)
	var all []workload.Container
	add := func(c corev1.Container, kind workload.ContainerKind, statuses []corev1.ContainerStatus) {
		all = append(all, container(c, kind, statuses, paths))
	}
	for _, c := range p.Spec.InitContainers {
		add(c, initKind(c), p.Status.InitContainerStatuses)
	}
	for _, c := range p.Spec.Containers {
		add(c, workload.ContainerApp, p.Status.ContainerStatuses)
	}
	for _, c := range p.Spec.EphemeralContainers {
		add(corev1.Container(c.EphemeralContainerCommon), workload.ContainerEphemeral, p.Status.EphemeralContainerStatuses)
	}
	return all
}

func initKind(c corev1.Container) workload.ContainerKind {
	if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		return workload.ContainerSidecar
	}
	return workload.ContainerInit
}

func container(c corev1.Container, kind workload.ContainerKind, statuses []corev1.ContainerStatus, paths map[string]string) workload.Container {
	out := workload.Container{
		Name:        c.Name,
		Kind:        kind,
		Image:       c.Image,
		Privileged:  c.SecurityContext != nil && deref(c.SecurityContext.Privileged),
		Env:         steeringEnv(c.Env),
		Limits:      extended(c.Resources),
		HostDevices: hostDevices(c.VolumeMounts, paths),
	}
	if q, ok := request(c.Resources, corev1.ResourceCPU); ok {
		out.CPUMilli = q.MilliValue()
	}
	if q, ok := request(c.Resources, corev1.ResourceMemory); ok {
		out.MemoryBytes = q.Value()
	}
	for _, s := range statuses {
		if s.Name == c.Name {
			setStatus(&out, s)
		}
	}
	return out
}

// setStatus takes the id and times from the current state, or where the
// container waits to be restarted, from the last one.
func setStatus(c *workload.Container, s corev1.ContainerStatus) {
	c.ID = bareID(s.ContainerID)
	state := s.State
	if state.Running == nil && state.Terminated == nil {
		state = s.LastTerminationState
	}
	switch {
	case state.Running != nil:
		c.Running = true
		c.StartedAt = timeOf(&state.Running.StartedAt)
	case state.Terminated != nil:
		c.StartedAt = timeOf(&state.Terminated.StartedAt)
		c.FinishedAt = timeOf(&state.Terminated.FinishedAt)
		if c.ID == "" {
			c.ID = bareID(state.Terminated.ContainerID)
		}
	}
}

// bareID drops the runtime's scheme: "containerd://0123…" to "0123…".
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

func steeringEnv(env []corev1.EnvVar) map[string]string {
	var kept map[string]string
	for _, e := range env {
		if !steering[e.Name] || e.ValueFrom != nil {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[e.Name] = e.Value
	}
	return kept
}

// hostPaths maps volume names to the host path they mount.
func hostPaths(volumes []corev1.Volume) map[string]string {
	paths := map[string]string{}
	for _, v := range volumes {
		if v.HostPath != nil {
			paths[v.Name] = v.HostPath.Path
		}
	}
	return paths
}

// hostDevices lists the mounted host paths that are /dev or an NVIDIA device
// node in it.
func hostDevices(mounts []corev1.VolumeMount, paths map[string]string) []string {
	var found []string
	for _, m := range mounts {
		host, ok := paths[m.Name]
		if !ok {
			continue
		}
		p := path.Join(host, m.SubPath)
		if p == "/dev" || strings.HasPrefix(p, "/dev/nvidia") {
			found = append(found, p)
		}
	}
	return found
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil || t.IsZero() {
		return nil
	}
	u := t.UTC()
	return &u
}
