// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/workload"
)

// devicesInOrder is the kubelet's list with each container's resources and
// their ids in order: they are sets, and the kubelet answers them in any order,
// every time anew. The sample's own list stays as it is.
func devicesInOrder(pods []workload.PodResources) []workload.PodResources {
	owned := false
	for i := range pods {
		if !slices.ContainsFunc(pods[i].Containers, outOfOrder) {
			continue
		}
		if !owned {
			pods, owned = slices.Clone(pods), true
		}
		pods[i].Containers = slices.Clone(pods[i].Containers)
		for c := range pods[i].Containers {
			sortDevices(&pods[i].Containers[c])
		}
	}
	return pods
}

func outOfOrder(c workload.ContainerResources) bool {
	return !slices.IsSortedFunc(c.Devices, compareDevices) ||
		slices.ContainsFunc(c.Devices, func(d workload.ResourceDevices) bool { return !slices.IsSorted(d.IDs) })
}

func sortDevices(c *workload.ContainerResources) {
	c.Devices = slices.Clone(c.Devices)
	for d := range c.Devices {
		c.Devices[d].IDs = slices.Sorted(slices.Values(c.Devices[d].IDs))
	}
	slices.SortFunc(c.Devices, compareDevices)
}

func compareDevices(a, b workload.ResourceDevices) int {
	return cmp.Or(strings.Compare(a.Resource, b.Resource), slices.Compare(a.IDs, b.IDs))
}
