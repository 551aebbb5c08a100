// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"github.com/gputally/gputally/internal/core/usage"
)

// Evidence is what the records of one engine come to. Those of any windows merge
// exactly and in any order; the zero value is none.
type Evidence struct {
	Engine string `json:"engine,omitempty"`
	Model  string `json:"model,omitempty"`
	// Mixed: engine or model was not the same all the time.
	Mixed bool `json:"mixed,omitempty"`
	// AnsweredMS is the length of the windows in which at least one look was
	// answered.
	AnsweredMS int64 `json:"answered_ms"`
	Answered   int64 `json:"answered"`
	Failed     int64 `json:"failed,omitempty"`
	// WaitingKnown looks told how many wait; in Waited of them one did.
	WaitingKnown int64    `json:"waiting_known,omitempty"`
	Waited       int64    `json:"waited,omitempty"`
	UseMax       *float64 `json:"pool_use_max,omitempty"`
	// Preempted, Hits and Queries are sums of what was told.
	Preempted *uint64  `json:"preempted,omitempty"`
	Hits      *uint64  `json:"prefix_hits,omitempty"`
	Queries   *uint64  `json:"prefix_queries,omitempty"`
	HitMax    *float64 `json:"prefix_hit_rate_max,omitempty"`
	// Generated is how many tokens were generated.
	Generated *uint64 `json:"generated_tokens,omitempty"`
	// Pauses: who lost memory is among those that wait.
	Pauses        bool  `json:"pauses,omitempty"`
	PoolBytes     Range `json:"pool_bytes,omitzero"`
	PoolTokens    Range `json:"pool_tokens,omitzero"`
	RequestTokens Range `json:"request_tokens,omitzero"`
	// Fraction is the share of the partition that it takes in advance, the most that
	// was set; nil where it did not tell.
	Fraction *float64 `json:"memory_fraction,omitempty"`
}

// Range is the least and the most of a setting; nil where it was never told.
type Range struct {
	Least *uint64 `json:"least,omitempty"`
	Most  *uint64 `json:"most,omitempty"`
}

func (r Range) with(o Range) Range {
	return Range{lower(r.Least, o.Least), higher(r.Most, o.Most)}
}

// one is the setting where it was the same all the time.
func (r Range) one() (uint64, bool) {
	if r.Least == nil || *r.Least != *r.Most {
		return 0, false
	}
	return *r.Least, true
}

// changed: it was told, and not always the same.
func (r Range) changed() bool { return r.Least != nil && *r.Least != *r.Most }

func higher[T uint64 | float64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// EvidenceOf is what one record tells.
func EvidenceOf(r *usage.EngineRecord) Evidence {
	e := Evidence{Engine: r.Engine, Model: r.Model, Answered: r.Answered, Failed: r.Failed, WaitingKnown: r.WaitingKnown, Waited: r.Waited,
		UseMax: r.PoolUseMax, Preempted: r.Preemptions, Hits: r.PrefixHits, Queries: r.PrefixQueries, HitMax: r.PrefixHitRateMax, Generated: r.GeneratedTokens, Pauses: r.Pauses,
		PoolBytes: Range{r.PoolBytes, r.PoolBytes}, PoolTokens: Range{r.PoolTokens, r.PoolTokens}, RequestTokens: Range{r.RequestTokens, r.RequestTokens}, Fraction: r.MemoryFraction}
	if r.Answered > 0 {
		e.AnsweredMS = r.DurationMS
	}
	return e
}

// Merge adds what others tell of the same engine.
func (e *Evidence) Merge(o Evidence) {
	if e.Answered > 0 && o.Answered > 0 && (e.Engine != o.Engine || e.Model != o.Model) {
		e.Mixed = true
	}
	// The name that stands is the same in whatever order they come.
	if e.Answered == 0 || o.Answered > 0 && (o.Engine < e.Engine || o.Engine == e.Engine && o.Model < e.Model) {
		e.Engine, e.Model = o.Engine, o.Model
	}
	e.Mixed, e.Pauses = e.Mixed || o.Mixed, e.Pauses || o.Pauses
	e.AnsweredMS += o.AnsweredMS
	e.Answered, e.Failed = e.Answered+o.Answered, e.Failed+o.Failed
	e.WaitingKnown, e.Waited = e.WaitingKnown+o.WaitingKnown, e.Waited+o.Waited
	e.UseMax, e.HitMax = higher(e.UseMax, o.UseMax), higher(e.HitMax, o.HitMax)
	e.Preempted, e.Hits, e.Queries = add(e.Preempted, o.Preempted), add(e.Hits, o.Hits), add(e.Queries, o.Queries)
	e.Generated = add(e.Generated, o.Generated)
	e.PoolBytes, e.PoolTokens, e.RequestTokens = e.PoolBytes.with(o.PoolBytes), e.PoolTokens.with(o.PoolTokens), e.RequestTokens.with(o.RequestTokens)
	e.Fraction = higher(e.Fraction, o.Fraction)
}

// Pool is what it took in advance, in bytes, and what of that a request of the
// greatest length needs (0 where that is not told). It is false where it did not say
// the same all the time, or nothing.
func (e *Evidence) Pool() (pool, request uint64, ok bool) {
	pool, ok = e.PoolBytes.one()
	tokens, haveTokens := e.PoolTokens.one()
	longest, haveLongest := e.RequestTokens.one()
	if ok && haveTokens && haveLongest && tokens > 0 {
		request = ceilOf(pool, longest, tokens)
	}
	return pool, request, ok
}

// HitRate is the share of the prefix cache's queries that hit: by its counters,
// else the most that the engine said of itself. A cache that nobody asked has 0.
func (e *Evidence) HitRate() *float64 {
	if e.Hits == nil || e.Queries == nil {
		return e.HitMax
	}
	rate := 0.0
	if *e.Queries > 0 {
		rate = min(float64(*e.Hits)/float64(*e.Queries), 1)
	}
	return &rate
}
