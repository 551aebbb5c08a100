// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/big"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// The oracle computes the same shares again, slowly and in plain fractions, as
// accounting.md §4 reads: one record at a time, shares between 0 and 1.

type lineName struct {
	start     int64
	slot      string
	partition string
	kind      Kind
	who       string // a pod's key, a host's unit, or the account
	note      string
}

type shares map[lineName]*big.Rat

func (s shares) add(k lineName, n *big.Rat) {
	if n.Sign() == 0 {
		return
	}
	if s[k] == nil {
		s[k] = new(big.Rat)
	}
	s[k].Add(s[k], n)
}

func ratOf(a, b int64) *big.Rat { return big.NewRat(a, b) }

func mul(a ...*big.Rat) *big.Rat {
	out := ratOf(1, 1)
	for _, n := range a {
		out.Mul(out, n)
	}
	return out
}

// oracle is the GPU shares of a random hour, in milliseconds, for the slots
// that the costs name.
func oracle(h Hour, p Policy) shares {
	out := shares{}
	for _, c := range h.Costs {
		for _, s := range c.Slots {
			oracleSlot(out, h, p, c, s.Slot)
		}
	}
	return out
}

func oracleSlot(out shares, h Hour, p Policy, c pricing.NodeCost, slot string) {
	end := c.StartMS + c.DurationMS
	gap := c.StartMS // up to here everything is told
	var device gpu.UUID
	first := gpu.UUID("")
	for _, b := range h.Batches {
		for _, r := range b.Partitions {
			if r.Slot == slot && (first == "" || r.StartMS < end && r.StartMS+r.DurationMS > c.StartMS) {
				first = r.Partition.Device
			}
		}
	}
	device = first
	missing := func(from, to int64) {
		for ms := from; ms < to; {
			next, account := to, Unmeasured
			for _, b := range h.Batches {
				if b.StartMS > ms {
					next = min(next, b.StartMS)
				} else if ms < b.StartMS+b.DurationMS {
					next = min(next, b.StartMS+b.DurationMS)
					for _, r := range b.Partitions {
						if r.MeasuredMS > 0 {
							account = Unavailable
						}
					}
				}
			}
			k := lineName{c.StartMS, slot, gpu.Whole(device).String(), Platform, account, ""}
			out.add(k, ratOf(next-ms, 1))
			ms = next
		}
	}
	for _, b := range h.Batches {
		for i := range b.Partitions {
			r := &b.Partitions[i]
			from, to := max(r.StartMS, c.StartMS), min(r.StartMS+r.DurationMS, end)
			if r.Slot != slot || from >= to {
				continue
			}
			if !r.Partition.IsInstance() {
				missing(gap, from)
				gap = to
			}
			oracleRecord(out, h, p, c, b, r, from, to)
		}
	}
	missing(gap, end)
}

// oracleRecord cuts a record where the node became unschedulable.
func oracleRecord(out shares, h Hour, p Policy, c pricing.NodeCost, b usage.Batch, r *usage.PartitionRecord, from, to int64) {
	bounds := []int64{from, to}
	for _, s := range h.Unschedulable {
		for _, at := range []int64{s.StartMS, s.StartMS + s.DurationMS} {
			if from < at && at < to {
				bounds = append(bounds[:len(bounds)-1], at, to)
			}
		}
	}
	for i := 1; i < len(bounds); i++ {
		o := record{out: out, policy: p, cost: c, batch: b, rec: r, share: ratOf(1, 1)}
		for _, s := range h.Unschedulable {
			if s.StartMS <= bounds[i-1] && bounds[i-1] < s.StartMS+s.DurationMS {
				o.note = Unschedulable
			}
		}
		if r.Partition.IsInstance() {
			o.share = ratOf(int64(r.Slices), int64(r.DeviceSlices))
		}
		o.share.Mul(o.share, ratOf(bounds[i]-bounds[i-1], r.DurationMS))
		o.all()
	}
}

// record is a record, of which share counts: its slices, and the part of it in
// the piece.
type record struct {
	out    shares
	policy Policy
	cost   pricing.NodeCost
	batch  usage.Batch
	rec    *usage.PartitionRecord
	share  *big.Rat
	note   string
}

func (o *record) name(kind Kind, who, note string) lineName {
	return lineName{o.cost.StartMS, o.rec.Slot, o.rec.Partition.String(), kind, who, note}
}

func (o *record) platform(account, note string, ms int64, share *big.Rat) {
	o.out.add(o.name(Platform, account, note), mul(ratOf(ms, 1), share, o.share))
}

func (o *record) all() {
	r := o.rec
	if r.MIGParent {
		o.parent()
		return
	}
	o.platform(Unavailable, "", r.UnavailableMS, ratOf(1, 1))
	grants := o.grants()
	if r.UnmeasuredMS > 0 {
		switch {
		case r.GrantsUnknownMS == 0 && len(grants) == 0:
			o.platform(Idle, o.note, r.UnmeasuredMS, ratOf(1, 1))
		case o.policy.basis() == Memory:
			o.platform(Unmeasured, "", r.UnmeasuredMS, ratOf(1, 1))
		default:
			o.byGrants(r.UnmeasuredMS, Unmeasured, "", false)
		}
	}
	switch {
	case r.MeasuredMS == 0:
	case r.NoMemoryMS == 0:
		o.measured(r.CapacityByteMS)
	case r.EstimatedCapacityBytes != nil:
		o.measured(*r.EstimatedCapacityBytes * uint64(r.MeasuredMS))
	case r.GrantsUnknownMS > 0:
		o.byGrants(r.MeasuredMS, Unmeasured, "", true)
	default:
		o.byGrants(r.MeasuredMS, Idle, o.note, true)
	}
}

// parent: what no instance covers, by the parent's own times.
func (o *record) parent() {
	r := o.rec
	covered, seen := int64(0), false
	for _, in := range o.batch.Partitions {
		if in.Partition.IsInstance() && in.Partition.Device == r.Partition.Device && in.StartMS == r.StartMS {
			covered += int64(in.Slices)
			seen = true
		}
	}
	rest := ratOf(8-covered, 8)
	stranded := ratOf(min(8-covered, int64(r.StrandedSlices)), 8)
	idle := new(big.Rat).Sub(rest, stranded)
	o.platform(Unavailable, "", r.UnavailableMS, rest)
	o.platform(Stranded, "", r.MeasuredMS, stranded)
	o.platform(Idle, o.note, r.MeasuredMS, idle)
	if seen && r.GrantsUnknownMS == 0 {
		o.platform(Stranded, "", r.UnmeasuredMS, stranded)
		o.platform(Idle, o.note, r.UnmeasuredMS, idle)
	} else {
		o.platform(Unmeasured, "", r.UnmeasuredMS, rest)
	}
}

// wish is what one line wants in one step.
type wish struct {
	line lineName
	n    *big.Rat
}

// serve gives what is wanted, or in proportion what is left; it returns what
// remains and what each got.
func (o *record) serve(left *big.Rat, ms int64, wishes []wish) *big.Rat {
	sum := new(big.Rat)
	for _, w := range wishes {
		sum.Add(sum, w.n)
	}
	for _, w := range wishes {
		got := new(big.Rat).Set(w.n)
		if sum.Cmp(left) > 0 {
			got.Mul(got, new(big.Rat).Quo(left, sum))
		}
		o.out.add(w.line, mul(got, ratOf(ms, 1), o.share))
	}
	if sum.Cmp(left) > 0 {
		return new(big.Rat)
	}
	return new(big.Rat).Sub(left, sum)
}

// reservation is r of one pod; several pods of one claim share it.
type reservation struct {
	r     *big.Rat
	claim string
}

// grants are the reservations by pod, each pod once, the greatest.
func (o *record) grants() map[string]reservation { return o.grantsWhere(false) }

func (o *record) grantsWhere(blind bool) map[string]reservation {
	out := map[string]reservation{}
	for _, g := range o.batch.Grants {
		if g.Partition != o.rec.Partition || g.Span != o.rec.Span {
			continue
		}
		n := reservation{r: new(big.Rat)}
		switch slice := g.Grant.Mode == gpu.ModeTimeSlicing; {
		case g.Grant.Admin:
		case slice && !blind && !o.policy.TurnsReserve && o.policy.basis() != Reserved:
		case slice && (o.rec.Replicas == nil || *o.rec.Replicas == 0):
		case slice:
			n.r.SetFrac64(min(g.Grant.Replicas, *o.rec.Replicas), *o.rec.Replicas)
		default:
			n.r.SetFrac(new(big.Int).SetUint64(g.Grant.Reserved.Num), new(big.Int).SetUint64(g.Grant.Reserved.Den))
		}
		if g.Grant.Mode == gpu.ModeSharedClaim {
			n.claim = g.Grant.Claim
		}
		key := g.Grant.Holder.PodKey()
		if have, ok := out[key]; !ok || have.r.Cmp(n.r) < 0 || have.r.Cmp(n.r) == 0 && have.claim < n.claim {
			out[key] = n
		}
	}
	return out
}

// unused is what each reservation keeps and does not use.
func unused(grants map[string]reservation, u map[string]*big.Rat) map[string]*big.Rat {
	out := map[string]*big.Rat{}
	for pod, g := range grants {
		used, n := new(big.Rat), int64(0)
		for other, o := range grants {
			if other == pod || g.claim != "" && o.claim == g.claim {
				n++
				if u[other] != nil {
					used.Add(used, u[other])
				}
			}
		}
		rest := new(big.Rat).Sub(g.r, used)
		if rest.Sign() > 0 {
			out[pod] = rest.Quo(rest, ratOf(n, 1))
		}
	}
	return out
}

func (o *record) byGrants(ms int64, rest, note string, blind bool) {
	var wishes []wish
	for pod, n := range unused(o.grantsWhere(blind), nil) {
		line := o.name(Direct, pod, "")
		if o.policy.basis() == Memory {
			line = o.name(Platform, Unmeasured, "")
		}
		wishes = append(wishes, wish{line, n})
	}
	left := o.serve(ratOf(1, 1), ms, wishes)
	o.platform(rest, note, ms, left)
}

func (o *record) measured(capacityByteMS uint64) {
	of := func(n uint64) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).SetUint64(n), new(big.Int).SetUint64(capacityByteMS))
	}
	ms, u := o.rec.MeasuredMS, map[string]*big.Rat{}
	var first, third []wish
	third = append(third, wish{o.name(Platform, Overhead, ""), of(o.rec.ReservedByteMS)}, wish{o.name(Platform, Unattributed, ""), of(o.rec.UnattributedByteMS)})
	for _, h := range o.batch.Holders {
		if h.Partition != o.rec.Partition || h.Span != o.rec.Span {
			continue
		}
		switch n := of(h.ByteMS); {
		case h.Holder.Kind == workload.KindHost:
			first = append(first, wish{o.name(Platform, h.Holder.Unit, ""), n})
		case h.Holder.Kind == workload.KindDaemon:
			third = append(third, wish{o.name(Platform, Overhead, ""), n})
		case h.Holder.Kind == workload.KindUnknown:
			third = append(third, wish{o.name(Platform, Unattributed, ""), n})
		case h.Leak:
			first = append(first, wish{o.name(Leak, h.Holder.PodKey(), ""), n})
		default:
			if u[h.Holder.PodKey()] == nil {
				u[h.Holder.PodKey()] = new(big.Rat)
			}
			u[h.Holder.PodKey()].Add(u[h.Holder.PodKey()], n)
		}
	}
	left := o.serve(ratOf(1, 1), ms, first)
	var used, keeps []wish
	for pod, n := range u {
		used = append(used, wish{o.name(Direct, pod, ""), n})
	}
	grants := o.grants()
	switch o.policy.basis() {
	case Reserved:
		for pod, n := range unused(grants, nil) {
			keeps = append(keeps, wish{o.name(Direct, pod, ""), n})
		}
		left = o.serve(left, ms, keeps)
	case Memory:
		left = o.serve(left, ms, used)
	default:
		left = o.serve(left, ms, used)
		for pod, n := range unused(grants, u) {
			keeps = append(keeps, wish{o.name(Direct, pod, ""), n})
		}
		left = o.serve(left, ms, keeps)
	}
	left = o.serve(left, ms, third)
	o.platform(Idle, o.note, ms, left)
}
