// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math"

	"github.com/gputally/gputally/internal/core/gpu"
)

// Pool is what an inference engine told of the memory that it takes in advance.
type Pool struct {
	// TotalBytes is the device or instance that the fraction is of; FixedBytes
	// what was held after the start less the pool; PoolBytes the pool.
	TotalBytes, FixedBytes, PoolBytes uint64
	// RequestBytes is what one request of the greatest length needs.
	RequestBytes uint64
	// UsageMax is the most of the pool that a scrape saw in use, HitRate the
	// share of the prefix cache's queries that hit; nil if not told.
	UsageMax, HitRate *float64
	// Scrapes of Expected succeeded; in Waiting of them a request waited.
	Scrapes, Expected, Waiting int64
	Preemptions                int64
}

// SmallerPool proposes a lower memory fraction. Alone it saves nobody anything:
// the grant stays. It lets the workload fit a smaller profile or a neighbour.
func SmallerPool(s Subject) (Recommendation, error) {
	r := begin(KindPool, &s)
	r.Refusals = s.gates()
	if s.Engine == "" {
		return r.refuse(Refusal{NoCapacityEffect, "an engine that takes memory in advance", "what it holds is what it needs"}), nil
	}
	demand, ok := s.pooled(&r)
	if !ok || blocked(r.Refusals) {
		return r.refuse(), nil
	}
	now, err := gpu.ParseRatio(s.Current.Fraction)
	if err != nil {
		return r, fmt.Errorf("memory fraction of %s now: %w", s.Target.Owner, err)
	}
	then := hundredths(demand, s.Pool.TotalBytes)
	before, after := now.Of(s.Pool.TotalBytes), then.Of(s.Pool.TotalBytes)
	text := fmt.Sprintf("%.2f", float64(then.Num)/100)
	t := Test{Of: text, Name: "below what is set", Sum: gib(after) + " of " + gib(before), Value: float64(after), Limit: float64(before), Unit: "bytes", Holds: after < before}
	r.Tests = append(r.Tests, t)
	if !t.Holds {
		return r.refuse(Refusal{NoFit, "a fraction below " + s.Current.Fraction, "the pool is not larger than what is needed"}), nil
	}
	r.Evidence = append(r.Evidence, Evidence{"freed_inside_grant", "difference", float64(before - after), "bytes", gpu.Estimated})
	r.Refusals = append(r.Refusals, s.latency()...)
	r.Refusals = append(r.Refusals, Refusal{NoCapacityEffect, "a smaller grant: this one keeps the whole device whatever is in it", "combine it with sharing, a MIG profile or a smaller card"})
	r.Risk = Risk{Restart: true, Notes: []string{"too small a pool is no error but preemption and recomputing: watch preemptions and time to first token"}}
	var m *Money
	if s.Price != nil {
		m = s.Price.money(Enabler)
		m.ChargeDelta = new(m.CashMean)
	}
	return r.finish(&s, Change{Fraction: text}, m), nil
}

// pooled is the demand inside what the engine took, or why it is not known.
func (s *Subject) pooled(r *Recommendation) (uint64, bool) {
	p := s.Pool
	if len(s.PoolRefusals) > 0 {
		r.Refusals = append(r.Refusals, s.PoolRefusals...)
		return 0, false
	}
	if p == nil || p.UsageMax == nil || p.PoolBytes == 0 || p.TotalBytes == 0 || *p.UsageMax < 0 || *p.UsageMax > 1 || math.IsNaN(*p.UsageMax) {
		r.Refusals = append(r.Refusals, Refusal{PreallocatedUnknown, "how much of its pool " + s.Engine + " uses", "have its metrics read (an annotation on the pod), and the pool's size from its log or arguments"})
		return 0, false
	}
	r.Refusals = append(r.Refusals, p.refusals()...)
	r.Evidence = append(r.Evidence, Evidence{"kv_cache_usage", "max of scrapes", *p.UsageMax, "ratio", gpu.Estimated})
	cache := max(uint64(math.Ceil(PoolHeadroom**p.UsageMax*float64(p.PoolBytes))), p.RequestBytes)
	fixed := p.FixedBytes
	r.Need.HardBytes, r.Need.SoftBytes = &fixed, &cache
	return fixed + cache, !blocked(r.Refusals)
}

// refusals are why usage of the pool does not tell what is needed of it.
func (p *Pool) refusals() (out []Refusal) {
	if p.Expected <= 0 || float64(p.Scrapes) < MinMeasured*float64(p.Expected) {
		out = append(out, Refusal{Coverage, fmt.Sprintf("%d of %d scrapes of the engine succeeded", p.Scrapes, p.Expected), "see why its metrics could not be read"})
	}
	if p.Preemptions > 0 || float64(p.Scrapes-p.Waiting) < CalmScrapes*float64(p.Scrapes) {
		out = append(out, Refusal{Saturated, fmt.Sprintf("time without waiting: in %d of %d scrapes requests waited, %d were preempted", p.Waiting, p.Scrapes, p.Preemptions), "the pool is too small at peaks: add a replica or memory"})
	}
	if p.HitRate == nil || *p.HitRate >= HitRateMost {
		had := "the hit rate of the prefix cache"
		if p.HitRate != nil {
			had = fmt.Sprintf("what the prefix cache needs: %s of its queries hit, and usage does not count it", percent(*p.HitRate))
		}
		out = append(out, Refusal{PrefixCache, had, "try 20 % less pool for a day and watch time to first token"})
	}
	return out
}

// hundredths is the share, rounded up to a hundredth.
func hundredths(n, of uint64) gpu.Ratio {
	if n >= of {
		return gpu.Ratio{Num: 100, Den: 100}
	}
	step := gpu.Ratio{Num: 1, Den: 100}
	for ; step.Num < 100; step.Num++ {
		if step.Of(of) >= n {
			break
		}
	}
	return step
}
