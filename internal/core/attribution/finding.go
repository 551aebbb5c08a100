// SPDX-License-Identifier: Apache-2.0

package attribution

// FindingKind names a kind of finding.
type FindingKind string

// The kinds of finding. docs/findings.md describes each, with its evidence
// and what to do.
const (
	UnallocatedUse       FindingKind = "unallocated_gpu_use"
	Exposure             FindingKind = "exposure"
	OverLimit            FindingKind = "over_limit"
	ExternalProcess      FindingKind = "external_process"
	StaleResource        FindingKind = "stale_resource"
	StaleDeviceID        FindingKind = "stale_device_id"
	InventoryConflict    FindingKind = "inventory_conflict"
	DoubleOwner          FindingKind = "double_owner"
	AllocatedNotVisible  FindingKind = "allocated_not_visible"
	ClaimWithoutPod      FindingKind = "claim_without_pod"
	ReplicasUnknown      FindingKind = "replicas_unknown"
	ComputeSlicesUnknown FindingKind = "compute_slices_unknown"
	OutsideInstances     FindingKind = "outside_instances"
	OrphanedMemory       FindingKind = "orphaned_memory"
	DeviceUnavailable    FindingKind = "device_unavailable"
	DeviceUnmeasured     FindingKind = "device_unmeasured"
	ClockStep            FindingKind = "clock_step"
)

// Kinds are the kinds that attribution can find. A clock step is found by
// integration and stands in its records.
func Kinds() []FindingKind {
	return []FindingKind{
		UnallocatedUse, Exposure, OverLimit, ExternalProcess, StaleResource, StaleDeviceID, InventoryConflict, DoubleOwner,
		AllocatedNotVisible, ClaimWithoutPod, ReplicasUnknown, ComputeSlicesUnknown, OutsideInstances, OrphanedMemory, DeviceUnavailable, DeviceUnmeasured,
	}
}

// Severity ranks findings for people.
type Severity string

// The severities: info explains, warning deserves a look, critical moves
// somebody's money or takes somebody's memory.
const (
	Info     Severity = "info"
	Warning  Severity = "warning"
	Critical Severity = "critical"
)
