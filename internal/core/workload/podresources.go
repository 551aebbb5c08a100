// SPDX-License-Identifier: Apache-2.0

package workload

// PodResources is one pod in the answer of the kubelet's PodResources List.
// The kubelet gives no UID, and no plain init or ephemeral containers.
type PodResources struct {
	Namespace  string               `json:"namespace"`
	Name       string               `json:"name"`
	Containers []ContainerResources `json:"containers,omitempty"`
}

// ContainerResources is what the kubelet handed to one container.
type ContainerResources struct {
	Name    string            `json:"name"`
	Devices []ResourceDevices `json:"devices,omitempty"`
	Dynamic []ClaimDevices    `json:"dynamic_resources,omitempty"`
}

// ResourceDevices are device plugin ids of one resource.
type ResourceDevices struct {
	Resource string   `json:"resource_name"`
	IDs      []string `json:"device_ids"`
}

// ClaimDevices are the devices of one ResourceClaim as the kubelet prepared
// them. Devices is empty while preparation is pending or failed.
type ClaimDevices struct {
	Namespace string        `json:"claim_namespace"`
	Name      string        `json:"claim_name"`
	Devices   []ClaimDevice `json:"claim_resources,omitempty"`
}

// ClaimDevice is a driver, pool and device, which a ResourceSlice resolves.
type ClaimDevice struct {
	Driver  string `json:"driver_name"`
	Pool    string `json:"pool_name"`
	Device  string `json:"device_name"`
	ShareID string `json:"share_id,omitempty"`
}
