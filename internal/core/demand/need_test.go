// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

func p[T any](v T) *T { return &v }

func gib(v float64) uint64 { return uint64(math.Round(v * (1 << 30))) }

func same(v uint64) Range { return Range{&v, &v} }

// server is the example of docs/engines.md: vLLM with a model of 8 billion
// parameters on an A100 with 80 GB, looked at every 15 s for a day.
func server() (Evidence, Held) {
	return Evidence{Engine: VLLM, Model: "llama", AnsweredMS: 86_400_000, Answered: 5760, WaitingKnown: 5760, UseMax: p(0.22),
			Preempted: p(uint64(0)), Hits: p(uint64(500)), Queries: p(uint64(10_000)),
			PoolBytes: same(gib(55.42)), PoolTokens: same(454_000), RequestTokens: same(8192)},
		Held{TotalBytes: gib(79.15), HeldBytes: gib(17.4) + gib(55.42), DurationMS: 86_400_000}
}

func TestNeed(t *testing.T) {
	e, h := server()
	d, refusals := Need(e, h)
	if refusals != nil {
		t.Fatalf("refused: %+v", refusals)
	}
	near := func(got uint64, want float64) bool { return math.Abs(float64(got)/(1<<30)-want) < 0.005 }
	if !near(d.FixedBytes, 17.4) || !near(d.CacheBytes, 15.24) || !near(d.NeedBytes, 32.64) || d.Hundredths != 42 || d.Grade != gpu.Estimated {
		t.Errorf("demand %+v", d)
	}
	// One request of the greatest length must fit, however little was used.
	e.UseMax, e.RequestTokens = p(0.001), same(227_000)
	if d, _ = Need(e, h); d.CacheBytes != ceilOf(gib(55.42), 227_000, 454_000) || !near(d.CacheBytes, 27.71) {
		t.Errorf("room for the longest request: %+v", d)
	}
	// A pool that is full has no room to give, and none is invented.
	e.UseMax = p(0.95)
	if d, _ = Need(e, h); d.CacheBytes != d.PoolBytes || d.NeedBytes != h.HeldBytes {
		t.Errorf("a full pool: %+v", d)
	}
	// SGLang's fraction is of something else.
	e.Engine = SGLang
	if d, refusals = Need(e, h); d.Hundredths != 0 || d.NeedBytes != h.HeldBytes || refusals != nil {
		t.Errorf("SGLang: %+v, %+v", d, refusals)
	}
	if d, refusals = Need(Evidence{Engine: Ollama, Answered: 1}, h); d.NeedBytes != h.HeldBytes || d.Grade != gpu.Measured || refusals != nil {
		t.Errorf("Ollama: %+v, %+v", d, refusals)
	}
}

// TestRefusals: each figure that is missing or in doubt is a refusal with a code,
// what is missing and how to get it; none is guessed.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Evidence, *Held)
		codes  []string
		says   string
	}{
		{"waits in 2 % of looks, 40 preemptions", func(e *Evidence, _ *Held) { e.Waited, e.Preempted = 115, p(uint64(40)) }, []string{Saturated}, "115 of 5760"},
		{"waits just too often", func(e *Evidence, _ *Held) { e.Waited = 6 }, []string{Saturated}, "6 of 5760"},
		{"waits as often as may be", func(e *Evidence, _ *Held) { e.Waited = 5 }, nil, ""},
		{"one preemption", func(e *Evidence, _ *Held) { e.Preempted = p(uint64(1)) }, []string{Saturated}, "1 requests"},
		{"nobody counts preemptions", func(e *Evidence, _ *Held) { e.Preempted = nil }, []string{Saturated}, "whether requests were preempted"},
		{"paused ones wait instead", func(e *Evidence, _ *Held) { e.Preempted, e.Pauses = nil, true }, nil, ""},
		{"nobody says who waits", func(e *Evidence, _ *Held) { e.WaitingKnown = 0 }, []string{Saturated}, "whether requests waited"},
		{"a prefix cache at work", func(e *Evidence, _ *Held) { e.UseMax, e.Hits = p(0.15), p(uint64(7200)) }, []string{PrefixCache}, "72 %"},
		{"a fifth hits", func(e *Evidence, _ *Held) { e.Hits = p(uint64(2000)) }, []string{PrefixCache}, "20 %"},
		{"hit rate not told", func(e *Evidence, _ *Held) { e.Hits = nil }, []string{PrefixCache}, "hit rate"},
		{"hit rate as a gauge", func(e *Evidence, _ *Held) { e.Hits, e.HitMax = nil, p(0.1) }, nil, ""},
		{"a cache that nobody asked", func(e *Evidence, _ *Held) { e.Hits, e.Queries = p(uint64(0)), p(uint64(0)) }, nil, ""},
		{"answered 89 % of the time", func(_ *Evidence, h *Held) { h.DurationMS = 97_000_000 }, []string{Coverage}, "86400 of 97000"},
		{"answered 90 % of the time", func(_ *Evidence, h *Held) { h.DurationMS = 96_000_000 }, nil, ""},
		{"no time at all", func(_ *Evidence, h *Held) { h.DurationMS = 0 }, []string{Coverage}, ""},
		{"another model on the way", func(e *Evidence, _ *Held) { e.Mixed = true }, []string{ChangedWorkload}, "one model"},
		{"another pool on the way", func(e *Evidence, _ *Held) { e.PoolBytes.Most = p(gib(60)) }, []string{ChangedWorkload}, "setting"},
		{"use not told", func(e *Evidence, _ *Held) { e.UseMax = nil }, []string{PreallocatedUnknown}, "how much of the pool"},
		{"bytes not told", func(e *Evidence, _ *Held) { e.PoolBytes = Range{} }, []string{PreallocatedUnknown}, "in bytes"},
		{"tokens not told", func(e *Evidence, _ *Held) { e.PoolTokens = Range{} }, []string{PreallocatedUnknown}, "in tokens"},
		{"longest request not told", func(e *Evidence, _ *Held) { e.RequestTokens = Range{} }, []string{PreallocatedUnknown}, "longest request"},
		{"a pool larger than all that is held", func(_ *Evidence, h *Held) { h.HeldBytes = gib(55) }, []string{PreallocatedUnknown}, "are held"},
		{"TGI", func(e *Evidence, _ *Held) { e.Engine = TGI }, []string{PreallocatedUnknown}, "does not tell"},
		{"Triton", func(e *Evidence, _ *Held) { e.Engine = Triton }, []string{PreallocatedUnknown}, "device's"},
		{"never looked at", func(e *Evidence, _ *Held) { *e = Evidence{} }, []string{PreallocatedUnknown}, "engine says"},
		{"several at once", func(e *Evidence, _ *Held) { e.UseMax, e.Waited = nil, 100 }, []string{PreallocatedUnknown, Saturated}, ""},
	} {
		e, h := server()
		c.change(&e, &h)
		d, refusals := Need(e, h)
		var codes []string
		text := ""
		for _, r := range refusals {
			codes = append(codes, r.Code)
			text += r.Missing + "; "
			if r.Missing == "" || r.HowToGet == "" {
				t.Errorf("%s: an empty refusal %+v", c.name, r)
			}
		}
		if !slices.Equal(codes, c.codes) || !strings.Contains(text, c.says) || (len(codes) > 0) == (d.NeedBytes > 0) {
			t.Errorf("%s: %v %q with %d bytes, want %v %q", c.name, codes, text, d.NeedBytes, c.codes, c.says)
		}
	}
}

// TestEvidenceMergesInAnyOrder: the records of a day come to the same evidence in
// any order and in any groups.
func TestEvidenceMergesInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	maybe := func(v uint64) *uint64 {
		if r.IntN(4) == 0 {
			return nil
		}
		return &v
	}
	for range 200 {
		var records []usage.EngineRecord
		for range 2 + r.IntN(8) {
			e := usage.EngineRecord{Span: usage.Span{DurationMS: int64(1 + r.IntN(60_000))}, Failed: int64(r.IntN(2)),
				Preemptions: maybe(r.Uint64N(3)), PrefixHits: maybe(r.Uint64N(9)), PrefixQueries: maybe(9)}
			if r.IntN(3) > 0 {
				e.Answered, e.Engine, e.Model = int64(1+r.IntN(4)), []string{VLLM, SGLang}[r.IntN(2)], []string{"a", "b"}[r.IntN(2)]
				e.PoolUseMax, e.PoolBytes, e.WaitingKnown = p(r.Float64()), maybe(r.Uint64N(3)), e.Answered
			}
			records = append(records, e)
		}
		all := func(order []usage.EngineRecord) (sum Evidence) {
			for i := range order {
				sum.Merge(EvidenceOf(&order[i]))
			}
			return sum
		}
		want := all(records)
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		cut := r.IntN(len(records))
		left, right := all(records[:cut]), all(records[cut:])
		right.Merge(left)
		if !reflect.DeepEqual(want, right) {
			t.Fatalf("%+v is not %+v", right, want)
		}
	}
}

func TestHundredths(t *testing.T) {
	for _, c := range []struct {
		n, of uint64
		want  int
	}{{0, 100, 0}, {1, 100, 1}, {101, 10_000, 2}, {99, 100, 99}, {100, 100, 100}, {200, 100, 100}, {1 << 60, 1<<61 + 1, 50}, {5, 0, 100}} {
		if got := hundredths(c.n, c.of); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.n, c.of, got, c.want)
		}
	}
}
