// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/wording"

// Sentences are the details and the evidence that findings are written in, by code,
// with {gaps}. They are read back from the text, so that records of any age are
// understood; the scenarios hold that every sentence that is written is here. What
// NVML itself says of a device is in no list.
var Sentences = map[string]string{
	"holds_ungranted":    "holds GPU memory without a grant on this partition",
	"processes_hold":     "processes [{pids}] hold memory here; the kubelet's list, claims and annotations grant nothing",
	"annotation_foreign": "the pod's annotation of {source} counts for nothing: the pod was given nothing of {of}'s by the kubelet, nor asks for it",
	"annotation_more":    "the pod's annotation of {source} counts for nothing: it names {n} devices and the pod has {has}",
	"annotation_void":    "the pod's annotation of {source} counts for nothing: {why}",
	"annotation_unread":  "the scheduler's annotation cannot be read: {why}",
	"annotation_device":  "the annotation of {source} names a device that NVML does not have",
	"can_open":           "can open {n} GPUs that it was not given",
	"looked":             "device-nodes",
	"looked_all":         "device-nodes, privileged",
	"looked_cgroup":      "devices-cgroup, device-nodes",
	"looked_caps":        "device-nodes, nvidia-caps {caps}",
	"looked_all_caps":    "device-nodes, privileged, nvidia-caps {caps}",
	"looked_cgroup_caps": "devices-cgroup, device-nodes, nvidia-caps {caps}",
	"privileged":         "privileged",
	"spec_privileged":    "spec: privileged",
	"spec_all":           "spec: " + visibleDevices + "=all",
	"spec_visible":       "spec: " + visibleDevices,
	"not_visible":        "was granted these and cannot see them: its " + visibleDevices + " names others",
	"over":               "holds {held} MiB where its grant ({source}) allows {limit} MiB",
	"outside_kubernetes": "a process outside Kubernetes holds GPU memory; the scheduler does not know of it",
	"process":            "process {comm}, {unit}",
	"owners_whole":       "several owners were granted this partition whole at the same time",
	"owners_mixed":       "one owner was granted this partition whole and others a part of it at the same time",
	"owners_compute":     sameComputeInstance,
	"kai_fractions":      "fractions of {kept} MiB were taken of this GPU of {capacity} MiB through KAI, which gives out no more than there is: one of the pods may have written its group's label itself",
	"kai_reservation":    "the reservation pod of KAI's group {group} leads to no GPU that NVML has",
	"offers_more":        "the node offers {n} of {resource} and NVML has {has}; restart the device plugin, then the kubelet",
	"id_gone":            "the kubelet granted {id}, which NVML does not have: the card or MIG instance was replaced; restart the pod and the device plugin",
	"id_another":         "the kubelet granted {id}, which was an instance that is gone, and is another one now; restart the pod and the device plugin",
	"id_nowhere":         "the kubelet granted {id} of {resource}, which leads to no GPU or MIG instance that NVML has",
	"kubelet_id":         "kubelet device id {id}",
	"hami_slots":         "the kubelet granted slots of HAMi's pool, and no annotation of HAMi's says on which GPU",
	"claim_unlisted":     "claim {claim} has device {device} of pool {pool}, which no ResourceSlice of this node has: devices of pools by nodeSelector or allNodes are not resolved",
	"claim_nowhere":      "claim {claim} has device {device} of pool {pool}, which leads to no GPU or MIG instance that NVML has",
	"claim_unused":       "claim {claim} keeps this device and no pod uses it; delete the claim if it is not needed",
	"claim_device":       "{driver}/{pool}/{device}",
	"replicas":           "the device is shared through MPS and the number of replicas is not known, so no memory is counted as reserved; let the agent read GetAllocatableResources or label the node nvidia.com/gpu.replicas",
	"compute_slices":     "several compute instances share this MIG instance and how many compute slices each has is not known, so no memory is counted as reserved; a driver that answers nvmlDeviceGetAttributes tells",
	"outside":            "holds memory of a GPU in MIG mode, and NVML lists it on none of its instances: it is in the balance of none",
	"listed_device":      "processes [{pids}] are listed on the device itself",
	"orphaned":           "NVML lists a process that this host does not have: it ended and its memory was not freed, or it runs in another PID or VM domain",
	"lost":               "the GPU is lost: drain the node and reset or replace it; it is still paid for",
	"unread":             "the GPU could not be read: what is held on it is unknown meanwhile",
	"clock":              "the wall clock moved by {ms} ms against the monotonic clock; no time was lost or counted twice",
}

// Wording reads what findings say.
var Wording = wording.New(Sentences)
