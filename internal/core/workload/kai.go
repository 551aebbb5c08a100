// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// KAI's annotations and labels (pkg/common/constants), some kept from Run:ai.
const (
	AnnotationKAIFraction  = "gpu-fraction"
	AnnotationKAIMemory    = "gpu-memory"
	AnnotationKAIDevices   = "gpu-fraction-num-devices"
	AnnotationKAIContainer = "gpu-fraction-container-name"
	AnnotationKAIReserved  = "run.ai/reserve_for_gpu_index"
	LabelKAIGroup          = "runai-gpu-group"

	// Newer releases name the memory per container:
	// nvidia.com/container.<name>.gpu-memory.request (or .limit).
	kaiContainerPrefix = "nvidia.com/container."
	kaiRequestSuffix   = ".gpu-memory.request"
	kaiLimitSuffix     = ".gpu-memory.limit"
)

// kaiNamespaces are where KAI, and Run:ai before it, keep reservation pods
// unless told otherwise.
var kaiNamespaces = []string{"kai-resource-reservation", "runai-reservation"}

// KAI is what the KAI scheduler gave a pod: a fraction or an amount of memory
// of one device in each of its groups. KAI enforces neither.
type KAI struct {
	// Groups names the groups of the pod, sorted; the reservation pod with the
	// same group holds the device.
	Groups []string `json:"groups,omitempty"`
	// Fraction of each device, zero when Bytes is given.
	Fraction gpu.Ratio `json:"fraction,omitzero"`
	// Bytes of each device, nil when Fraction is given.
	Bytes *uint64 `json:"bytes,omitempty"`
	// Devices is how many devices the pod has a share of, at least 1.
	Devices int `json:"devices"`
	// Container is the one container that gets the device, empty when the pod
	// does not name it: KAI then takes the first.
	Container string `json:"container,omitempty"`
}

// KAIShare reads the pod's share; ok is false for a pod that asks for none.
// A pod without a group yet is not placed.
func KAIShare(p Pod) (share KAI, ok bool, err error) {
	share = KAI{Groups: KAIGroups(p), Devices: 1, Container: p.Annotations[AnnotationKAIContainer]}
	if ok, err = share.amount(p); !ok || err != nil {
		return KAI{}, false, err
	}
	if value := p.Annotations[AnnotationKAIDevices]; value != "" {
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n == 0 {
			return KAI{}, false, badAnnotation(AnnotationKAIDevices, value, errors.New("want a number of devices, 1 or more"))
		}
		share.Devices = int(n)
	}
	return share, true, nil
}

// amount reads how much the pod gets of each device. The container's own
// annotation wins, then the fraction, then the memory, as in KAI itself.
func (k *KAI) amount(p Pod) (bool, error) {
	if ok, err := k.containerMemory(p); ok || err != nil {
		return ok, err
	}
	if value := p.Annotations[AnnotationKAIFraction]; value != "" {
		fraction, err := gpu.ParseRatio(value)
		if err == nil && fraction.IsZero() {
			err = errors.New("want more than 0")
		}
		if err != nil {
			return false, badAnnotation(AnnotationKAIFraction, value, err)
		}
		k.Fraction = fraction
		return true, nil
	}
	value := p.Annotations[AnnotationKAIMemory]
	if value == "" {
		return false, nil
	}
	bytes, err := mebibytes(value)
	if err == nil && bytes == 0 {
		err = errors.New("want more than 0")
	}
	if err != nil {
		return false, badAnnotation(AnnotationKAIMemory, value, err)
	}
	k.Bytes = &bytes
	return true, nil
}

// containerMemory reads nvidia.com/container.<name>.gpu-memory.request, or the
// limit where there is no request.
func (k *KAI) containerMemory(p Pod) (bool, error) {
	for _, suffix := range []string{kaiRequestSuffix, kaiLimitSuffix} {
		for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
			name, ok := strings.CutPrefix(key, kaiContainerPrefix)
			if !ok || !strings.HasSuffix(name, suffix) || p.Annotations[key] == "" {
				continue
			}
			bytes, err := parseQuantity(p.Annotations[key])
			if err == nil && (bytes == 0 || bytes > maxMiB*gpu.MiB) {
				err = fmt.Errorf("%d bytes is no amount of memory of a device", bytes)
			}
			if err != nil {
				return false, badAnnotation(key, p.Annotations[key], err)
			}
			k.Bytes, k.Container = &bytes, strings.TrimSuffix(name, suffix)
			return true, nil
		}
	}
	return false, nil
}

// KAIGroups are the pod's groups, sorted: runai-gpu-group, and one label
// runai-gpu-group/<group> each where the pod has several devices.
func KAIGroups(p Pod) []string {
	var groups []string
	for key, value := range p.Labels {
		name, several := strings.CutPrefix(key, LabelKAIGroup+"/")
		if value == "" && several {
			value = name
		}
		if value != "" && (several || key == LabelKAIGroup) {
			groups = append(groups, value)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// KAIReservation reports whether the pod only holds a whole GPU for the pods of
// its group: it stands in KAI's reservation namespace, or bears the annotation
// that KAI puts on such pods. gpuUUID is what that annotation says, and "" until
// KAI has written it; the kubelet's device list then names the GPU.
func KAIReservation(p Pod) (group, gpuUUID string, ok bool) {
	gpuUUID = p.Annotations[AnnotationKAIReserved]
	if gpuUUID == "" && !slices.Contains(kaiNamespaces, p.Namespace) {
		return "", "", false
	}
	return p.Labels[LabelKAIGroup], gpuUUID, true
}
