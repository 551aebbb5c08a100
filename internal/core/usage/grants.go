// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// grantKey is what makes one grant differ from another: whose, by what word,
// and what it reserves. Names of devices and containers may become known late
// without changing it.
type grantKey struct {
	pod, source, resource, claim string
	mode                         gpu.Mode
	replicas                     int64
	reserved                     gpu.Ratio
	admin                        bool
}

func keyOf(g *attribution.Grant) grantKey {
	return grantKey{
		pod: g.Holder.PodKey(), source: g.Source, resource: g.Resource, claim: g.Claim,
		mode: g.Mode, replicas: g.Replicas, reserved: lowest(g.Reserved), admin: g.Admin,
	}
}

func (k grantKey) compare(o grantKey) int {
	return cmp.Or(
		cmp.Compare(k.pod, o.pod), cmp.Compare(k.source, o.source),
		cmp.Compare(k.resource, o.resource), cmp.Compare(k.claim, o.claim),
		cmp.Compare(k.mode, o.mode), cmp.Compare(k.replicas, o.replicas),
		cmp.Compare(k.reserved.Num, o.reserved.Num), cmp.Compare(k.reserved.Den, o.reserved.Den),
		compareBool(k.admin, o.admin),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// lowest is a ratio in lowest terms, so that 2/4 and 1/2 are one share.
func lowest(r gpu.Ratio) gpu.Ratio {
	if r.IsZero() {
		return gpu.Ratio{}
	}
	a, b := r.Num, r.Den
	for b != 0 {
		a, b = b, a%b
	}
	return gpu.Ratio{Num: r.Num / a, Den: r.Den / a}
}

type keyedGrant struct {
	key   grantKey
	grant attribution.Grant
}

// grantSet is the grants of a partition in order.
type grantSet []keyedGrant

func grantsOf(p *attribution.Partition) grantSet {
	set := make(grantSet, len(p.Grants))
	for i := range p.Grants {
		g := p.Grants[i]
		g.Containers, g.DeviceIDs = sorted(g.Containers), sorted(g.DeviceIDs)
		set[i] = keyedGrant{keyOf(&g), g}
	}
	slices.SortStableFunc(set, func(a, b keyedGrant) int { return a.key.compare(b.key) })
	return set
}

func (s grantSet) same(o grantSet) bool {
	return slices.EqualFunc(s, o, func(a, b keyedGrant) bool { return a.key == b.key })
}

// update is the newer form of the same grants, keeping a reserved size that
// was known and, with the device out of reach, is not any more.
func (s grantSet) update(newer grantSet) grantSet {
	for i := range newer {
		if i < len(s) && s[i].key == newer[i].key && newer[i].grant.ReservedBytes == nil {
			newer[i].grant.ReservedBytes = s[i].grant.ReservedBytes
		}
	}
	return newer
}

// alike reports whether two lists say the same in the same order. They then
// need not be sorted and compared as sets: the usual case, sample after sample.
func alike(a, b []attribution.Grant) bool {
	return slices.EqualFunc(a, b, func(x, y attribution.Grant) bool {
		return x.Holder == y.Holder && x.Source == y.Source && x.Resource == y.Resource && x.Claim == y.Claim &&
			x.Mode == y.Mode && x.Replicas == y.Replicas && x.Reserved == y.Reserved && x.Admin == y.Admin &&
			sameSize(x.ReservedBytes, y.ReservedBytes) && sameSize(x.LimitBytes, y.LimitBytes) &&
			slices.Equal(x.Containers, y.Containers) && slices.Equal(x.DeviceIDs, y.DeviceIDs)
	})
}

func sameSize(a, b *uint64) bool {
	return (a == nil) == (b == nil) && deref(a) == deref(b)
}
