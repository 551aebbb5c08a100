// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// checkHistory asserts everything that must hold for any history.
func checkHistory(t testing.TB, rs []attribution.Result) {
	t.Helper()
	bs := replay(rs)
	checkTiles(t, rs, bs)
	if got, want := recorded(bs).String(), truth(rs).String(); got != want {
		t.Fatalf("sums differ from the truth (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// checkTiles asserts that every batch checks, that numbers follow each other,
// and that windows tile the monotonic time from first to last sample.
func checkTiles(t testing.TB, rs []attribution.Result, bs []usage.Batch) {
	t.Helper()
	total := int64(0)
	for i, b := range bs {
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		if b.Seq != uint64(i+1) {
			t.Fatalf("batch %d has sequence number %d", i, b.Seq)
		}
		if b.Gap == nil && (b.DurationMS > 60000 || b.StartMS/60000 != (b.StartMS+b.DurationMS-1)/60000) {
			t.Fatalf("batch %d: %d+%d ms is not within one minute", i, b.StartMS, b.DurationMS)
		}
		total += b.DurationMS
	}
	if want := rs[len(rs)-1].MonoMS - rs[0].MonoMS; total != want {
		t.Fatalf("windows tile %d ms of %d", total, want)
	}
}

func TestLongHistoryBalancesAndTiles(t *testing.T) {
	t.Parallel()
	checkHistory(t, someHistory(seeded(1), 10_000))
}

func TestManyHistoriesBalanceAndTile(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		checkHistory(t, someHistory(seeded(1000+seed), 100))
	}
}

// TestDaysOfSleepAreNamedByAGap: time tiles, and what nobody saw is one batch.
func TestDaysOfSleepAreNamedByAGap(t *testing.T) {
	t.Parallel()
	h := newHistory(seeded(9))
	h.suspends = true
	var rs []attribution.Result
	for range 200 {
		rs = append(rs, h.next())
	}
	bs, gaps := replay(rs), 0
	checkTiles(t, rs, bs)
	for _, b := range bs {
		if b.Gap != nil {
			gaps++
		}
	}
	if gaps == 0 || len(bs) > 1500 {
		t.Fatalf("%d batches, %d of them gaps: sleep was written out minute by minute", len(bs), gaps)
	}
}

func TestAnyHistoryBalancesAndTiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "d") }
		rs := someHistory(d, rapid.IntRange(1, 40).Draw(rt, "samples"))
		bs := replay(rs)
		for _, b := range bs {
			if err := b.Check(); err != nil {
				rt.Fatal(err)
			}
		}
		if diff := cmp.Diff(truth(rs).String(), recorded(bs).String()); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestReplayIsByteIdentical(t *testing.T) {
	t.Parallel()
	rs := someHistory(seeded(3), 1500)
	if asJSON(t, replay(rs)) != asJSON(t, replay(rs)) {
		t.Fatal("two replays of one history differ")
	}
}

// TestOrderOfSlicesDoesNotMatter shuffles every list of every sample.
func TestOrderOfSlicesDoesNotMatter(t *testing.T) {
	t.Parallel()
	rs := someHistory(seeded(4), 1000)
	want := replay(rs)
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 3 {
		mixed := make([]attribution.Result, len(rs))
		for i := range rs {
			mixed[i] = shuffled(rnd, rs[i])
		}
		for i, got := range replay(mixed) {
			if a, b := asJSON(t, want[i:i+1]), asJSON(t, []usage.Batch{got}); a != b {
				t.Fatalf("records depend on the order of lists:\n%s\n%s", a, b)
			}
		}
	}
}

func shuffled(rnd *rand.Rand, r attribution.Result) attribution.Result {
	r.Partitions = mix(rnd, r.Partitions)
	for i := range r.Partitions {
		p := &r.Partitions[i]
		p.Holdings, p.Grants, p.Accounted = mix(rnd, p.Holdings), mix(rnd, p.Grants), mix(rnd, p.Accounted)
		for j := range p.Grants {
			p.Grants[j].Containers, p.Grants[j].DeviceIDs = mix(rnd, p.Grants[j].Containers), mix(rnd, p.Grants[j].DeviceIDs)
		}
	}
	r.Findings, r.Pods = mix(rnd, r.Findings), mix(rnd, r.Pods)
	for i := range r.Findings {
		r.Findings[i].Victims = mix(rnd, r.Findings[i].Victims)
	}
	events := map[gpu.UUID][]sampleEvent{}
	for k, v := range r.Events {
		events[k] = mix(rnd, v)
	}
	r.Events = events
	return r
}

func mix[T any](rnd *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestSumsDoNotDependOnHowAddIsSplit repeats samples between samples, and
// closes and begins anew at a sample: the sums stay the same.
func TestSumsDoNotDependOnHowAddIsSplit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		rs := someHistory(seeded(50+seed), 200)
		want := recorded(replay(rs)).String()
		if got := recorded(replay(withRepeats(rs))).String(); got != want {
			t.Fatalf("seed %d: repeated samples changed the sums:\n%s", seed, cmp.Diff(want, got))
		}
		in, half := usage.New(testConfig), len(rs)/2
		var bs []usage.Batch
		for _, r := range rs[:half+1] {
			bs = append(bs, in.Add(r)...)
		}
		bs = append(bs, in.Close(rs[half].MonoMS, rs[half].At)...)
		for _, r := range rs[half:] {
			bs = append(bs, in.Add(r)...)
		}
		bs = append(bs, in.Close(rs[len(rs)-1].MonoMS, rs[len(rs)-1].At)...)
		if got := recorded(bs).String(); got != want {
			t.Fatalf("seed %d: a restart changed the sums:\n%s", seed, cmp.Diff(want, got))
		}
		checkTiles(t, rs, bs)
	}
}

// withRepeats puts copies of a sample between it and the next, where the two
// are not too far apart to be measured.
func withRepeats(rs []attribution.Result) []attribution.Result {
	out := []attribution.Result{rs[0]}
	for i := 1; i < len(rs); i++ {
		if dt := rs[i].MonoMS - rs[i-1].MonoMS; dt > 3 && dt <= 15000 {
			for _, part := range []int64{dt / 3, dt / 2} {
				r := rs[i-1]
				r.MonoMS += part
				r.At = r.At.Add(msDuration(part))
				out = append(out, r)
			}
		}
		out = append(out, rs[i])
	}
	return out
}
