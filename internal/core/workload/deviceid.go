// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// DeviceForm is which spelling of a device id the kubelet handed out.
type DeviceForm string

// The forms that device plugins are known to use.
const (
	FormUUID      DeviceForm = "uuid"       // NVIDIA: GPU-<uuid>, with ::n when shared
	FormMIG       DeviceForm = "mig"        // NVIDIA: MIG-<uuid>, with ::n when shared
	FormLegacyMIG DeviceForm = "legacy_mig" // drivers before R470: MIG-GPU-<uuid>/<gi>/<ci>
	FormMinor     DeviceForm = "minor"      // GKE: nvidia<minor>[/gi<n>][/vgpu<n>]
	FormHAMiSlot  DeviceForm = "hami_slot"  // HAMi: GPU-<uuid>-<n>
	FormAll       DeviceForm = "all"        // NVIDIA on WSL: every GPU
	FormOpaque    DeviceForm = "opaque"     // anything else
)

// DeviceID is a device plugin's id, taken apart.
type DeviceID struct {
	Form DeviceForm `json:"form"`
	// UUID is GPU-… or MIG-…; of a legacy MIG id it is the parent's GPU-….
	UUID gpu.UUID `json:"uuid,omitempty"`
	// Minor is the number of /dev/nvidia<minor>, which is not NVML's index.
	Minor *int `json:"minor,omitempty"`
	// Instance and Compute are the GPU instance and compute instance ids.
	Instance *uint32 `json:"instance,omitempty"`
	Compute  *uint32 `json:"compute,omitempty"`
	// Replica is the text after "::", the vgpu number, or HAMi's slot.
	Replica string `json:"replica,omitempty"`
	// Shared is true when the id had such a part.
	Shared bool `json:"shared,omitempty"`
}

const uuidPattern = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`

var (
	legacyMIGID = regexp.MustCompile(`^MIG-(GPU-` + uuidPattern + `)/(\d+)/(\d+)$`)
	migID       = regexp.MustCompile(`^MIG-` + uuidPattern + `$`)
	minorID     = regexp.MustCompile(`^nvidia(\d+)(?:/gi(\d+))?(?:/vgpu(\d+))?$`)
	gpuID       = regexp.MustCompile(`^(GPU-` + uuidPattern + `)(?:-(\d+))?$`)
)

// ParseDeviceID takes a device id apart. What it does not know is FormOpaque,
// which is no error: the caller may still know the node's only partition.
//
// A UUID has a fixed length, so that HAMi's slot number (one dash) can be told
// from it. HAMi's slot is an entry of a pool and says nothing of the device in
// use; its annotation does (HAMiShares).
func ParseDeviceID(id string) DeviceID {
	device, replica, shared := strings.Cut(id, "::")
	d := deviceForm(device)
	if shared {
		d.Replica, d.Shared = replica, true
	}
	return d
}

func deviceForm(id string) DeviceID {
	if id == "all" {
		return DeviceID{Form: FormAll}
	}
	if m := legacyMIGID.FindStringSubmatch(id); m != nil {
		return legacyMIG(m)
	}
	if migID.MatchString(id) {
		return DeviceID{Form: FormMIG, UUID: gpu.UUID(id)}
	}
	if m := minorID.FindStringSubmatch(id); m != nil {
		return minorForm(m)
	}
	if m := gpuID.FindStringSubmatch(id); m != nil {
		if m[2] != "" {
			return DeviceID{Form: FormHAMiSlot, UUID: gpu.UUID(m[1]), Replica: m[2], Shared: true}
		}
		return DeviceID{Form: FormUUID, UUID: gpu.UUID(m[1])}
	}
	return DeviceID{Form: FormOpaque}
}

func legacyMIG(m []string) DeviceID {
	gi, ci := instanceID(m[2]), instanceID(m[3])
	if gi == nil || ci == nil {
		return DeviceID{Form: FormOpaque}
	}
	return DeviceID{Form: FormLegacyMIG, UUID: gpu.UUID(m[1]), Instance: gi, Compute: ci}
}

func minorForm(m []string) DeviceID {
	n, err := strconv.ParseUint(m[1], 10, 31)
	if err != nil {
		return DeviceID{Form: FormOpaque}
	}
	minor := int(n)
	d := DeviceID{Form: FormMinor, Minor: &minor, Replica: m[3], Shared: m[3] != ""}
	if m[2] == "" {
		return d
	}
	if d.Instance = instanceID(m[2]); d.Instance == nil {
		return DeviceID{Form: FormOpaque}
	}
	return d
}

// instanceID reads a GPU or compute instance id; the largest number is NVML's
// "none" (gpu.WholeDevice) and names no instance.
func instanceID(digits string) *uint32 {
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || uint32(n) == gpu.WholeDevice {
		return nil
	}
	id := uint32(n)
	return &id
}
