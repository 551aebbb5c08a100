// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"encoding/json"
	"maps"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// Claim keeps of a ResourceClaim what gputally needs.
func Claim(c *resourcev1.ResourceClaim) workload.Claim {
	out := workload.Claim{
		Namespace: c.Namespace,
		Name:      c.Name,
		UID:       string(c.UID),
		Labels:    maps.Clone(c.Labels),
		Requests:  claimRequests(c.Spec.Devices.Requests),
		Sharing:   specSharing(c.Spec.Devices.Config),
		Reserved:  consumers(c.Status.ReservedFor),
	}
	if a := c.Status.Allocation; a != nil {
		out.Allocated = true
		out.Results = claimResults(a.Devices.Results)
		if s := allocatedSharing(a.Devices.Config); s != "" {
			out.Sharing = s
		}
	}
	return out
}

func claimRequests(requests []resourcev1.DeviceRequest) []workload.ClaimRequest {
	var out []workload.ClaimRequest
	for _, r := range requests {
		admin := r.Exactly != nil && deref(r.Exactly.AdminAccess)
		out = append(out, workload.ClaimRequest{Name: r.Name, AdminAccess: admin})
	}
	return out
}

func claimResults(results []resourcev1.DeviceRequestAllocationResult) []workload.ClaimResult {
	var out []workload.ClaimResult
	for _, r := range results {
		out = append(out, workload.ClaimResult{
			Request:        r.Request,
			Driver:         r.Driver,
			Pool:           r.Pool,
			Device:         r.Device,
			AdminAccess:    deref(r.AdminAccess),
			ShareID:        string(deref(r.ShareID)),
			ConsumedMemory: consumedMemory(r),
		})
	}
	return out
}

// consumedMemory is consumedCapacity's memory, with or without the driver's
// domain before the name; nil where the result names none.
func consumedMemory(r resourcev1.DeviceRequestAllocationResult) *uint64 {
	q, ok := qualified(r.ConsumedCapacity, r.Driver, "memory")
	if !ok {
		return nil
	}
	return bytesOf(q)
}

func consumers(refs []resourcev1.ResourceClaimConsumerReference) []workload.ClaimConsumer {
	var out []workload.ClaimConsumer
	for _, r := range refs {
		if r.Resource == "pods" && r.APIGroup == "" {
			out = append(out, workload.ClaimConsumer{Pod: r.Name, UID: string(r.UID)})
		}
	}
	return out
}

func specSharing(config []resourcev1.DeviceClaimConfiguration) string {
	strategy := ""
	for _, c := range config {
		if s := sharingStrategy(c.Opaque); s != "" {
			strategy = s
		}
	}
	return strategy
}

// allocatedSharing is the strategy that the driver will use: of several
// settings the claim's win over the class's, and later ones over earlier.
func allocatedSharing(config []resourcev1.DeviceAllocationConfiguration) string {
	class, claim := "", ""
	for _, c := range config {
		s := sharingStrategy(c.Opaque)
		switch {
		case s == "":
		case c.Source == resourcev1.AllocationConfigSourceClass:
			class = s
		default:
			claim = s
		}
	}
	if claim != "" {
		return claim
	}
	return class
}

// sharingStrategy reads sharing.strategy out of a GpuConfig or
// MigDeviceConfig of a GPU driver, "" where there is none.
func sharingStrategy(o *resourcev1.OpaqueDeviceConfiguration) string {
	if o == nil || !workload.IsGPUDriver(o.Driver) {
		return ""
	}
	var config struct {
		Sharing struct {
			Strategy string `json:"strategy"`
		} `json:"sharing"`
	}
	// The driver's own format may change: what cannot be read says nothing.
	if err := json.Unmarshal(o.Parameters.Raw, &config); err != nil {
		return ""
	}
	return config.Sharing.Strategy
}
