// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// Pods converts an answer of List, in its order.
func Pods(answer *podresourcesv1.ListPodResourcesResponse) []workload.PodResources {
	var out []workload.PodResources
	for _, p := range answer.GetPodResources() {
		pod := workload.PodResources{Namespace: p.GetNamespace(), Name: p.GetName()}
		for _, c := range p.GetContainers() {
			pod.Containers = append(pod.Containers, workload.ContainerResources{
				Name:    c.GetName(),
				Devices: Devices(c.GetDevices()),
				Dynamic: claims(c.GetDynamicResources()),
			})
		}
		out = append(out, pod)
	}
	return out
}

// Devices converts device plugin ids, in the order of the answer.
func Devices(devices []*podresourcesv1.ContainerDevices) []workload.ResourceDevices {
	var out []workload.ResourceDevices
	for _, d := range devices {
		out = append(out, workload.ResourceDevices{Resource: d.GetResourceName(), IDs: d.GetDeviceIds()})
	}
	return out
}

// claims converts DRA devices. Their CDI names are left out on purpose: the
// kubelet lists with each device also those of the devices before it.
func claims(resources []*podresourcesv1.DynamicResource) []workload.ClaimDevices {
	var out []workload.ClaimDevices
	for _, r := range resources {
		claim := workload.ClaimDevices{Namespace: r.GetClaimNamespace(), Name: r.GetClaimName()}
		for _, d := range r.GetClaimResources() {
			claim.Devices = append(claim.Devices, workload.ClaimDevice{
				Driver:  d.GetDriverName(),
				Pool:    d.GetPoolName(),
				Device:  d.GetDeviceName(),
				ShareID: d.GetShareId(),
			})
		}
		out = append(out, claim)
	}
	return out
}
