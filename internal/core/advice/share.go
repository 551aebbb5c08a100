// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
)

// Tenant is one of those who would share a device, with its minutes.
type Tenant struct {
	Subject
	// Trust names the domain of those who may see each other's faults.
	Trust string
	// Active and DRAM are a value per minute, the same minutes for all tenants.
	Active, DRAM Series
}

// Series is a value for each minute, nil where not read.
type Series []*float64

// Share proposes that tenants who each have a device of one kind use one of them
// together, by time-slicing or MPS. Their minutes are added, not their
// percentiles.
func Share(tenants []Tenant, mode gpu.Mode) (Recommendation, error) {
	if len(tenants) < 2 {
		return Recommendation{}, fmt.Errorf("sharing takes two tenants or more, there are %d", len(tenants))
	}
	first := &tenants[0].Subject
	r := begin(KindShare, first)
	r.Target.Partitions, r.Current.With = nil, nil
	for i := range tenants {
		r.Target.Partitions = append(r.Target.Partitions, tenants[i].Target.Partitions...)
		r.Current.With = append(r.Current.With, tenants[i].Target.Namespace+"/"+tenants[i].Target.Owner)
	}
	// In whatever order they are named, it is one proposal.
	r.ID = hash(string(KindShare), first.Target.Cluster, slices.Sorted(slices.Values(r.Current.With)), slices.Sorted(slices.Values(r.Target.Partitions)), first.FromMS, first.ToMS)
	needs := shareGates(&r, tenants, mode)
	if blocked(r.Refusals) {
		return r.refuse(), nil
	}
	r.Tests = append(r.Tests, roomFor(first.Device, needs, len(tenants)))
	r.Tests = append(r.Tests, together(tenants)...)
	if slices.ContainsFunc(r.Tests, func(t Test) bool { return !t.Holds }) {
		return r.refuse(lack(NoFit, Say("room_all"), Say("other_tenants"))), nil
	}
	r.Refusals = append(r.Refusals, first.latency()...)
	r.Risk = Risk{Restart: true, Isolation: isolation(mode), Notes: []string{Say("indivisible_then")}}
	m, err := shareMoney(tenants)
	return r.finish(first, Change{Resource: string(mode), Count: 1, With: r.Current.With}, m), err
}

// shareGates are the refusals of each tenant and of all together.
func shareGates(r *Recommendation, tenants []Tenant, mode gpu.Mode) (needs uint64) {
	bound := map[signal.Class]string{}
	for i := range tenants {
		t := &tenants[i]
		own := begin(KindShare, &t.Subject)
		own.Refusals = append(t.gates(), t.alone()...)
		need, _ := t.memory(&own)
		needs += need
		own.Refusals = append(own.Refusals, t.mayShare(&tenants[0], mode)...)
		class := t.mostly().Class
		if other := bound[class]; other != "" && (class == signal.MemoryBound || class == signal.ComputeBound) {
			own.Refusals = append(own.Refusals, lack(NoFit, Say("other_limits", t.Target.Owner, other, class), Say("beside")))
		}
		bound[class] = t.Target.Owner
		for _, refusal := range own.Refusals {
			refusal.Of = t.Target.Owner
			r.Refusals = append(r.Refusals, refusal)
		}
		r.Evidence = append(r.Evidence, own.Evidence...)
	}
	return needs
}

func (t *Tenant) mayShare(first *Tenant, mode gpu.Mode) (out []Refusal) {
	if t.GPUs > 1 {
		out = append(out, lack(MultiGPU, Say("one_gpu"), Say("neighbours")))
	}
	if t.Trust != first.Trust {
		out = append(out, lack(TrustDomain, Say("one_trust", t.Trust, first.Trust), Say("mig_isolates")))
	}
	if t.Device.Model != first.Device.Model {
		out = append(out, lack(NoFit, Say("one_device", t.Device.Model, first.Device.Model), Say("measure_first")))
	}
	if mode == gpu.ModeMPS && t.HaveSlices > 0 {
		out = append(out, lack(MIGUnsupported, Say("mps_whole"), Say("time_slicing")))
	}
	if len(t.Active) != len(first.Active) || len(t.DRAM) != len(first.Active) || len(t.Active) == 0 {
		out = append(out, lack(NoSignal, Say("same_minutes"), Say("hopper_them")))
	}
	return out
}

func isolation(mode gpu.Mode) string {
	if mode == gpu.ModeMPS {
		return Say("mps_isolation")
	}
	return Say("no_isolation")
}

// roomFor is the memory test: needs, and a context for each tenant.
func roomFor(d Device, needs uint64, tenants int) Test {
	contexts := uint64(tenants) * tenantBytes
	room := d.CapacityBytes - min(d.ReserveBytes+contexts, d.CapacityBytes)
	return memoryTest(Say("all_together"), needs, room)
}

// together are the tests of work: what minutes add up to, and whether any two
// work at the same hours.
func together(tenants []Tenant) []Test {
	pick := func(f func(*Tenant) Series) []Series {
		out := make([]Series, len(tenants))
		for i := range tenants {
			out[i] = f(&tenants[i])
		}
		return out
	}
	active := pick(func(t *Tenant) Series { return t.Active })
	dram := pick(func(t *Tenant) Series { return t.DRAM })
	out := []Test{sumTest("active", active, 1), sumTest("dram", dram, signal.DRAMPeak)}
	for i := range active {
		for j := range i {
			names := tenants[j].Target.Owner + ", " + tenants[i].Target.Owner
			c, ok := correlation(hourly(active[j]), hourly(active[i]))
			out = append(out, Test{Of: names, Name: Say("correlation"), Sum: "Pearson", Value: c, Limit: CorrelationMost, Holds: ok && c < CorrelationMost})
		}
	}
	return out
}

// sumTest is the p99 of the summed minutes. Too few minutes in which all were
// read are no p99, and do not hold.
func sumTest(name string, all []Series, peak float64) Test {
	var s signal.Spread
	for m := range all[0] {
		var sum float64
		for _, one := range all {
			if one[m] == nil {
				sum = -1
				break
			}
			sum += *one[m]
		}
		s.Add(&sum, 1)
	}
	v, ok := s.Quantile(990)
	ok = ok && float64(s.ReadMS()) >= MinMeasured*float64(len(all[0]))
	return Test{Of: Say("all_together"), Name: name, Sum: Say("summed_minutes", s.ReadMS(), fmt.Sprintf("%.2f", peak)), Value: v / peak, Limit: SharedMost, Holds: ok && v/peak <= SharedMost}
}

// shareMoney: one card stays, the others are given back. The tenants then pay by
// what they hold.
func shareMoney(tenants []Tenant) (*Money, error) {
	first := &tenants[0].Subject
	if first.Price == nil {
		return nil, nil
	}
	m, err := first.cardsMoney(len(tenants) - 1)
	if err != nil {
		return nil, err
	}
	var held uint64
	for i := range tenants {
		if tenants[i].MeanBytes == nil {
			m.ChargeDelta = nil
			return m, nil
		}
		held += *tenants[i].MeanBytes
	}
	card, err := month(first.Price.DeviceHour)
	if err != nil {
		return nil, err
	}
	rest := first.Device.CapacityBytes - min(held, first.Device.CapacityBytes)
	parts, err := money.Apportion(card, []*big.Rat{new(big.Rat).SetUint64(held), new(big.Rat).SetUint64(rest)})
	if err != nil {
		return nil, err
	}
	delta := m.FreedIdle + parts[1]
	m.ChargeDelta, m.FreedIdle = &delta, delta
	return m, nil
}
