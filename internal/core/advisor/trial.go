// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/counterfactual"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// Trial is what was proposed, to be made to recorded hours: dividing them again tells what
// it does to the charge, whatever the policy.
type Trial struct {
	Cluster string
	Pods    counterfactual.Pods
	Change  counterfactual.Change
	// Hours are the sample, in order; At are the nodes that the workload was on in each.
	Hours []int64
	At    map[int64][]string
	// monthMS of each ofMS is for how long partitions would be altered in a month: all of
	// the workload's of today, for as much of the time as what was proposed is about.
	monthMS, ofMS *big.Int
}

// monthLong is a month in milliseconds.
const monthLong = advice.MonthHours * hourMS

// Month scales what a charge fell by, while partitions were altered for so long, to a
// month.
func (t *Trial) Month(fell money.Sum, alteredMS int64) (money.Nano, error) {
	num := new(big.Int).Mul(fell.Big(), t.monthMS)
	den := new(big.Int).Mul(big.NewInt(alteredMS), t.ofMS)
	return pricing.Rate(new(big.Rat).SetFrac(num, den))
}

// Plain reports whether the price of what a workload has, or of a part of it, is what it is
// charged: what a change does to the charge is then known without dividing anything. The
// policy has to charge for what a grant keeps and to pass nothing on, and the workload to be
// alone there. Where a machine goes or stands still, no CPU may be charged for.
func (c *Case) Plain(r *advice.Recommendation, p *allocation.Policy) bool {
	if r.Kind == advice.KindHostDemand { // only CPU and memory are asked for less
		return r.Money != nil && r.Money.Split == string(pricing.RuleAllGPU)
	}
	if p.Basis == allocation.Memory || len(p.Distribute) > 0 || !c.aloneThroughout() {
		return false
	}
	if r.Kind == advice.KindReclaim || r.Kind == advice.KindShape {
		return r.Money != nil && r.Money.Split == string(pricing.RuleAllGPU)
	}
	return true
}

// PlainShare is Plain of workloads that would share a card: they would be charged for what
// they hold. Where turns keep their part, they are not.
func PlainShare(group []*Case, p *allocation.Policy) bool {
	held := p.Basis == "" || p.Basis == allocation.Held
	return held && !p.TurnsReserve && len(p.Distribute) == 0 && !slices.ContainsFunc(group, func(c *Case) bool { return !c.aloneThroughout() })
}

func (c *Case) aloneThroughout() bool {
	for _, h := range c.hours {
		if h.Holders > 1 || h.LeakBytes > 0 || h.Mode != gpu.ModeExclusive && h.Mode != gpu.ModeMIG {
			return false
		}
	}
	return true
}

// Trial is what a recommendation proposes; nil where there is nothing to try.
func (c *Case) Trial(r *advice.Recommendation, f *Fleet) *Trial {
	if r.State != advice.Advised || r.Proposed == nil || r.Money == nil {
		return nil
	}
	t := c.trial(len(c.now))
	switch r.Kind {
	case advice.KindMIG:
		to, ok := c.instance(r.Proposed.Profile)
		if !ok {
			return nil
		}
		t.Change = counterfactual.Smaller(t.Pods, to)
	case advice.KindFewer:
		given := r.Proposed.With
		t = c.trial(len(given))
		t.Change = counterfactual.Without(t.Pods, given)
		t.keep(c, func(at place, _ int64) bool { return slices.Contains(given, at.partition.String()) })
	case advice.KindReclaim:
		c.stopped(t, r)
	case advice.KindShape:
		return c.elsewhere(t, r, f)
	case advice.KindPool:
		to, err := gpu.ParseRatio(r.Proposed.Fraction)
		if err != nil || c.Subject.Pool == nil {
			return nil
		}
		t.Change = counterfactual.Holding(t.Pods, to.Of(c.Subject.Pool.TotalBytes))
	case advice.KindHostDemand:
		t = c.trial(c.pods)
		t.Change = counterfactual.Asking(t.Pods, r.Proposed.CPUMilli, r.Proposed.HostBytes)
	default:
		return nil
	}
	return t
}

// ShareTrial is that of workloads on one card. The card is that of the first.
func ShareTrial(group []*Case) *Trial {
	t := group[0].trial(len(group))
	tenants := []counterfactual.Pods{t.Pods}
	all := counterfactual.Pods{}
	for i, c := range group {
		if i > 0 {
			o := c.trial(1)
			tenants = append(tenants, o.Pods)
			for h := range t.At {
				t.At[h] = append(t.At[h], o.At[h]...)
			}
		}
		for pod := range tenants[i] {
			all[pod] = true
		}
	}
	for h := range t.At {
		slices.Sort(t.At[h])
		t.At[h] = slices.Compact(t.At[h])
	}
	t.Pods, t.Change = all, counterfactual.Together(tenants)
	return t
}

// trial is one of a workload that has so many places today, without a change yet.
func (c *Case) trial(places int) *Trial {
	t := &Trial{Cluster: c.Target.Cluster, Pods: counterfactual.Pods{}, monthMS: big.NewInt(int64(places) * monthLong), ofMS: big.NewInt(1)}
	for _, h := range c.hours {
		t.Pods[h.Holder.PodKey()] = true
	}
	t.keep(c, func(place, int64) bool { return true })
	return t
}

// keep samples the hours that a change is about.
func (t *Trial) keep(c *Case, about func(at place, hour int64) bool) {
	t.At = map[int64][]string{}
	var hours []int64
	for _, h := range c.hours {
		if about(place{h.Cluster, h.Node, h.Partition}, h.HourMS) {
			hours = append(hours, h.HourMS)
		}
	}
	slices.Sort(hours)
	t.Hours = counterfactual.Sample(slices.Compact(hours))
	for _, h := range c.hours {
		if _, in := slices.BinarySearch(t.Hours, h.HourMS); in && !slices.Contains(t.At[h.HourMS], h.Node) {
			t.At[h.HourMS] = append(t.At[h.HourMS], h.Node)
		}
	}
	for h := range t.At {
		slices.Sort(t.At[h])
	}
}

// instance is a profile of the workload's card.
func (c *Case) instance(profile string) (counterfactual.Instance, bool) {
	for _, p := range c.profiles() {
		if p.Name == profile {
			return counterfactual.Instance{Profile: p.Name, Bytes: p.Bytes, Slices: p.Slices, Of: c.Device.Slices, Stranded: c.LeastStranded(p.Slices)}, true
		}
	}
	return counterfactual.Instance{}, false
}

// stopped is a trial of the stops that were replayed: for as much of a month as they were of
// the time looked at.
func (c *Case) stopped(t *Trial, r *advice.Recommendation) {
	var in []usage.Span
	for _, s := range advice.Stops(c.minutes(), proposed, c.Work) {
		in = append(in, usage.Span{StartMS: s.FromMS, DurationMS: s.ToMS - s.FromMS})
	}
	t.keep(c, func(_ place, hour int64) bool {
		return slices.ContainsFunc(in, func(s usage.Span) bool { return s.StartMS < hour+hourMS && hour < s.StartMS+s.DurationMS })
	})
	t.Change = counterfactual.Stopped(t.Pods, in)
	for _, o := range r.Options {
		if o.StopAfterMS == proposed {
			t.monthMS.Mul(t.monthMS, big.NewInt(o.StoppedMS))
			t.ofMS = big.NewInt(c.ToMS - c.FromMS)
		}
	}
}

// elsewhere is a trial on the machine proposed; nil where it has no price.
func (c *Case) elsewhere(t *Trial, r *advice.Recommendation, f *Fleet) *Trial {
	if f.Shapes == nil || f.Reprice == nil {
		return nil
	}
	first := c.now[0]
	shapes := f.Shapes(first.cluster, first.node, c.host())
	i := slices.IndexFunc(shapes, func(s advice.Shape) bool { return s.Name == r.Proposed.Model })
	cost := f.Reprice(first.cluster, first.node, r.Proposed.Model)
	if i < 0 || cost == nil {
		return nil
	}
	t.Change = counterfactual.Elsewhere(t.Pods, counterfactual.Machine{Cost: cost, Bytes: shapes[i].CapacityBytes})
	return t
}
