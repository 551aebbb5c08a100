// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"
)

// ResourceGPU is the extended resource of NVIDIA's device plugin.
const ResourceGPU = "nvidia.com/gpu"

// gpuDriver is NVIDIA's DRA driver of GPUs and MIG devices. Its other one,
// compute-domain.nvidia.com, hands out channels between nodes and no GPU.
const gpuDriver = "gpu.nvidia.com"

// IsGPUDriver reports whether a DRA driver hands out GPUs.
func IsGPUDriver(driver string) bool { return driver == gpuDriver }

// otherVendors are resources that count NVIDIA GPUs under other names: AWS'
// virtual GPU plugin, and those which the API server makes of NVIDIA's device
// classes (a class without a name of its own for its extended resource).
var otherVendors = []string{
	"k8s.amazonaws.com/vgpu",
	"deviceclass.resource.kubernetes.io/gpu.nvidia.com",
	"deviceclass.resource.kubernetes.io/mig.nvidia.com",
	"deviceclass.resource.kubernetes.io/vfio.gpu.nvidia.com",
}

// notGPUs are the resources under nvidia.com/ that count something else: parts
// of HAMi's request (memory, cores, priority), and network adapters.
var notGPUs = []string{"gpumem", "gpucores", "gpumem-percentage", "priority", "hostdev"}

// notGPUPrefixes begin the names of the network operator's resources.
var notGPUPrefixes = []string{"rdma", "sriov", "mlnx"}

// IsGPUResource reports whether an extended resource counts GPUs or parts of
// them, so that the ids a kubelet lists for it are device ids. Under nvidia.com/
// an operator can give the plugin any name by product, so whatever is not known
// to be something else is a GPU there; extra names further resources.
//
// The resources of annotation schedulers (volcano.sh/vgpu-memory,
// aliyun.com/gpu-mem and so on) are none: their ids name no device.
func IsGPUResource(resource string, extra ...string) bool {
	if slices.Contains(extra, resource) || slices.Contains(otherVendors, resource) {
		return true
	}
	name, ok := strings.CutPrefix(resource, "nvidia.com/")
	if !ok || name == "" || slices.Contains(notGPUs, name) {
		return false
	}
	return !slices.ContainsFunc(notGPUPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
