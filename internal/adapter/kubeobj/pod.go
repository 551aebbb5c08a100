// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// lastApplied is kubectl's copy of the whole manifest; it is large, and says
// nothing that the object does not.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Pod keeps of a pod what gputally needs. The result shares no memory with p
// but strings.
func Pod(p *corev1.Pod) workload.Pod {
	return workload.Pod{
		Namespace:        p.Namespace,
		Name:             p.Name,
		UID:              string(p.UID),
		Labels:           maps.Clone(p.Labels),
		Annotations:      annotations(p.Annotations),
		Node:             p.Spec.NodeName,
		Phase:            string(p.Status.Phase),
		Reason:           p.Status.Reason,
		RestartPolicy:    string(p.Spec.RestartPolicy),
		Owner:            ControllerOf(p.OwnerReferences),
		DefaultScheduler: p.Spec.SchedulerName == corev1.DefaultSchedulerName,
		RuntimeClass:     deref(p.Spec.RuntimeClassName),
		HostPID:          p.Spec.HostPID,
		HostNetwork:      p.Spec.HostNetwork,
		IP:               p.Status.PodIP,
		Containers:       containers(p),
		ClaimNames:       claimNames(p),
		ExtendedClaim:    extendedClaim(p),
		DeletionDeadline: timeOf(p.DeletionTimestamp),
		Place:            placement(&p.Spec),
		CreatedAt:        timeOf(&p.CreationTimestamp),
		ScheduledAt:      scheduledAt(p),
	}
}

// scheduledAt is when the scheduler found it a node. A pod that was made for a node
// has no such time.
func scheduledAt(p *corev1.Pod) *time.Time {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return timeOf(&c.LastTransitionTime)
		}
	}
	return nil
}

// ControllerOf is the owner that is marked as controller, empty without one.
func ControllerOf(refs []metav1.OwnerReference) workload.Owner {
	for _, r := range refs {
		if r.Controller != nil && *r.Controller {
			return workload.Owner{Kind: r.Kind, Name: r.Name, UID: string(r.UID)}
		}
	}
	return workload.Owner{}
}

func annotations(all map[string]string) map[string]string {
	kept := maps.Clone(all)
	delete(kept, lastApplied)
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// claimNames are the pod's ResourceClaims by their object names: those given
// in the spec, and those generated from a template, which only the status
// names. One that is not generated yet is left out.
func claimNames(p *corev1.Pod) []string {
	generated := map[string]string{}
	for _, s := range p.Status.ResourceClaimStatuses {
		generated[s.Name] = deref(s.ResourceClaimName)
	}
	var names []string
	for _, c := range p.Spec.ResourceClaims {
		name := deref(c.ResourceClaimName)
		if name == "" {
			name = generated[c.Name]
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func extendedClaim(p *corev1.Pod) string {
	if s := p.Status.ExtendedResourceClaimStatus; s != nil {
		return s.ResourceClaimName
	}
	return ""
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
