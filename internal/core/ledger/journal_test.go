// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// journal is a store as small as one can be: it adds lines and refuses an id
// that it has.
type journal struct {
	lines   []Line
	closed  []Closed
	costs   map[pieceKey]pricing.NodeCost
	frozen  map[string][]byte
	sets    map[string]string
	entries map[NodeHour][]allocation.Entry
}

func newJournal() *journal {
	return &journal{costs: map[pieceKey]pricing.NodeCost{}, frozen: map[string][]byte{}, entries: map[NodeHour][]allocation.Entry{}}
}

func (j *journal) of(h NodeHour) (out []Line) {
	for _, l := range j.lines {
		if l.NodeHour == h && !l.IsDrift() {
			out = append(out, l)
		}
	}
	return out
}

func (j *journal) periods() Periods { return NewPeriods(j.sets, j.closed) }

// fataler is *testing.T or *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// rate books a rating and says which lines that added.
func (j *journal) rate(t fataler, r Rating, costs []pricing.NodeCost) []Line {
	t.Helper()
	lines, err := Book(j.of(r.NodeHour), r, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	for k := range j.costs {
		if k.node == r.Node && k.cluster == r.Cluster && k.startMS-k.startMS%hourMS == r.HourMS {
			delete(j.costs, k)
		}
	}
	for _, c := range costs {
		j.costs[pieceKey{c.Cluster, c.Node, c.StartMS}] = c
	}
	j.entries[r.NodeHour] = r.Entries
	j.add(t, lines)
	return lines
}

func (j *journal) add(t fataler, lines []Line) {
	t.Helper()
	for _, l := range lines {
		if slices.ContainsFunc(j.lines, func(have Line) bool { return have.ID == l.ID }) {
			t.Fatalf("line %s is there already", l.ID)
		}
	}
	j.lines = append(j.lines, lines...)
}

func (j *journal) last(s Scope) *Closed {
	var last *Closed
	for i := range j.closed {
		if c := &j.closed[i]; c.Scope == s && (last == nil || c.Month > last.Month) {
			last = c
		}
	}
	return last
}

// close closes a month and keeps its statements.
func (j *journal) close(t fataler, c Closing) Closed {
	t.Helper()
	out, err := Close(c, j.last(c.Scope), StatementLines(j.lines, c.Scope, c.Month, c.Level), func(p Payer) (io.Writer, error) {
		return &keeping{j, frozenKey(c.Scope, c.Month, p)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	j.closed = append(j.closed, out)
	return out
}

type keeping struct {
	journal *journal
	key     string
}

func (k *keeping) Write(b []byte) (int, error) {
	k.journal.frozen[k.key] = append(k.journal.frozen[k.key], b...)
	return len(b), nil
}

func frozenKey(s Scope, m Month, p Payer) string { return fmt.Sprint(s, m, p) }

func (j *journal) verify(c Closed) error {
	var previous *Closed
	for i := range j.closed {
		if p := &j.closed[i]; p.Scope == c.Scope && p.Month == c.Month-1 {
			previous = p
		}
	}
	return Verify(c, previous, StatementLines(j.lines, c.Scope, c.Month, c.Level), func(p Payer) (io.Reader, error) {
		return bytes.NewReader(j.frozen[frozenKey(c.Scope, c.Month, p)]), nil
	})
}

func (j *journal) allCosts() []pricing.NodeCost {
	out := []pricing.NodeCost{}
	for _, c := range j.costs {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b pricing.NodeCost) int {
		return NodeHour{a.Cluster, a.Node, a.StartMS}.Compare(NodeHour{b.Cluster, b.Node, b.StartMS})
	})
	return out
}

// sound checks every invariant, and that all closed months are as they were.
func (j *journal) sound(t fataler) {
	t.Helper()
	if v := Check(Journal{Lines: j.lines, Costs: j.allCosts(), Closed: j.closed}); v != nil {
		t.Fatal(v)
	}
	for _, c := range j.closed {
		if err := j.verify(c); err != nil {
			t.Fatal(err)
		}
	}
	for h, want := range j.entries {
		got, err := Net(j.of(h))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inOrder(want), inOrder(got), totals); diff != "" {
			t.Fatalf("the lines of %s do not sum to its newest rating (-want +got):\n%s", h, diff)
		}
		if got, want := bySplit(j.of(h)), entriesBySplit(want); !maps.Equal(got, want) {
			t.Fatalf("by rule of splitting, the lines of %s sum to %v, its newest rating to %v", h, got, want)
		}
	}
}

// bySplit is what lines come to under each rule, entriesBySplit the same of entries.
func bySplit(lines []Line) map[pricing.Rule]money.Sum {
	out := map[pricing.Rule]money.Sum{}
	for i := range lines {
		addSplit(out, lines[i].Split(), lines[i].Amount)
	}
	return out
}

func entriesBySplit(entries []allocation.Entry) map[pricing.Rule]money.Sum {
	out := map[pricing.Rule]money.Sum{}
	for i := range entries {
		addSplit(out, splitOf(entries[i].Basis), entries[i].Amount)
	}
	return out
}

func addSplit(to map[pricing.Rule]money.Sum, rule pricing.Rule, amount *money.Nano) {
	if amount == nil {
		return
	}
	sum := to[rule]
	sum.Add(*amount)
	if to[rule] = sum; sum == (money.Sum{}) {
		delete(to, rule)
	}
}

var totals = cmp.Comparer(func(a, b usage.Total) bool { return a == b })

// inOrder is entries by id, without what of the basis is no fact: that is of the
// rating that booked last.
func inOrder(entries []allocation.Entry) []allocation.Entry {
	out := slices.Clone(entries)
	for i := range out {
		if out[i].Basis != nil {
			out[i].Basis = &pricing.Basis{Grade: out[i].Basis.Grade, Split: out[i].Basis.Split}
		}
	}
	slices.SortFunc(out, func(a, b allocation.Entry) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return out
}

// at is a moment in Unix milliseconds.
func at(text string) int64 {
	when, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return when.UnixMilli()
}

func month(text string) Month {
	m, err := ParseMonth(text)
	if err != nil {
		panic(err)
	}
	return m
}

// hour is what a small rater divides: each slot's cost by weights.
type hour struct {
	NodeHour
	currency money.Currency // empty: no price
	price    pricing.Grade
	split    pricing.Rule
	policy   string
	// cutMS cuts the hour in two pieces, where it is not 0.
	cutMS int64
	pots  []potOf
}

type potOf struct {
	resource allocation.Resource
	slot     string
	cost     money.Nano
	parts    []partOf
}

type partOf struct {
	kind          allocation.Kind
	account, from string
	name          string // of the pod whose uid is account
	weight        int64
	grade         gpu.Grade
	moved         money.Nano
}

// entries divides the hour as allocation does, and says what it cost.
func (h *hour) entries(t fataler) (out []allocation.Entry, costs []pricing.NodeCost) {
	t.Helper()
	starts := []int64{0, hourMS}
	if h.cutMS > 0 {
		starts = []int64{0, h.cutMS, hourMS}
	}
	for i := 1; i < len(starts); i++ {
		cost := pricing.NodeCost{
			Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS + starts[i-1], DurationMS: starts[i] - starts[i-1],
			Priced: h.currency != "", Currency: h.currency, Basis: pricing.Basis{Grade: h.price, Split: string(h.split)},
		}
		for p := range h.pots {
			out = append(out, h.pots[p].entries(t, h, &cost)...)
		}
		slices.SortFunc(cost.Slots, func(a, b pricing.SlotCost) int { return bytes.Compare([]byte(a.Slot), []byte(b.Slot)) })
		costs = append(costs, cost)
	}
	return out, costs
}

func (p *potOf) entries(t fataler, h *hour, cost *pricing.NodeCost) (out []allocation.Entry) {
	t.Helper()
	paid := p.cost * money.Nano(cost.DurationMS) / hourMS
	switch {
	case !cost.Priced && p.resource != allocation.ResourceGPU:
		cost.CPUMilli, cost.MemoryBytes = 1, 1
		paid = 0
	case !cost.Priced:
		paid = 0
		cost.Slots = append(cost.Slots, pricing.SlotCost{Slot: p.slot})
	case p.resource == allocation.ResourceGPU:
		cost.Slots = append(cost.Slots, pricing.SlotCost{Slot: p.slot, Cost: paid})
	case p.resource == allocation.ResourceCPU:
		cost.CPU = paid
	default:
		cost.Memory = paid
	}
	cost.Total += paid
	weights, timed := make([]int64, len(p.parts)), make([]int64, len(p.parts))
	for i, part := range p.parts {
		weights[i] = part.weight
		if part.kind != allocation.Shared {
			timed[i] = part.weight
		}
	}
	amounts, err := money.ApportionInts(paid, weights...)
	if err != nil {
		t.Fatal(err)
	}
	shares, err := money.ApportionInts(money.Nano(cost.DurationMS), timed...)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range p.parts {
		e := p.entry(h, cost, &part, int64(shares[i]))
		if cost.Priced {
			e.Amount, e.Currency = &amounts[i], cost.Currency
			if part.moved != 0 {
				e.Moved = &part.moved
			}
		}
		out = append(out, e)
	}
	return out
}

func (p *potOf) entry(h *hour, cost *pricing.NodeCost, part *partOf, share int64) allocation.Entry {
	e := allocation.Entry{
		ID:      digestID(h.Cluster, h.Node, fmt.Sprint(cost.StartMS), string(p.resource), p.slot, string(part.kind), part.account, part.from, h.policy),
		Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: cost.StartMS, DurationMS: cost.DurationMS,
		Resource: p.resource, Slot: p.slot, Kind: part.kind, Account: part.account, From: part.from, Policy: h.policy,
		Basis: &cost.Basis, Quantities: allocation.Quantities{Grade: part.grade},
	}
	if part.kind != allocation.Platform {
		e.Holder = workload.Holder{Kind: workload.KindPod, PodUID: part.account, Namespace: "ns-" + part.account, Pod: part.name}
		e.Account = e.Holder.Account()
	}
	if part.kind == allocation.Shared {
		return e
	}
	e.ShareMS, e.UsedMS, e.UnusedMS, e.PresentMS = share, share/2, share/3, share
	e.ByteMS.Add(uint64(share) * 1_000_003)
	if p.resource == allocation.ResourceGPU {
		e.Partition = gpu.Whole(gpu.UUID("GPU-" + p.slot))
	}
	if share > 1 && part.weight%3 == 0 && part.grade != gpu.Measured {
		e.GradeMS = map[gpu.Grade]int64{gpu.Measured: share / 2, part.grade: share - share/2}
	}
	return e
}

func (h *hour) rating(t fataler, atMS int64) (Rating, []pricing.NodeCost) {
	t.Helper()
	entries, costs := h.entries(t)
	return Rating{NodeHour: h.NodeHour, Entries: entries, Revision: Revision{Policy: h.policy, AtMS: atMS}}, costs
}

func bytesOf(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func shuffled(seed uint64, lines []Line) []Line {
	out := slices.Clone(lines)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

var _ fataler = (*testing.T)(nil)
