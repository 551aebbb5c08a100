// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// resolveClaimed is resolveDRA for a claim that holds the device: as long as it
// does, the device is the one that it was given, also when the driver has since
// given the name to another or published its slices anew without it.
func (w *work) resolveClaimed(holder workload.Holder, claim workload.Claim, dev workload.ClaimDevice) []target {
	keys := claimedKeys(holder.PodUID, claim.UID, dev)
	for _, key := range keys {
		if t := w.inv.byID(w.before.claimed[key]); t != nil {
			w.pin(keys, t[0].part)
			return t
		}
	}
	targets := w.resolveDRA(dev)
	if sd, _ := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device); sd.UUID != "" && len(targets) == 1 {
		w.pin(keys, targets[0].part)
	}
	return targets
}

// claimedKeys are what a device is remembered under: the claim, so that all its
// pods have the same, and the pod, for when the claim cannot be read.
func claimedKeys(pod, claim string, dev workload.ClaimDevice) []claimedKey {
	var keys []claimedKey
	for _, owner := range []string{claim, pod} {
		if owner != "" {
			keys = append(keys, claimedKey{owner, deviceID(dev)})
		}
	}
	return keys
}

func (w *work) pin(keys []claimedKey, p *part) {
	for _, key := range keys {
		w.recall.claimed[key] = p.ID
	}
}

// pinClaims notes what the devices of all allocated claims are, be they listed
// by the kubelet yet or not, and those that were noted for pods that run.
func (w *work) pinClaims() {
	for _, claim := range w.claims {
		for _, dev := range gpusOf(claim) {
			w.resolveClaimed(workload.Holder{}, claim, dev)
		}
	}
	for key, id := range w.before.claimed {
		if pod, known := w.pods.ByUID(key.owner); known && w.runs(pod) || !known && w.running[key.owner] {
			w.recall.claimed[key] = id
		}
	}
}

// resolveDRA finds the partition of a DRA device: by the UUID of its slice,
// else by what the slice or the driver's naming says of a MIG device that got
// no UUID before it was made (dynamic MIG).
//
// The driver's names count minor numbers of its own node, and it calls its
// node's pool after the node. Devices of other pools are known by their slices
// or not at all: a slice that names its nodes by a selector, or all nodes, is
// not read here (package kubeapi), and its gpu-0 may be any card.
func (w *work) resolveDRA(dev workload.ClaimDevice) []target {
	sd, listed := w.devices.Lookup(dev.Driver, dev.Pool, dev.Device)
	if listed && sd.UUID != "" {
		return w.inv.named(gpu.UUID(sd.UUID))
	}
	name, named := workload.ParseDRADeviceName(dev.Device)
	if !named || !listed && dev.Pool != w.s.Node {
		return nil
	}
	parent := w.inv.byMinor[int(name.Minor)]
	if listed && sd.ParentUUID != "" {
		parent = w.inv.byUUID[gpu.UUID(sd.ParentUUID)].part
	}
	switch {
	case parent == nil:
		return nil
	case name.Type == workload.DRAGPU:
		return targetOf(parent)
	case name.Type == workload.DRAMIG:
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
