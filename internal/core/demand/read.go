// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gputally/gputally/internal/core/sample"
)

// Read tells what a page says. It is false where no engine is known by it.
func Read(p Page) (sample.EngineReading, bool) {
	for i := range dialects {
		d := &dialects[i]
		if len(p.first(d.marks)) == 0 {
			continue
		}
		return d.read(p), true
	}
	return sample.EngineReading{}, false
}

func (d *dialect) read(p Page) sample.EngineReading {
	r := sample.EngineReading{
		Engine: d.engine, PoolUse: share(p.first(d.use)), Running: count(p.first(d.running)), Waiting: count(p.first(d.waiting)),
		Preemptions: count(p.first(d.preemptions)), PrefixHits: count(p.first(d.hits)), PrefixQueries: count(p.first(d.queries)),
		PoolTokens: least(p.first(d.poolTokens)), RequestTokens: least(p.first(d.requestLimit)),
		PrefixHitRate: share(p.first(d.hitRate)), Generated: count(p.first(d.generated)),
	}
	if ranks, ok := byRank(p.first(d.use)); ok {
		r.Pools = int64(len(ranks))
	}
	if len(d.paused) > 0 {
		r.Pauses = true
		r.Waiting = add(r.Waiting, count(p.first(d.paused)))
	}
	if r.PoolTokens == nil {
		r.PoolTokens = product(least(p.first(d.blocks)), least(p.first(d.perBlock)))
	}
	r.PoolBytes = poolBytes(p.first(d.poolGB))
	r.Model, r.Models = modelsOf(p, d)
	if d.more != nil {
		d.more(p, &r)
	}
	if r.PrefixHits == nil || r.PrefixQueries == nil || *r.PrefixHits > *r.PrefixQueries {
		r.PrefixHits, r.PrefixQueries = nil, nil // one without the other is no rate
	}
	return r
}

// modelsOf is the one model that the engine's series name, or how many.
func modelsOf(p Page, d *dialect) (string, int64) {
	names := map[string]bool{}
	for _, of := range [][]string{d.use, d.running, d.waiting, d.marks} {
		for _, s := range p.first(of) {
			if m := s.model(); m != "" {
				names[m] = true
			}
		}
	}
	if len(names) != 1 {
		return "", int64(len(names))
	}
	return slices.Collect(maps.Keys(names))[0], 1
}

func product(a, b *uint64) *uint64 {
	if a == nil || b == nil {
		return nil
	}
	return whole(float64(*a) * float64(*b))
}

// poolBytes is the smallest pool. The engine writes GB and may mean GiB: taken
// as 10^9 bytes, what that is wrong by makes the need larger, never smaller.
func poolBytes(all []Series) *uint64 {
	ranks, ok := byRank(all)
	if !ok {
		return nil
	}
	low := slices.Min(slices.Collect(maps.Values(ranks)))
	if low <= 0 {
		return nil
	}
	return whole(low * 1e9)
}

// vllmSettings reads the labels of vllm:cache_config_info. "None" is how it
// writes what is not set.
func vllmSettings(p Page, r *sample.EngineReading) {
	for i := range p[vllmConfig] {
		s := &p[vllmConfig][i]
		tokens := number(s, labelPoolTokens)
		if tokens == nil {
			tokens = product(number(s, labelBlocks), number(s, labelBlockSize))
		}
		r.PoolTokens = lower(r.PoolTokens, tokens)
		r.PoolBytes = lower(r.PoolBytes, number(s, labelPoolBytes))
		r.MemoryFraction = fraction(s, labelFraction)
		if at, ok := decimal(s, labelConcurrency); ok && at > 0 && tokens != nil {
			r.RequestTokens = whole(math.Ceil(float64(*tokens) / at))
		}
	}
}

func tensorRTSettings(p Page, r *sample.EngineReading) {
	for i := range p[tensorRTConfig] {
		r.MemoryFraction = fraction(&p[tensorRTConfig][i], labelFreeFraction)
	}
}

// tritonBackend reads the figures of the TensorRT-LLM backend.
func tritonBackend(p Page, r *sample.EngineReading) {
	block := func(kind string) []Series { return with(p[tritonBlocks], labelBlockType, kind) }
	r.PoolUse = share(block("fraction"))
	used, most := count(block("used")), count(block("max"))
	if r.PoolUse == nil && used != nil && most != nil && *most > 0 && *used <= *most {
		v := float64(*used) / float64(*most)
		r.PoolUse = &v
	}
	if ranks, ok := byRank(block("max")); ok {
		r.Pools = int64(len(ranks))
	}
	r.PoolTokens = product(least(block("max")), least(block("tokens_per")))
	r.Running = count(with(p[tritonRequests], labelRequestType, "scheduled"))
	r.Waiting = count(with(p[tritonRequests], labelRequestType, "waiting"))
	r.Waiting = add(r.Waiting, count(with(p[tritonBatcher], labelBatcher, "paused_requests")))
	r.Pauses = true
}

func number(s *Series, label string) *uint64 {
	n, err := strconv.ParseUint(s.Labels[label], 10, 53)
	if err != nil || n == 0 {
		return nil
	}
	return &n
}

func decimal(s *Series, label string) (float64, bool) {
	v, err := strconv.ParseFloat(s.Labels[label], 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func fraction(s *Series, label string) *float64 {
	if v, ok := decimal(s, label); ok && v > 0 && v <= 1 {
		return &v
	}
	return nil
}

// lower is the smaller of two, where both are known.
func lower(a, b *uint64) *uint64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
