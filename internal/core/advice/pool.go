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
		return r.refuse(lack(NoCapacityEffect, Say("engine_ahead"), Say("held_needed"))), nil
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
	t := Test{Of: text, Name: Say("below_set"), Sum: Say("sets", gib(after), gib(before)), Value: float64(after), Limit: float64(before), Unit: "bytes", Holds: after < before}
	r.Tests = append(r.Tests, t)
	if !t.Holds {
		return r.refuse(lack(NoFit, Say("fraction_below", s.Current.Fraction), Say("pool_needed"))), nil
	}
	r.Evidence = append(r.Evidence, Evidence{"freed_inside_grant", "difference", float64(before - after), "bytes", gpu.Estimated})
	r.Refusals = append(r.Refusals, s.latency()...)
	r.Refusals = append(r.Refusals, lack(NoCapacityEffect, Say("smaller_grant"), Say("combine")))
	r.Risk = Risk{Restart: true, Notes: []string{Say("preemption")}}
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
		r.Refusals = append(r.Refusals, lack(PreallocatedUnknown, Say("pool_used", s.Engine), Say("read_metrics")))
		return 0, false
	}
	r.Refusals = append(r.Refusals, p.refusals()...)
	r.Evidence = append(r.Evidence, Evidence{"kv_cache_usage", Say("max_scrapes"), *p.UsageMax, "ratio", gpu.Estimated})
	cache := max(uint64(math.Ceil(PoolHeadroom**p.UsageMax*float64(p.PoolBytes))), p.RequestBytes)
	fixed := p.FixedBytes
	r.Need.HardBytes, r.Need.SoftBytes = &fixed, &cache
	return fixed + cache, !blocked(r.Refusals)
}

// refusals are why usage of the pool does not tell what is needed of it.
func (p *Pool) refusals() (out []Refusal) {
	if p.Expected <= 0 || float64(p.Scrapes) < MinMeasured*float64(p.Expected) {
		out = append(out, lack(Coverage, Say("scrapes", p.Scrapes, p.Expected), Say("why_unread")))
	}
	if p.Preemptions > 0 || float64(p.Scrapes-p.Waiting) < CalmScrapes*float64(p.Scrapes) {
		out = append(out, lack(Saturated, Say("no_calm", p.Waiting, p.Scrapes, p.Preemptions), Say("pool_peaks")))
	}
	if p.HitRate == nil || *p.HitRate >= HitRateMost {
		had := Say("hit_rate")
		if p.HitRate != nil {
			had = Say("cache_needs", fmt.Sprintf("%.1f", *p.HitRate*100))
		}
		out = append(out, lack(PrefixCache, had, Say("try_less")))
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
