// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/workload"
)

// findStaleResources reports resources that the node offers and NVML does not
// have: device plugins keep numbers of layouts that are gone
// (k8s-device-plugin#240). Capacity is counted by NVML, never by these.
func (w *work) findStaleResources() {
	if w.s.Objects.Node == nil || !w.s.NVML.OK {
		return
	}
	node := *w.s.Objects.Node
	for resource, count := range node.GPUResources(w.policy.ExtraResources...) {
		have, known := w.countOf(resource, node)
		if known && count > have {
			w.find(Finding{
				Kind: StaleResource, Severity: Warning, Resource: resource, Count: count,
				Detail: fmt.Sprintf("the node offers %d of %s and NVML has %d; restart the device plugin, then the kubelet", count, resource, have),
			})
		}
	}
}

// countOf is how many units of a resource the hardware can stand for; known is
// false for resources whose meaning is another plugin's affair.
func (w *work) countOf(resource string, node workload.Node) (have int64, known bool) {
	name, nvidia := strings.CutPrefix(resource, "nvidia.com/")
	profile, mig := strings.CutPrefix(name, "mig-")
	r, labelled := node.ReplicasOf(resource)
	replicas := max(r, 1)
	switch {
	case !nvidia:
		return 0, false
	case mig && !labelled && w.offersReplicas(resource):
		return 0, false
	case mig:
		profile = strings.TrimSuffix(profile, ".shared")
		return w.instancesOf(profile) * replicas, true
	case name != "gpu" && name != "gpu.shared":
		return 0, false
	}
	if w.anySlots(node) {
		return 0, false
	}
	whole, instances := w.countDevices()
	if instances > 0 && !offersMIG(node) {
		// Strategy "single": every instance is an nvidia.com/gpu.
		whole += instances
	}
	return whole * replicas, true
}

// offersReplicas: the kubelet's ids of the resource are replicas.
func (w *work) offersReplicas(resource string) bool {
	for _, rd := range w.s.Grants.Allocatable {
		for _, id := range rd.IDs {
			if rd.Resource == resource && workload.ParseDeviceID(id).Shared {
				return true
			}
		}
	}
	return false
}

func replicasOf(n workload.Node) *int64 {
	if r, ok := n.Replicas(); ok {
		return &r
	}
	return nil
}

func (w *work) countDevices() (whole, instances int64) {
	for _, p := range w.inv.parts {
		switch {
		case p.inst != nil:
			instances++
		case !p.MIGParent:
			whole++
		}
	}
	return whole, instances
}

// instancesOf counts the MIG devices that a resource of this profile stands for.
func (w *work) instancesOf(profile string) int64 {
	var n int64
	for _, p := range w.inv.parts {
		if p.inst == nil {
			continue
		}
		for _, name := range migProfiles(p) {
			if name == profile {
				n++
			}
		}
	}
	return n
}

// migProfiles are the profiles of a MIG instance's devices as resource names
// spell them, one for each compute instance: one that is smaller than the
// instance has its slices in front (1c.3g.20gb). Slices that are not known are
// taken for all of them.
func migProfiles(p *part) []string {
	whole := strings.ReplaceAll(p.Profile, "+", ".")
	if len(p.inst.Compute) == 0 {
		return []string{whole}
	}
	names := make([]string, len(p.inst.Compute))
	for i, ci := range p.inst.Compute {
		names[i] = whole
		if ci.Slices != 0 && ci.Slices < p.inst.ComputeSlices {
			names[i] = fmt.Sprintf("%dc.%s", ci.Slices, whole)
		}
	}
	return names
}

// onlyProfile is the profile of an instance with one device, else that of the
// whole instance.
func onlyProfile(p *part) string {
	if names := migProfiles(p); len(names) == 1 {
		return names[0]
	}
	return strings.ReplaceAll(p.Profile, "+", ".")
}

func offersMIG(node workload.Node) bool {
	if s := node.MIGStrategy(); s != "" {
		return s == "mixed"
	}
	for resource, n := range node.Allocatable {
		if n > 0 && strings.HasPrefix(resource, "nvidia.com/mig-") {
			return true
		}
	}
	return false
}

// anySlots: another scheduler offers slots of its own under NVIDIA's names, so
// a count of nvidia.com/gpu says nothing of devices. Replicas without a label
// are slots, too.
func (w *work) anySlots(node workload.Node) bool {
	for _, rd := range w.s.Grants.Allocatable {
		for _, id := range rd.IDs {
			p := workload.ParseDeviceID(id)
			if p.Shared && (p.Form == workload.FormHAMiSlot || replicasOf(node) == nil) {
				return true
			}
		}
	}
	for _, pod := range w.s.Objects.Pods {
		if w.annotationOf(pod).source != "" {
			return true
		}
	}
	return replicasOf(node) == nil && node.SharingStrategy() != ""
}
