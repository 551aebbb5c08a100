// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// EngineRecord is what the looks at one inference engine came to in a window.
// Figures that no look told are nil: unknown, not 0.
type EngineRecord struct {
	Span
	// Holder is the container of the pod, or the pod where that is not known.
	Holder workload.Holder `json:"holder"`
	Engine string          `json:"engine,omitempty"`
	Model  string          `json:"model,omitempty"`
	// Models and Pools are those of the last look that told them.
	Models int64 `json:"models,omitempty"`
	Pools  int64 `json:"pools,omitempty"`
	// Answered looks told something; Failed did not, and Problems says by word
	// how many for which reason.
	Answered int64            `json:"answered,omitempty"`
	Failed   int64            `json:"failed,omitempty"`
	Problems map[string]int64 `json:"problems,omitempty"`
	// PoolUseMax and PoolUseMean are over the looks that told it, each counting
	// once. Between two looks nothing is known.
	PoolUseMax  *float64 `json:"pool_use_max,omitempty"`
	PoolUseMean *float64 `json:"pool_use_mean,omitempty"`
	// The settings are those of the last look. Declared: an annotation of the
	// pod says PoolBytes or RequestTokens, not the engine.
	PoolTokens     *uint64  `json:"pool_tokens,omitempty"`
	PoolBytes      *uint64  `json:"pool_bytes,omitempty"`
	RequestTokens  *uint64  `json:"request_tokens,omitempty"`
	MemoryFraction *float64 `json:"memory_fraction,omitempty"`
	Declared       bool     `json:"declared,omitempty"`
	LoadedBytesMax *uint64  `json:"loaded_bytes_max,omitempty"`
	// WaitingKnown looks told how many requests wait; in Waited of them one did.
	WaitingKnown int64   `json:"waiting_known,omitempty"`
	Waited       int64   `json:"waited,omitempty"`
	WaitingMax   *uint64 `json:"waiting_max,omitempty"`
	RunningMax   *uint64 `json:"running_max,omitempty"`
	// Preemptions, PrefixHits and PrefixQueries are what counters grew by since
	// the look before, all of it in the window of the later look.
	Preemptions      *uint64  `json:"preemptions,omitempty"`
	PrefixHits       *uint64  `json:"prefix_hits,omitempty"`
	PrefixQueries    *uint64  `json:"prefix_queries,omitempty"`
	PrefixHitRateMax *float64 `json:"prefix_hit_rate_max,omitempty"`
	// GeneratedTokens is what its counter grew by, as above.
	GeneratedTokens *uint64 `json:"generated_tokens,omitempty"`
	// Pauses: requests that lost their memory are told as waiting, and no
	// counter of preemptions exists.
	Pauses bool `json:"pauses,omitempty"`
}

// forgetEngineMS is how long what an engine counted is kept without a look.
const forgetEngineMS = 3_600_000

// engineBook follows the engines that were looked at.
type engineBook map[workload.Holder]*engineTrack

type engineTrack struct {
	sum  EngineRecord
	uses int64
	use  int64 // sum of shares, fixed
	seen int64 // monotonic ms
	// What the counters showed last.
	preemptions, hits, queries, generated mark
}

// mark is the last value of a counter.
type mark struct {
	last  uint64
	known bool
}

// grow is what a counter grew by since the last look, nil where that is not
// known. One that is lower than before began again.
func (m *mark) grow(v *uint64, to **uint64) {
	if v == nil {
		return
	}
	if m.known {
		by := *v
		if *v >= m.last {
			by -= m.last
		}
		sum := addUint(deref(*to), by)
		*to = &sum
	}
	m.last, m.known = *v, true
}

// observe takes the looks of a sample into the window that is open.
func (b engineBook) observe(looks []attribution.Engine, now int64) {
	for i := range looks {
		e := &looks[i]
		t := b[e.Holder]
		if t == nil {
			t = &engineTrack{}
			b[e.Holder] = t
		}
		t.seen = now
		if e.Problem != "" {
			t.fail(e.Problem)
			continue
		}
		t.answer(&e.Reading)
	}
}

func (t *engineTrack) fail(problem string) {
	t.sum.Failed++
	if t.sum.Problems == nil {
		t.sum.Problems = map[string]int64{}
	}
	t.sum.Problems[problem]++
}

func (t *engineTrack) answer(r *sample.EngineReading) {
	s := &t.sum
	s.Answered++
	s.Engine, s.Model, s.Models, s.Pools = r.Engine, r.Model, r.Models, r.Pools
	s.PoolTokens, s.PoolBytes, s.RequestTokens, s.MemoryFraction = r.PoolTokens, r.PoolBytes, r.RequestTokens, r.MemoryFraction
	s.Declared, s.Pauses = r.Declared, r.Pauses
	if f := fixedOf(r.PoolUse); f != fixedNone {
		t.uses++
		t.use += int64(f)
		s.PoolUseMax = most(s.PoolUseMax, r.PoolUse)
	}
	if r.Waiting != nil {
		s.WaitingKnown++
		if *r.Waiting > 0 {
			s.Waited++
		}
	}
	s.WaitingMax, s.RunningMax = most(s.WaitingMax, r.Waiting), most(s.RunningMax, r.Running)
	s.LoadedBytesMax = most(s.LoadedBytesMax, r.LoadedBytes)
	s.PrefixHitRateMax = most(s.PrefixHitRateMax, r.PrefixHitRate)
	t.preemptions.grow(r.Preemptions, &s.Preemptions)
	t.hits.grow(r.PrefixHits, &s.PrefixHits)
	t.queries.grow(r.PrefixQueries, &s.PrefixQueries)
	t.generated.grow(r.Generated, &s.GeneratedTokens)
}

// most is the larger of two of which either may not be known.
func most[T uint64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// write returns the records of the window and starts the next.
func (b engineBook) write(span Span, now int64) []EngineRecord {
	var out []EngineRecord
	for holder, t := range b {
		if t.sum.Answered+t.sum.Failed == 0 {
			if now-t.seen > forgetEngineMS {
				delete(b, holder)
			}
			continue
		}
		t.sum.Span, t.sum.Holder = span, holder
		if t.uses > 0 {
			mean := float64(t.use) / float64(t.uses) / fixedOne
			t.sum.PoolUseMean = &mean
		}
		out = append(out, t.sum)
		t.sum, t.use, t.uses = EngineRecord{}, 0, 0
	}
	slices.SortFunc(out, func(a, c EngineRecord) int { return a.Holder.Compare(c.Holder) })
	return out
}

// maxEngineText bounds the texts of a record that come from an engine.
const maxEngineText = 128

// check says what is wrong with a record, nil where nothing is.
func (r *EngineRecord) check() error {
	problems := int64(0)
	for word, n := range r.Problems {
		if n <= 0 || len(word) > maxEngineText {
			return fmt.Errorf("problem %.40q stands %d times", word, n)
		}
		problems += n
	}
	switch {
	case r.Answered < 0 || r.Failed < 0 || r.Answered+r.Failed == 0 || problems != r.Failed:
		return fmt.Errorf("answered %d, failed %d, problems %d do not add up", r.Answered, r.Failed, problems)
	case r.Waited < 0 || r.Waited > r.WaitingKnown || r.WaitingKnown > r.Answered:
		return fmt.Errorf("waited %d, waiting known %d, answered %d do not nest", r.Waited, r.WaitingKnown, r.Answered)
	case len(r.Engine) > maxEngineText || len(r.Model) > maxEngineText:
		return fmt.Errorf("engine or model is longer than %d bytes", maxEngineText)
	}
	return checkShares(r)
}

func checkShares(r *EngineRecord) error {
	var wrong []string
	for name, v := range map[string]*float64{
		"pool_use_max": r.PoolUseMax, "pool_use_mean": r.PoolUseMean, "memory_fraction": r.MemoryFraction, "prefix_hit_rate_max": r.PrefixHitRateMax,
	} {
		if v != nil && !(*v >= 0 && *v <= 1) {
			wrong = append(wrong, fmt.Sprintf("%s %v", name, *v))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s: not within 0 and 1", strings.Join(wrong, ", "))
}
