// SPDX-License-Identifier: Apache-2.0

package workload

import "github.com/gputally/gputally/internal/core/gpu"

// DeviceForm is which spelling of a device id the kubelet handed out.
type DeviceForm string

// The forms of domain-facts §3.2.
const (
	FormUUID      DeviceForm = "uuid"       // GPU-<uuid>, with ::n when shared
	FormMIG       DeviceForm = "mig"        // MIG-<uuid>, with ::n when shared
	FormLegacyMIG DeviceForm = "legacy_mig" // MIG-GPU-<uuid>/<gi>/<ci>
	FormMinor     DeviceForm = "minor"      // nvidia<minor>[/gi<n>][/vgpu<n>]
	FormHAMiSlot  DeviceForm = "hami_slot"  // GPU-<uuid>-<n>
	FormAll       DeviceForm = "all"        // WSL: every GPU
	FormOpaque    DeviceForm = "opaque"     // anything else
)

// DeviceID is a device plugin's id, taken apart.
type DeviceID struct {
	Form DeviceForm `json:"form"`
	// UUID is GPU-… or MIG-…; of a legacy MIG id it is the parent's GPU-….
	UUID gpu.UUID `json:"uuid,omitempty"`
	// Minor is the number of /dev/nvidia<minor>.
	Minor *int `json:"minor,omitempty"`
	// Instance and Compute are the GPU instance and compute instance ids.
	Instance *uint32 `json:"instance,omitempty"`
	Compute  *uint32 `json:"compute,omitempty"`
	// Replica is the text after "::", the vgpu number, or HAMi's slot.
	Replica string `json:"replica,omitempty"`
	// Shared is true when the id had such a part.
	Shared bool `json:"shared,omitempty"`
}

// ParseDeviceID takes a device id apart; what it does not know is FormOpaque.
func ParseDeviceID(id string) DeviceID { return DeviceID{Form: FormOpaque} }
