// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"strings"
)

// gpuResources begin the names of resources that stand for NVIDIA GPUs or
// shares of them: those of NVIDIA's device plugin and HAMi, Volcano, Koordinator,
// Aliyun's gpushare, open-gpu-share, Tencent's gpu-manager.
var gpuResources = []string{
	"nvidia.com/", "volcano.sh/vgpu-", "volcano.sh/gpu-", "koordinator.sh/gpu",
	"aliyun.com/gpu-", "alibabacloud.com/gpu-", "tencent.com/vcuda-",
}

// notGPUs are resources with such a name that are no GPU.
var notGPUs = []string{"nvidia.com/priority", "nvidia.com/hostdev", "nvidia.com/rdma", "nvidia.com/nic"}

// The annotations by which a pod asks the KAI scheduler for a share; the pod
// itself names no resource.
const (
	kaiFraction  = "gpu-fraction"
	kaiMemory    = "gpu-memory"
	kaiContainer = "gpu-fraction-container-name"
)

// defaultScheduler is the scheduler of a pod that names none. It knows nothing
// of KAI's annotations, so that a pod cannot excuse itself by writing them.
const defaultScheduler = "default-scheduler"

// asks: the container asks for a GPU: a resource of more than 0, a claim, or a
// share from the KAI scheduler. "nvidia.com/gpu: 0" asks for none.
func (s *scan) asks(w *Workload, c *Container) bool {
	if len(c.Claims) > 0 {
		return true
	}
	for _, a := range c.Amounts {
		if s.isGPU(a.Resource) && moreThanZero(a.Value.Value) {
			return true
		}
	}
	return w.kaiContainer() == c.Field
}

func (s *scan) isGPU(resource string) bool {
	if slices.Contains(s.policy.Resources, resource) {
		return true
	}
	starts := func(prefix string) bool { return strings.HasPrefix(resource, prefix) }
	return slices.ContainsFunc(gpuResources, starts) && !slices.ContainsFunc(notGPUs, starts)
}

// moreThanZero: a quantity is above 0. It need not be one that Kubernetes
// takes: the API server refuses it where it is not.
func moreThanZero(quantity string) bool {
	number := strings.TrimRight(quantity, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		number = number[:i]
	}
	return strings.ContainsAny(number, "123456789") && !strings.HasPrefix(number, "-")
}

// kaiContainer is the field of the container that gets the pod's share from the
// KAI scheduler: the one it names, or the first that is no init container. It is
// empty where the pod asks for none.
func (w *Workload) kaiContainer() string {
	scheduler := w.Pod.Scheduler
	if !scheduler.Given || scheduler.Value == defaultScheduler || scheduler.Value == "" {
		return ""
	}
	if !moreThanZero(w.note(kaiFraction).Value) && !moreThanZero(w.note(kaiMemory).Value) {
		return ""
	}
	name := w.note(kaiContainer)
	for _, c := range w.Pod.Containers {
		if name.Given && c.Name == name.Value || !name.Given && c.Role == Main {
			return c.Field
		}
	}
	return ""
}

// note is an annotation that the workload's pods get.
func (w *Workload) note(key string) Text {
	for _, n := range w.PodNotes {
		if n.Key == key {
			return n.Value
		}
	}
	return Text{}
}
