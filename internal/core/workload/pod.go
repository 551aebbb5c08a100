// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"time"
)

// The phases of a pod (core/v1 PodPhase).
const (
	PhasePending   = "Pending"
	PhaseRunning   = "Running"
	PhaseSucceeded = "Succeeded"
	PhaseFailed    = "Failed"
)

// Annotations of static pods' mirror objects (kubelet's config package and its
// mirror_client.go): both hold the 32-hex UID under which the kubelet runs the
// pod. The second one makes an object a mirror.
const (
	AnnotationConfigHash   = "kubernetes.io/config.hash"
	AnnotationConfigMirror = "kubernetes.io/config.mirror"
)

// Pod is what gputally needs of a core/v1 Pod.
type Pod struct {
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Node        string            `json:"node,omitempty"`
	Phase       string            `json:"phase,omitempty"`
	// Reason is status.reason, such as UnexpectedAdmissionError.
	Reason string `json:"reason,omitempty"`
	// RestartPolicy is spec.restartPolicy: Always, OnFailure, Never.
	RestartPolicy string `json:"restart_policy,omitempty"`
	// Owner is the controller in metadata.ownerReferences, as far up as known.
	Owner Owner `json:"owner,omitzero"`
	// DefaultScheduler: spec.schedulerName is Kubernetes' own scheduler. False
	// says that another one was asked for, or that nothing is known of it.
	DefaultScheduler bool   `json:"default_scheduler,omitempty"`
	RuntimeClass     string `json:"runtime_class,omitempty"`
	HostPID          bool   `json:"host_pid,omitempty"`
	// HostNetwork: the pod has no address of its own. IP is status.podIP, which
	// the kubelet writes.
	HostNetwork      bool        `json:"host_network,omitempty"`
	IP               string      `json:"ip,omitempty"`
	Containers       []Container `json:"containers,omitempty"`
	ClaimNames       []string    `json:"claim_names,omitempty"`
	ExtendedClaim    string      `json:"extended_claim,omitempty"`
	DeletionDeadline *time.Time  `json:"deletion_deadline,omitempty"`
	// Place is what it asks of its node beside room.
	Place Placement `json:"place,omitzero"`
	// CreatedAt is when its object was made, ScheduledAt when it was given a node
	// (condition PodScheduled); nil where nobody says it.
	CreatedAt   *time.Time `json:"created_at,omitempty"`
	ScheduledAt *time.Time `json:"scheduled_at,omitempty"`
	// Gone is set when the object was deleted and is kept only to name what
	// its processes still hold.
	Gone bool `json:"gone,omitempty"`
}

// Owner is a controller: Job, ReplicaSet, RayCluster and so on.
type Owner struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// The owner that stands between a Deployment and its pods, and the label by
// which the Deployment's controller names it: DEPLOYMENT-HASH
// (k8s.io/kubernetes/pkg/controller/deployment/sync.go).
const (
	kindReplicaSet = "ReplicaSet"
	kindDeployment = "Deployment"
	labelHash      = "pod-template-hash"
)

// Workload is the pod's owner as far up as the pod itself tells: a ReplicaSet
// whose name ends in the pod's pod-template-hash is its Deployment. Other names
// tell nothing for certain: train-20261101 may be a CronJob's Job or a person's.
func (p Pod) Workload() Owner {
	hash := p.Labels[labelHash]
	if p.Owner.Kind != kindReplicaSet || hash == "" {
		return p.Owner
	}
	name, ok := strings.CutSuffix(p.Owner.Name, "-"+hash)
	if !ok || name == "" {
		return p.Owner
	}
	return Owner{Kind: kindDeployment, Name: name}
}

// ContainerKind tells the four lists of a pod's containers apart.
type ContainerKind string

// The kinds of container. A sidecar is an init container with
// restartPolicy Always.
const (
	ContainerApp       ContainerKind = "app"
	ContainerInit      ContainerKind = "init"
	ContainerSidecar   ContainerKind = "sidecar"
	ContainerEphemeral ContainerKind = "ephemeral"
)

// Container is what gputally needs of a container's spec and status.
type Container struct {
	Name string        `json:"name"`
	Kind ContainerKind `json:"kind,omitempty"`
	// ID is the runtime's id: 64 hex digits, without its "containerd://".
	ID         string `json:"id,omitempty"`
	Image      string `json:"image,omitempty"`
	Privileged bool   `json:"privileged,omitempty"`
	// Env holds the literal values of the variables that steer GPU runtimes
	// (NVIDIA_VISIBLE_DEVICES, CUDA_MPS_PIPE_DIRECTORY, CUDA_VISIBLE_DEVICES).
	Env map[string]string `json:"env,omitempty"`
	// Limits holds the extended resources by name, as whole numbers.
	Limits map[string]int64 `json:"limits,omitempty"`
	// CPUMilli and MemoryBytes are the requests, 0 when none are made.
	CPUMilli    int64 `json:"cpu_milli,omitempty"`
	MemoryBytes int64 `json:"memory_bytes,omitempty"`
	// HostDevices lists hostPath mounts of /dev or of /dev/nvidia*.
	HostDevices []string   `json:"host_devices,omitempty"`
	Running     bool       `json:"running,omitempty"`
	StartedAt   *time.Time `json:"started_at,omitempty"`
	FinishedAt  *time.Time `json:"finished_at,omitempty"`
}

// Key is the pod as namespace/name.
func (p Pod) Key() string { return p.Namespace + "/" + p.Name }

// What a pod's annotations wish of advice.
const (
	// AnnotationAdvice: "off", or "off until 2027-01-31", with any reason behind it: no
	// advice on the workload.
	AnnotationAdvice = "gputally.io/advice"
	// AnnotationLatency says what latency or throughput is wanted, in words: that
	// somebody knows it.
	AnnotationLatency = "gputally.io/latency"
)

// The restart policies of a pod (core/v1 RestartPolicy).
const (
	RestartAlways    = "Always"
	RestartOnFailure = "OnFailure"
	RestartNever     = "Never"
)

// Ended reports whether the pod can hold no grant any more: its phase is
// Succeeded or Failed, its object is gone, or all its app containers have
// finished, nothing of it runs and its restart policy is Never. Under Always
// they come back, and under OnFailure they may: the exit code is not known here.
func (p Pod) Ended() bool {
	if p.Gone || p.Phase == PhaseSucceeded || p.Phase == PhaseFailed {
		return true
	}
	return p.RestartPolicy == RestartNever && p.finished()
}

// finished reports whether the pod has app containers, all of them have ended
// and no container of any kind runs.
func (p Pod) finished() bool {
	for _, c := range p.Containers {
		if c.Running {
			return false
		}
	}
	apps := p.appContainers()
	for _, c := range apps {
		if c.FinishedAt == nil {
			return false
		}
	}
	return len(apps) > 0
}

// StaticHash is the kubelet's UID of a static pod, or "" for any other pod.
//
// Only the annotation that makes an object a mirror counts. Whoever creates a
// pod can write the other one, config.hash, and would take over the processes
// of the static pod with that hash; an object with config.mirror that belongs
// to no static pod is never run and soon deleted by the kubelet.
func (p Pod) StaticHash() string { return p.Annotations[AnnotationConfigMirror] }
