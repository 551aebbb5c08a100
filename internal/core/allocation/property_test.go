// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"encoding/json"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

func mustAllocate(t *rapid.T, h Hour, p Policy) []Entry {
	res, err := Allocate(h, p)
	if err != nil {
		t.Fatal(err)
	}
	return res.Entries
}

type potName struct {
	start    int64
	resource Resource
	slot     string
}

// conserved checks invariants M and D: for each slot, and for CPU and memory,
// of each piece, amounts sum to the cost and shares to the time, and no entry
// is below 0; without a price every amount is unknown.
func conserved(t *rapid.T, h Hour, entries []Entry) {
	sums, times, ids := map[potName]*money.Sum{}, map[potName]int64{}, map[string]bool{}
	priced := map[int64]bool{}
	for _, c := range h.Costs {
		priced[c.StartMS] = c.Priced
	}
	for _, e := range entries {
		k := potName{e.StartMS, e.Resource, e.Slot}
		if ids[e.ID] {
			t.Fatalf("two entries have the id %s: %s", e.ID, asJSON(e))
		}
		ids[e.ID] = true
		times[k] += e.ShareMS
		if sums[k] == nil {
			sums[k] = &money.Sum{}
		}
		switch {
		case (e.Amount != nil) != priced[e.StartMS] && (e.Slot != "" || e.Resource != ResourceGPU):
			t.Fatalf("priced %v, amount %v: %s", priced[e.StartMS], e.Amount, asJSON(e))
		case e.Amount != nil && *e.Amount < 0 || e.ShareMS < 0 || e.UsedMS < 0 || e.UnusedMS < 0 || e.UsedMS+e.UnusedMS > e.ShareMS:
			t.Fatalf("below 0, or parts above the whole: %s", asJSON(e))
		case e.Amount != nil:
			sums[k].Add(*e.Amount)
		}
		byGrade := int64(0)
		for _, ms := range e.GradeMS {
			byGrade += ms
		}
		if e.GradeMS != nil && byGrade != e.ShareMS {
			t.Fatalf("grades sum to %d ms: %s", byGrade, asJSON(e))
		}
	}
	for _, c := range h.Costs {
		pots := map[potName]money.Nano{}
		for _, s := range c.Slots {
			pots[potName{c.StartMS, ResourceGPU, s.Slot}] = s.Cost
		}
		if c.Priced && c.CPU > 0 {
			pots[potName{c.StartMS, ResourceCPU, ""}] = c.CPU
		}
		if c.Priced && c.Memory > 0 {
			pots[potName{c.StartMS, ResourceMemory, ""}] = c.Memory
		}
		for k, cost := range pots {
			if sums[k] == nil || times[k] != c.DurationMS {
				t.Fatalf("%v: shares sum to %d of %d ms", k, times[k], c.DurationMS)
			}
			if n, err := sums[k].Nano(); err != nil || n != cost {
				t.Fatalf("%v: entries sum to %s, it cost %s", k, sums[k], cost)
			}
		}
	}
}

func TestEntriesSumToTheCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, p := randomHour(t), randomPolicy(t)
		for _, b := range h.Batches {
			if err := b.Check(); err != nil {
				t.Fatalf("the test's own records are wrong: %v", err)
			}
		}
		conserved(t, h, mustAllocate(t, h, p))
	})
}

// TestSharesAreThoseOfTheModel compares every weight, exactly, with a second
// reading of the model.
func TestSharesAreThoseOfTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, p := randomHour(t), randomPolicy(t)
		lines, err := Explain(h, p)
		if err != nil {
			t.Fatal(err)
		}
		got, want := shares{}, oracle(h, p)
		for _, l := range lines {
			if l.Entry.Resource == ResourceGPU && l.Entry.Slot != "" {
				got.add(nameOf(&l.Entry), l.Weight)
				if sum := new(big.Rat).Add(l.ForHeld, new(big.Rat).Add(l.ForUnused, l.ForOther)); sum.Cmp(l.Weight) != 0 {
					t.Fatalf("parts sum to %s, not to the weight %s", sum, l.Weight)
				}
			}
		}
		if alike(want, got, coarse(h)) {
			return // shares of a trillionth are cut at 80 bits
		}
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("%s: shares differ (-model +got):\n%s", p.Name(), diff)
		}
	})
}

// alike: no share is off by more than the 2^60th part of a millisecond, and
// none at all where the shares of grants are of up to a thousandth.
func alike(want, got shares, exact bool) bool {
	bound := big.NewRat(1, 1<<60)
	if exact {
		bound = new(big.Rat)
	}
	all := maps.Clone(want)
	maps.Copy(all, got)
	for k := range all {
		off := new(big.Rat)
		for sign, n := range map[int64]*big.Rat{1: want[k], -1: got[k]} {
			if n != nil {
				off.Add(off, new(big.Rat).Mul(n, big.NewRat(sign, 1)))
			}
		}
		if off.Abs(off).Cmp(bound) > 0 {
			return false
		}
	}
	return true
}

// coarse: every grant keeps a share that has a denominator of up to a thousand.
func coarse(h Hour) bool {
	for _, b := range h.Batches {
		for _, g := range b.Grants {
			if g.Grant.Reserved.Den > 1001 {
				return false
			}
		}
	}
	return true
}

func nameOf(e *Entry) lineName {
	n := lineName{e.StartMS, e.Slot, e.Partition.String(), e.Kind, e.Account, e.Note}
	switch e.Holder.Kind {
	case workload.KindPod:
		n.who = e.Holder.PodKey()
	case workload.KindHost:
		n.who = e.Holder.Unit
	}
	return n
}

func texts(s shares) map[string]string {
	out := map[string]string{}
	for k, n := range s {
		out[asJSON([]any{k.start, k.slot, k.partition, k.kind, k.who, k.note})] = n.String()
	}
	return out
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestOrderAndRepetitionDoNotMatter: invariants R and D. Batches in another
// order, some of them twice, their lists in another order: the same bytes.
func TestOrderAndRepetitionDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, p := randomHour(t), randomPolicy(t)
		want := asJSON(mustAllocate(t, h, p))
		rnd := rand.New(rand.NewPCG(uint64(dice{t}.n(1000)), 1))
		mixed := Hour{Costs: slices.Clone(h.Costs), Unschedulable: h.Unschedulable}
		for _, b := range h.Batches {
			b = shuffledBatch(rnd, b)
			for range 1 + rnd.IntN(2) {
				mixed.Batches = append(mixed.Batches, b)
			}
		}
		shuffle(rnd, mixed.Batches)
		shuffle(rnd, mixed.Costs)
		if got := asJSON(mustAllocate(t, mixed, p)); got != want {
			t.Fatalf("order matters:\n%s", cmp.Diff(want, got))
		}
	})
}

func shuffle[T any](rnd *rand.Rand, list []T) {
	rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func shuffledBatch(rnd *rand.Rand, b usage.Batch) usage.Batch {
	b.Partitions, b.Holders = slices.Clone(b.Partitions), slices.Clone(b.Holders)
	b.Grants, b.Pods = slices.Clone(b.Grants), slices.Clone(b.Pods)
	shuffle(rnd, b.Partitions)
	shuffle(rnd, b.Holders)
	shuffle(rnd, b.Grants)
	shuffle(rnd, b.Pods)
	return b
}

// TestAgentsAndClocksNeverDoubleTime: invariant D for two agents, restarts and
// clocks set back: any windows at any times still sum to the cost.
func TestAgentsAndClocksNeverDoubleTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, other, p := randomHour(t), randomHour(t), randomPolicy(t)
		for i, b := range other.Batches {
			b.Agent, b.Boot = []string{"a", "z"}[dice{t}.n(2)], "c"
			b.Seq = uint64(i + 1)
			h.Batches = append(h.Batches, b)
		}
		conserved(t, h, mustAllocate(t, h, p))
	})
}

// TestDistributionMovesAndAltersNothingElse: what a platform account was before
// is Amount + Moved, what moved is what the shared entries have, and the
// workloads' own entries are the same, under every way of distributing.
func TestDistributionMovesAndAltersNothingElse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, p := randomHour(t), randomPolicy(t)
		p.ID = "same"
		plain := p
		plain.Distribute = nil
		before, after := mustAllocate(t, h, plain), mustAllocate(t, h, p)
		moved, shared := money.Sum{}, money.Sum{}
		var restored []Entry
		for _, e := range after {
			if e.Kind == Shared {
				shared.Add(*e.Amount)
				continue
			}
			if e.Moved != nil {
				moved.Add(*e.Moved)
				e.Amount, e.Moved = new(*e.Amount+*e.Moved), nil
			}
			restored = append(restored, e)
		}
		if moved != shared {
			t.Fatalf("moved %s, shared %s", moved, shared)
		}
		if a, b := asJSON(before), asJSON(restored); a != b {
			t.Fatalf("distribution alters more than it moves:\n%s", cmp.Diff(a, b))
		}
	})
}
