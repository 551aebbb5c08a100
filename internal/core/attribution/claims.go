// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"
	"strings"

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
	claim, known := w.claims[key]
	result := claimResult(claim, dev)
	targets := w.resolveDRA(dev)
	if len(targets) == 0 {
		w.unresolvedDevice(holder, key, dev)
		return
	}
	for _, t := range targets {
		d := w.grants.of(t.part, holder, "dra")
		// A pod that has another grant on the device keeps it: observing
		// takes nothing away.
		if result.AdminAccess && d.Replicas > 0 {
			continue
		}
		d.Source, d.Claim, d.Admin = "dra", key, result.AdminAccess
		d.ask(container, w.claimResource(holder, claim), dev.Driver+"/"+dev.Pool+"/"+dev.Device+dev.ShareID, t.share)
		d.sharers = w.sharers(key, claim, known)
		w.consume(d, dev, result)
	}
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
func claimResult(c workload.Claim, dev workload.ClaimDevice) workload.ClaimResult {
	for _, r := range c.Results {
		if r.Driver != dev.Driver || r.Pool != dev.Pool || r.Device != dev.Device || r.ShareID != dev.ShareID {
			continue
		}
		for _, q := range c.Requests {
			r.AdminAccess = r.AdminAccess || (q.Name == r.Request && q.AdminAccess)
		}
		return r
	}
	return workload.ClaimResult{}
}

// consume applies consumable capacity: a part of the device's memory, or,
// where a device may be given many times and names no memory, a turn at it.
func (w *work) consume(d *draft, dev workload.ClaimDevice, result workload.ClaimResult) {
	if result.ConsumedMemory != nil {
		d.takePart(gpu.Ratio{}, result.ConsumedMemory)
		return
	}
	if sd, ok := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device); ok && sd.Multiple {
		d.shared = true
	}
}

func (w *work) unresolvedDevice(holder workload.Holder, key string, dev workload.ClaimDevice) {
	w.unresolved[holder.PodKey()] = true
	if !w.s.NVML.OK {
		return
	}
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: holder,
		Detail:   "claim " + key + " has device " + dev.Device + " of pool " + dev.Pool + ", which leads to no GPU or MIG instance that NVML has",
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

// sharers is how many active pods a claim is reserved for. Where the claim
// object is not known, the pods that the kubelet lists with it.
func (w *work) sharers(key string, claim workload.Claim, known bool) int {
	n := 0
	if known && len(claim.Reserved) > 0 {
		for _, c := range claim.Reserved {
			if pod, ok := w.pods.ByUID(c.UID); !ok || !pod.Ended() {
				n++
			}
		}
		return n
	}
	for _, pr := range w.s.Grants.Pods {
		if listsClaim(pr, key) {
			n++
		}
	}
	return n
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

// resolveDRA finds the partition of a DRA device: by the UUID of its slice,
// else by what the slice or the driver's naming says of a MIG device that got
// no UUID before it was made (dynamic MIG).
func (w *work) resolveDRA(dev workload.ClaimDevice) []target {
	sd, listed := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device)
	if listed && sd.UUID != "" {
		return w.inv.named(gpu.UUID(sd.UUID))
	}
	name, named := workload.ParseDRADeviceName(dev.Device)
	if !named {
		return nil
	}
	parent := w.inv.byMinor[int(name.Minor)]
	if listed && sd.ParentUUID != "" {
		parent = w.inv.byUUID[gpu.UUID(sd.ParentUUID)].part
	}
	switch {
	case parent == nil:
		return nil
	case name.Type == "gpu":
		return targetOf(parent)
	case name.Type == "mig":
		return w.inv.placed(parent, name)
	}
	return nil
}

// placed is the MIG instance of a parent at the placement that a DRA device
// name gives.
func (inv *inventory) placed(parent *part, name workload.DRAName) []target {
	for _, p := range inv.instances(parent.ID.Device) {
		if p.Placement.Start != name.Start || (name.Size != 0 && p.Placement.Size != name.Size) {
			continue
		}
		if name.Profile == "" || strings.ReplaceAll(p.Profile, ".", "") == name.Profile {
			return targetOf(p)
		}
	}
	return nil
}

// findClaimless reports claims that hold a device of this node for nobody.
func (w *work) findClaimless() {
	for key, claim := range w.claims {
		if !claim.Allocated || len(claim.Reserved) > 0 {
			continue
		}
		for _, r := range claim.Results {
			if !workload.IsGPUDriver(r.Driver) || r.AdminAccess {
				continue
			}
			for _, t := range w.resolveDRA(workload.ClaimDevice{Driver: r.Driver, Pool: r.Pool, Device: r.Device}) {
				w.find(Finding{
					Kind: ClaimWithoutPod, Severity: Warning, Partition: t.part.ID.String(), Device: t.part.ID.Device,
					Resource: key,
					Detail:   "claim " + key + " keeps this device and no pod uses it; delete the claim if it is not needed",
				})
			}
		}
	}
}
