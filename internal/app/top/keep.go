// SPDX-License-Identifier: Apache-2.0

package top

import (
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// setKeep gives each grant's rows what the grant keeps and nobody uses. All of
// it lies in free memory; grants that together keep more are cut in proportion.
func setKeep(rows []Row, p attribution.Partition) {
	if p.Free == nil {
		return
	}
	held := map[string]uint64{}
	for _, r := range rows {
		if r.Bytes != nil {
			held[r.Owner] += *r.Bytes
		}
	}
	keeps, sum := grantKeeps(p, held)
	for owner, keep := range keeps {
		if sum > *p.Free {
			keep = gpu.Ratio{Num: *p.Free, Den: sum}.Of(keep)
		}
		for i := len(rows) - 1; i >= 0; i-- {
			if rows[i].Owner == owner && rows[i].Kind == KindHolder {
				rows[i].keep = keep
				break
			}
		}
	}
}

// grantKeeps is what each grant keeps beyond what its pods hold. A shared
// claim is one grant of several pods; it stands behind the last of them.
func grantKeeps(p attribution.Partition, held map[string]uint64) (keeps map[string]uint64, sum uint64) {
	type claim struct {
		last            string
		reserved, holds uint64
	}
	claims := map[string]*claim{}
	for _, g := range p.Grants {
		owner := ownerOf(g.Holder)
		key := "pod " + owner
		reserved := deref(g.ReservedBytes)
		if g.Mode == gpu.ModeSharedClaim && p.Capacity != nil {
			key = "claim " + g.Claim
			reserved = g.Reserved.Of(*p.Capacity)
		}
		c := claims[key]
		if c == nil {
			c = &claim{}
			claims[key] = c
		}
		c.last = max(c.last, owner)
		c.reserved = max(c.reserved, reserved)
		c.holds += held[owner]
	}
	keeps = map[string]uint64{}
	for _, c := range claims {
		if c.reserved > c.holds {
			keeps[c.last] += c.reserved - c.holds
			sum += c.reserved - c.holds
		}
	}
	return keeps, sum
}
