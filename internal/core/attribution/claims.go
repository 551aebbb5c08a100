// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// fromClaim takes the devices of one ResourceClaim that the kubelet prepared
// for a container.
func (w *work) fromClaim(holder workload.Holder, container string, cd workload.ClaimDevices) {
	key := cd.Namespace + "/" + cd.Name
	claim, known := w.claims[key]
	if len(cd.Devices) == 0 && (!known || claimHasGPU(claim)) {
		// Still being prepared, or failed: what it will lead to is not known.
		w.unresolved[holder.PodKey()] = true
		return
	}
	for _, dev := range cd.Devices {
		if workload.IsGPUDriver(dev.Driver) {
			w.fromClaimDevice(holder, container, key, dev)
		}
	}
}

func (w *work) fromClaimDevice(holder workload.Holder, container, key string, dev workload.ClaimDevice) {
	claim, result, known := w.claimOf(holder, key, dev)
	targets := w.resolveClaimed(holder, claim, dev)
	if len(targets) == 0 {
		w.unresolvedDevice(holder, key, dev)
		return
	}
	for _, t := range targets {
		d := w.grants.of(t.part, holder, "dra")
		// A pod that has another grant on the device keeps it: observing
		// takes nothing away.
		if result.AdminAccess && d.Replicas > 0 && !d.Admin {
			continue
		}
		d.Source, d.Claim, d.Admin = "dra", key, result.AdminAccess
		first := d.ask(container, w.claimResource(holder, claim), deviceID(dev), t.share)
		d.sharers = w.sharers(key, claim)
		d.vague = d.vague || !known
		if first {
			w.consume(d, dev, result)
		}
	}
}

// deviceID is how a grant names a device of a claim.
func deviceID(dev workload.ClaimDevice) string {
	return dev.Driver + "/" + dev.Pool + "/" + dev.Device + dev.ShareID
}

// claimOf is the claim object behind what the kubelet lists, and its result for
// the device. It is not known where the object is not there, or is another
// one: a claim that was deleted may come again under the same name, for other
// pods and with another device, before anyone has read it again.
func (w *work) claimOf(holder workload.Holder, key string, dev workload.ClaimDevice) (workload.Claim, workload.ClaimResult, bool) {
	claim, ok := w.claims[key]
	if !ok || !reservedFor(claim, holder) {
		return workload.Claim{}, workload.ClaimResult{}, false
	}
	result, ok := claimResult(claim, dev)
	return claim, result, ok
}

// reservedFor: the claim is the pod's. One that is reserved for nobody may have
// been read before its pod was there.
func reservedFor(claim workload.Claim, holder workload.Holder) bool {
	for _, c := range claim.Reserved {
		if c.UID == holder.PodUID || holder.PodUID == "" && c.Pod == holder.Pod {
			return true
		}
	}
	return len(claim.Reserved) == 0
}

func claimHasGPU(c workload.Claim) bool {
	for _, r := range c.Results {
		if workload.IsGPUDriver(r.Driver) {
			return true
		}
	}
	return false
}

// claimResult is the allocation result that a prepared device belongs to.
// Older APIs put adminAccess on the request alone.
func claimResult(c workload.Claim, dev workload.ClaimDevice) (workload.ClaimResult, bool) {
	for _, r := range c.Results {
		if r.Driver != dev.Driver || r.Pool != dev.Pool || r.Device != dev.Device || r.ShareID != dev.ShareID {
			continue
		}
		for _, q := range c.Requests {
			r.AdminAccess = r.AdminAccess || (q.Name == r.Request && q.AdminAccess)
		}
		return r, true
	}
	return workload.ClaimResult{}, false
}

// consume applies consumable capacity: a part of the device's memory, or,
// where a device may be given many times and no memory is named, a turn at it.
// A share id says that it may, whatever is known of its slice.
func (w *work) consume(d *draft, dev workload.ClaimDevice, result workload.ClaimResult) {
	if result.ConsumedMemory != nil {
		d.takePart(gpu.Ratio{}, result.ConsumedMemory)
		return
	}
	sd, _ := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device)
	d.shared = d.shared || sd.Multiple || dev.ShareID != ""
}

// settleClaims judges grants of claims whose objects are not known: whether
// they observe, or take all of a device, nobody can tell. One that is alone on
// its partition has it, as nearly all do; beside another grant it keeps
// nothing, since a device is never given whole to two.
func (w *work) settleClaims() {
	for _, byPod := range w.grants {
		owners := map[string]bool{}
		for key, d := range byPod {
			if d.Claim != "" {
				key = "claim " + d.Claim
			}
			if !d.Admin {
				owners[key] = true
			}
		}
		for _, d := range byPod {
			if d.vague && len(owners) > 1 {
				d.shared, d.isPart = true, false
			}
		}
	}
}

func (w *work) unresolvedDevice(holder workload.Holder, key string, dev workload.ClaimDevice) {
	w.unresolved[holder.PodKey()] = true
	if !w.s.NVML.OK {
		return
	}
	detail := "claim " + key + " has device " + dev.Device + " of pool " + dev.Pool
	if _, listed := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device); !listed && dev.Pool != w.s.Node {
		detail += ", which no ResourceSlice of this node has: devices of pools by nodeSelector or allNodes are not resolved"
	} else {
		detail += ", which leads to no GPU or MIG instance that NVML has"
	}
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: holder,
		Detail:   detail,
		Evidence: []string{dev.Driver + "/" + dev.Pool + "/" + dev.Device},
	})
}

// claimResource is the extended resource a claim stands for, if the scheduler
// made it for one (Kubernetes 1.37 serves nvidia.com/gpu so).
func (w *work) claimResource(holder workload.Holder, claim workload.Claim) string {
	pod, ok := w.pods.ByUID(holder.PodUID)
	if !ok || pod.ExtendedClaim == "" || pod.ExtendedClaim != claim.Name {
		return ""
	}
	for _, c := range pod.Containers {
		for _, name := range slices.Sorted(maps.Keys(c.Limits)) {
			if workload.IsGPUResource(name, w.policy.ExtraResources...) {
				return name
			}
		}
	}
	return ""
}

// sharers is how many active pods have a claim: those it is reserved for and
// those that the kubelet lists with it, of which either may be the later word.
func (w *work) sharers(key string, claim workload.Claim) int {
	pods := map[string]bool{}
	for _, c := range claim.Reserved {
		if pod, ok := w.pods.ByUID(c.UID); !ok || !pod.Ended() {
			pods[c.UID] = true
		}
	}
	for name, pr := range w.listed {
		if !listsClaim(*pr, key) {
			continue
		}
		switch pod, ok := w.pods.ByName(pr.Namespace, pr.Name); {
		case !ok:
			pods[name] = true
		case !pod.Ended():
			pods[pod.UID] = true
		}
	}
	return len(pods)
}

func listsClaim(pr workload.PodResources, key string) bool {
	for _, c := range pr.Containers {
		for _, cd := range c.Dynamic {
			if cd.Namespace+"/"+cd.Name == key {
				return true
			}
		}
	}
	return false
}

// findClaimless reports claims that hold a device of this node for nobody.
func (w *work) findClaimless() {
	for key, claim := range w.claims {
		if !claim.Allocated || len(claim.Reserved) > 0 {
			continue
		}
		for _, t := range w.claimTargets(claim) {
			w.find(Finding{
				Kind: ClaimWithoutPod, Severity: Warning, Partition: t.part.ID.String(), Device: t.part.ID.Device,
				Resource: key,
				Detail:   "claim " + key + " keeps this device and no pod uses it; delete the claim if it is not needed",
			})
		}
	}
}

// claimTargets are the partitions that a claim takes, and does not merely
// observe.
func (w *work) claimTargets(claim workload.Claim) []target {
	var out []target
	for _, dev := range gpusOf(claim) {
		if result, _ := claimResult(claim, dev); !result.AdminAccess {
			out = append(out, w.resolveClaimed(workload.Holder{}, claim, dev)...)
		}
	}
	return out
}

// gpusOf are the GPUs among a claim's results.
func gpusOf(claim workload.Claim) []workload.ClaimDevice {
	var out []workload.ClaimDevice
	for _, r := range claim.Results {
		if workload.IsGPUDriver(r.Driver) {
			out = append(out, workload.ClaimDevice{Driver: r.Driver, Pool: r.Pool, Device: r.Device, ShareID: r.ShareID})
		}
	}
	return out
}

// fromReservations grants what a claim that is reserved for a pod says, where
// the pod holds memory and the kubelet lists nothing: it lists no plain init
// container, and while its list is unreadable the claim is still the pod's.
func (w *work) fromReservations() {
	for _, key := range slices.Sorted(maps.Keys(w.claims)) {
		claim := w.claims[key]
		for _, dev := range gpusOf(claim) {
			for _, c := range claim.Reserved {
				pod, ok := w.pods.ByUID(c.UID)
				if ok && w.runs(pod) && w.holdsUngranted(podHolder(pod), w.resolveClaimed(podHolder(pod), claim, dev)) {
					w.fromClaimDevice(podHolder(pod), "", key, dev)
				}
			}
		}
	}
}

// holdsUngranted: the pod holds memory on one of the targets without a grant.
func (w *work) holdsUngranted(pod workload.Holder, targets []target) bool {
	for _, t := range targets {
		if !w.grants.has(t.part, pod) && w.holds(t.part, pod) {
			return true
		}
	}
	return false
}

func (w *work) holds(p *part, pod workload.Holder) bool {
	for _, h := range p.held {
		if o := w.owners[h.PID]; o.holder.Kind == workload.KindPod && o.holder.PodKey() == pod.PodKey() {
			return true
		}
	}
	return false
}
