// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gputally/gputally/internal/core/gpu"
)

// RulesVersion changes whenever a rule or a number below does.
const RulesVersion = "2026-12"

// The numbers of the rules; all are judgement.
const (
	// Headroom is for peaks of a pool between two looks.
	Headroom = 1.25
	// MinAnswered is the share of the time in which the engine must have
	// answered.
	MinAnswered = 0.90
	// Calm is the share of looks in which nothing may wait.
	Calm = 0.999
	// HitRateMost is from where a pool that looks empty is a prefix cache.
	HitRateMost = 0.20
)

// The codes of refusals, those of advice.
const (
	PreallocatedUnknown = "preallocated_unknown"
	PrefixCache         = "prefix_cache"
	Saturated           = "saturated"
	Coverage            = "coverage"
	ChangedWorkload     = "changed_workload"
)

// Refusal is why demand is not known, what is missing, and how to get it.
type Refusal struct {
	Code     string `json:"code"`
	Missing  string `json:"missing"`
	HowToGet string `json:"how_to_get"`
}

// Held is what was measured of one partition that the engine is on.
type Held struct {
	// TotalBytes is the partition, HeldBytes the most that the workload held.
	TotalBytes, HeldBytes uint64
	// DurationMS is the time that the evidence is of.
	DurationMS int64
}

// Demand is what of the held memory is needed, in bytes on one partition.
type Demand struct {
	// FixedBytes is what is not pool, CacheBytes what is needed of the pool.
	FixedBytes uint64 `json:"fixed_bytes"`
	PoolBytes  uint64 `json:"pool_bytes"`
	CacheBytes uint64 `json:"cache_bytes"`
	NeedBytes  uint64 `json:"need_bytes"`
	// Hundredths is the memory fraction that is enough, rounded up, for engines
	// whose fraction is of the whole partition; else 0.
	Hundredths int       `json:"hundredths,omitempty"`
	Grade      gpu.Grade `json:"grade"`
	// RulesVersion names the table of numbers.
	RulesVersion string `json:"rules_version"`
}

// Need is the demand inside what an engine took in advance, or every reason why
// it is not known. The same evidence gives the same answer.
func Need(e Evidence, h Held) (Demand, []Refusal) {
	d := Demand{Grade: gpu.Estimated, RulesVersion: RulesVersion}
	switch e.Engine {
	case Ollama: // no pool: what is loaded is what is held
		d.FixedBytes, d.NeedBytes, d.Grade = h.HeldBytes, h.HeldBytes, gpu.Measured
		return d, nil
	case VLLM, SGLang, TensorRT:
	default:
		return Demand{}, []Refusal{unspoken(e.Engine)}
	}
	refusals := append(missing(&e, h), doubts(&e, h)...)
	if len(refusals) > 0 {
		return Demand{}, refusals
	}
	pool, _ := e.PoolBytes.one()
	d.PoolBytes, d.FixedBytes = pool, h.HeldBytes-pool
	d.CacheBytes = min(cache(&e, pool), pool)
	d.NeedBytes = d.FixedBytes + d.CacheBytes
	if e.Engine == VLLM {
		d.Hundredths = hundredths(d.NeedBytes, h.TotalBytes)
	}
	return d, nil
}

// cache is what is needed of the pool: the most that was used with room for
// peaks between two looks, and one request of the greatest length at least.
func cache(e *Evidence, pool uint64) uint64 {
	used := uint64(math.Ceil(Headroom * *e.UseMax * float64(pool)))
	tokens, _ := e.PoolTokens.one()
	request, _ := e.RequestTokens.one()
	return max(used, ceilOf(pool, request, tokens))
}

// ceilOf is pool × request / tokens, rounded up, in 128 bits.
func ceilOf(pool, request, tokens uint64) uint64 {
	request = min(request, tokens)
	hi, lo := bits.Mul64(pool, request)
	n, rest := bits.Div64(hi, lo, tokens)
	if rest > 0 {
		n++
	}
	return n
}

// hundredths is n of a whole, rounded up to a hundredth.
func hundredths(n, of uint64) int {
	if of == 0 || n >= of {
		return 100
	}
	hi, lo := bits.Mul64(n, 100)
	v, rest := bits.Div64(hi, lo, of)
	if rest > 0 {
		v++
	}
	return int(v)
}

// unspoken is the refusal for an engine that tells nothing of a pool.
func unspoken(engine string) Refusal {
	switch engine {
	case "":
		return Refusal{PreallocatedUnknown, say("engine_memory"), say("annotate_engine")}
	case Triton:
		return Refusal{PreallocatedUnknown, say("triton_memory"), say("triton_backends")}
	}
	return Refusal{PreallocatedUnknown, say("pool_untold", engine), say("try_pool")}
}

// missing are the figures without which nothing can be worked out.
func missing(e *Evidence, h Held) (out []Refusal) {
	lack := func(what, how string) { out = append(out, Refusal{PreallocatedUnknown, what, how}) }
	pool, havePool := e.PoolBytes.one()
	_, haveTokens := e.PoolTokens.one()
	_, haveRequest := e.RequestTokens.one()
	if e.UseMax == nil {
		lack(say("pool_share"), say("serve_metrics", e.Engine))
	}
	switch {
	case e.PoolBytes.changed() || e.PoolTokens.changed() || e.RequestTokens.changed(): // a refusal of its own
		return out
	case !havePool:
		lack(say("pool_bytes"), say("write_pool"))
	case pool > h.HeldBytes:
		lack(say("pool_fits", pool, h.HeldBytes), say("correct_pool"))
	}
	if !haveTokens {
		lack(say("pool_tokens"), say("newer_engine", e.Engine))
	}
	if !haveRequest {
		lack(say("longest_request"), say("write_length"))
	}
	return out
}

// doubts are why usage of the pool does not tell what is needed of it.
func doubts(e *Evidence, h Held) (out []Refusal) {
	if h.DurationMS <= 0 || float64(e.AnsweredMS) < MinAnswered*float64(h.DurationMS) {
		out = append(out, Refusal{Coverage, say("engine_answered", e.AnsweredMS/1000, h.DurationMS/1000), say("engine_problem")})
	}
	if e.Mixed || e.PoolBytes.changed() || e.PoolTokens.changed() || e.RequestTokens.changed() {
		out = append(out, Refusal{ChangedWorkload, say("one_setting"), say("ask_since")})
	}
	if r := e.saturation(); r != nil {
		out = append(out, *r)
	}
	switch rate := e.HitRate(); {
	case rate == nil:
		out = append(out, Refusal{PrefixCache, say("hit_rate"), say("try_less")})
	case *rate >= HitRateMost:
		out = append(out, Refusal{PrefixCache, say("cache_needs", fmt.Sprintf("%.0f", *rate*100)), say("try_less")})
	}
	return out
}

// saturation is the refusal where requests waited or lost their memory, or
// nobody says that they did not.
func (e *Evidence) saturation() *Refusal {
	grow := say("pool_peaks")
	switch {
	case e.WaitingKnown == 0:
		return &Refusal{Saturated, say("requests_waited"), say("newer_engine", e.Engine)}
	case float64(e.WaitingKnown-e.Waited) < Calm*float64(e.WaitingKnown):
		return &Refusal{Saturated, say("without_waiting", e.Waited, e.WaitingKnown), grow}
	case e.Preempted == nil && !e.Pauses:
		return &Refusal{Saturated, say("requests_preempted"), say("newer_engine", e.Engine)}
	case e.Preempted != nil && *e.Preempted > 0:
		return &Refusal{Saturated, say("without_preemption", *e.Preempted), grow}
	}
	return nil
}
