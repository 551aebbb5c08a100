// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"regexp"
	"strconv"
)

// The types of device of NVIDIA's DRA driver, as in the attribute "type".
const (
	DRAGPU  = "gpu"
	DRAMIG  = "mig"
	DRAVFIO = "vfio"
)

// DRAName is a device name of NVIDIA's DRA driver, taken apart. It is how a MIG
// device is found that exists only once it is prepared: its slice has no UUID.
type DRAName struct {
	// Type is one of the DRA constants.
	Type string `json:"type"`
	// Minor is the minor number of the GPU, or of the MIG device's parent;
	// Index is the number of a vfio device.
	Minor uint32 `json:"minor"`
	Index uint32 `json:"index,omitempty"`
	// Profile is the MIG profile without its dots and with "-" for "+"
	// (1g10gb, 1g10gb-me); empty in the older form.
	Profile string `json:"profile,omitempty"`
	// ProfileID is NVML's GPU instance profile id, Start the first memory
	// slice, Size the number of slices; 0 in the newer form, which omits it.
	ProfileID uint32 `json:"profile_id,omitempty"`
	Start     uint32 `json:"start,omitempty"`
	Size      uint32 `json:"size,omitempty"`
}

const ordinal = `(0|[1-9][0-9]{0,8})`

var (
	draGPU  = regexp.MustCompile(`^gpu-` + ordinal + `$`)
	draVFIO = regexp.MustCompile(`^gpu-vfio-` + ordinal + `$`)
	draOld  = regexp.MustCompile(`^gpu-` + ordinal + `-mig-` + ordinal + `-` + ordinal + `-` + ordinal + `$`)
	draMIG  = regexp.MustCompile(`^gpu-` + ordinal + `-mig-((?:[0-9]+c)?[0-9]+g[0-9]+gb[a-z0-9-]*)-` + ordinal + `-` + ordinal + `$`)
)

// ParseDRADeviceName takes a device name of gpu.nvidia.com apart:
//
//	gpu-<minor>
//	gpu-<minor>-mig-<profile>-<profile id>-<placement start>
//	gpu-<minor>-mig-<profile id>-<placement start>-<placement size>   (older)
//	gpu-vfio-<index>
//
// These are the driver's CanonicalName methods (dra-driver-nvidia-gpu,
// cmd/gpu-kubelet-plugin: deviceinfo.go, mig.go).
func ParseDRADeviceName(name string) (DRAName, bool) {
	if m := draGPU.FindStringSubmatch(name); m != nil {
		return DRAName{Type: DRAGPU, Minor: ordinalOf(m[1])}, true
	}
	if m := draVFIO.FindStringSubmatch(name); m != nil {
		return DRAName{Type: DRAVFIO, Index: ordinalOf(m[1])}, true
	}
	if m := draOld.FindStringSubmatch(name); m != nil {
		return DRAName{Type: DRAMIG, Minor: ordinalOf(m[1]), ProfileID: ordinalOf(m[2]), Start: ordinalOf(m[3]), Size: ordinalOf(m[4])}, true
	}
	if m := draMIG.FindStringSubmatch(name); m != nil {
		return DRAName{Type: DRAMIG, Minor: ordinalOf(m[1]), Profile: m[2], ProfileID: ordinalOf(m[3]), Start: ordinalOf(m[4])}, true
	}
	return DRAName{}, false
}

// ordinalOf reads digits which a pattern has bounded to nine.
func ordinalOf(digits string) uint32 {
	n, _ := strconv.ParseUint(digits, 10, 32)
	return uint32(n)
}
