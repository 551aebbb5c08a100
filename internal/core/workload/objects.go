// SPDX-License-Identifier: Apache-2.0

package workload

// Node is what gputally needs of a core/v1 Node. Allocatable and Capacity are
// whole numbers by resource: cpu in thousandths of a core, memory and storage
// in bytes, everything else as a count.
type Node struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	ProviderID  string            `json:"provider_id,omitempty"`
	Allocatable map[string]int64  `json:"allocatable,omitempty"`
	Capacity    map[string]int64  `json:"capacity,omitempty"`
	// Taints are those that keep pods away: "KEY=VALUE:EFFECT", in order, without those
	// of node.kubernetes.io, which come and go.
	Taints []string `json:"taints,omitempty"`
	// Unschedulable: the scheduler may not put pods on it (cordoned).
	Unschedulable bool `json:"unschedulable,omitempty"`
	// CreatedMS is when the object was made, Unix milliseconds; 0 where nobody
	// says it.
	CreatedMS int64 `json:"created_ms,omitempty"`
}

// Claim is what gputally needs of a resource.k8s.io ResourceClaim.
type Claim struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	// Allocated is false while the claim has no allocation.
	Allocated bool              `json:"allocated,omitempty"`
	Results   []ClaimResult     `json:"results,omitempty"`
	Reserved  []ClaimConsumer   `json:"reserved,omitempty"`
	Requests  []ClaimRequest    `json:"requests,omitempty"`
	Sharing   string            `json:"sharing,omitempty"` // GpuConfig sharing.strategy: TimeSlicing, MPS
	Labels    map[string]string `json:"labels,omitempty"`
}

// ClaimRequest is one request of a claim's spec.
type ClaimRequest struct {
	Name        string `json:"name"`
	AdminAccess bool   `json:"admin_access,omitempty"`
}

// ClaimResult is one allocated device of a claim.
type ClaimResult struct {
	Request string `json:"request,omitempty"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
	// AdminAccess: the device is observed, not consumed.
	AdminAccess bool `json:"admin_access,omitempty"`
	// ShareID and ConsumedMemory belong to consumable capacity; the memory is
	// in bytes, nil where the result names none.
	ShareID        string  `json:"share_id,omitempty"`
	ConsumedMemory *uint64 `json:"consumed_memory,omitempty"`
}

// ClaimConsumer is an entry of status.reservedFor that names a pod.
type ClaimConsumer struct {
	Pod string `json:"pod"`
	UID string `json:"uid"`
}

// Slice is what gputally needs of a resource.k8s.io ResourceSlice.
type Slice struct {
	Name       string        `json:"name"`
	Driver     string        `json:"driver"`
	Pool       string        `json:"pool"`
	Generation int64         `json:"generation"`
	Node       string        `json:"node,omitempty"`
	Devices    []SliceDevice `json:"devices,omitempty"`
}

// SliceDevice is one device of a slice. Type is gpu, mig or vfio; UUID is
// empty for a MIG device that exists only once it is prepared.
type SliceDevice struct {
	Name        string  `json:"name"`
	Type        string  `json:"type,omitempty"`
	UUID        string  `json:"uuid,omitempty"`
	ParentUUID  string  `json:"parent_uuid,omitempty"`
	Profile     string  `json:"profile,omitempty"`
	Product     string  `json:"product,omitempty"`
	MemoryBytes *uint64 `json:"memory_bytes,omitempty"`
	// Multiple is allowMultipleAllocations (consumable capacity).
	Multiple bool `json:"multiple,omitempty"`
	// Stale is set by SliceIndex on a device that the newest generation of
	// its pool no longer lists under this name; no slice says it.
	Stale bool `json:"-"`
}
