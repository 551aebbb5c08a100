// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
)

// handout is who was given a partition so that others should not have it, and
// how much of it.
type handout struct {
	owners []string
	names  map[string]string // of owners, for people
	// wholes are the owners of all of it, given those of them whom a device
	// plugin or a claim gave that.
	wholes, given int
	// ids are the owners by the id that names what they were given.
	ids map[string]string
	// slices are the compute slices of all owners, counted once each.
	slices uint64
	// twice are the owners whom one id was given to, beside others.
	twice map[string]bool
}

// findDoubleOwner reports partitions that were handed out twice: whole to one
// owner, and whole or in part to another, or the same part to two.
func (w *work) findDoubleOwner(p *part) {
	if len(p.Grants) < 2 {
		return
	}
	h := handout{names: map[string]string{}, ids: map[string]string{}, twice: map[string]bool{}}
	for _, g := range p.Grants {
		if keepsOthersOut(g) {
			h.take(p, g)
		}
	}
	detail, to := "", h.owners
	switch {
	case h.wholes > 1:
		detail = "several owners were granted this partition whole at the same time"
	case h.given > 0 && len(h.owners) > 1:
		detail = "one owner was granted this partition whole and others a part of it at the same time"
	case len(h.twice) > 0:
		to = slices.DeleteFunc(to, func(o string) bool { return !h.twice[o] })
		detail = sameComputeInstance
	case h.slices > p.compute.made:
		detail = sameComputeInstance
	default:
		// Fractions may be oversubscribed by decision (HAMi's memory scaling).
		return
	}
	f := Finding{Kind: DoubleOwner, Severity: Critical, Partition: p.ID.String(), Device: p.ID.Device, Detail: detail}
	for _, owner := range to {
		f.Victims = append(f.Victims, h.names[owner])
	}
	w.find(f)
}

const sameComputeInstance = "several owners were granted the same compute instance of this partition at the same time"

// keepsOthersOut: the grant keeps memory, or, of a MIG instance, a compute
// instance of unknown size.
func keepsOthersOut(g Grant) bool {
	return !g.Admin && (!g.Reserved.IsZero() || g.Mode == gpu.ModeMIG)
}

func (h *handout) take(p *part, g Grant) {
	key := ownerOf(g)
	if g.Mode == gpu.ModeMIG {
		for _, id := range g.DeviceIDs {
			if other := h.ids[id]; other != "" && other != key {
				h.twice[other], h.twice[key] = true, true
			}
			h.ids[id] = key
		}
	}
	if h.names[key] != "" {
		return
	}
	h.owners, h.names[key] = append(h.owners, key), g.Holder.Account()
	ofMIG := p.inst != nil && (g.Mode == gpu.ModeMIG || g.Mode == gpu.ModeSharedClaim)
	if ofMIG && p.compute.slices > 0 && g.Reserved.Den == p.compute.slices {
		h.slices += g.Reserved.Num
	}
	if g.Reserved.Num >= g.Reserved.Den && !g.Reserved.IsZero() {
		h.wholes++
		if g.Mode != gpu.ModeFraction {
			h.given++
		}
	}
}

// ownerOf is who keeps the grant's reserved share: the pods of a shared claim
// keep one together.
func ownerOf(g Grant) string {
	if g.Mode == gpu.ModeSharedClaim {
		return "claim " + g.Claim
	}
	return g.Holder.PodKey()
}
