// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

// world is a journal and what its nodes cost.
type world struct {
	lines  []ledger.Line
	costs  map[costKey]pricing.NodeCost
	closed []ledger.Closed
}

type costKey struct {
	node    string
	startMS int64
}

// part is who has what of a pot, by weight.
type part struct {
	kind          allocation.Kind
	account, from string // a platform account, or "namespace/pod"
	weight        int64
	grade         gpu.Grade
	moved         money.Nano
}

// pot is a slot, or the CPU or the memory of the node, with its cost.
type pot struct {
	resource allocation.Resource
	slot     string
	cost     money.Nano
	parts    []part
}

func at(text string) int64 {
	when, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		panic(err)
	}
	return when.UnixMilli()
}

func month(text string) ledger.Month {
	m, err := ledger.ParseMonth(text)
	if err != nil {
		panic(err)
	}
	return m
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// rate books an hour of a node. Without a currency it has no price.
func (w *world) rate(t fataler, node, hour string, c money.Currency, p pricing.Grade, pots ...pot) {
	t.Helper()
	h := ledger.NodeHour{Cluster: "c", Node: node, HourMS: at(hour)}
	cost := pricing.NodeCost{Cluster: "c", Node: node, StartMS: h.HourMS, DurationMS: hourMS, Priced: c != "", Currency: c}
	var entries []allocation.Entry
	for _, pot := range pots {
		entries = append(entries, pot.entries(t, h, c, p)...)
		if cost.Priced {
			cost.Total += pot.cost
		}
	}
	var before []ledger.Line
	for _, l := range w.lines {
		if l.NodeHour == h && !l.IsDrift() {
			before = append(before, l)
		}
	}
	lines, err := ledger.Book(before, ledger.Rating{NodeHour: h, Entries: entries}, w.periods())
	if err != nil {
		t.Fatal(err)
	}
	w.lines = append(w.lines, lines...)
	if w.costs == nil {
		w.costs = map[costKey]pricing.NodeCost{}
	}
	w.costs[costKey{node, h.HourMS}] = cost
}

func (w *world) periods() ledger.Periods { return ledger.NewPeriods(nil, w.closed) }

func (p *pot) entries(t fataler, h ledger.NodeHour, c money.Currency, price pricing.Grade) (out []allocation.Entry) {
	t.Helper()
	var weights, timed []int64
	for _, part := range p.parts {
		weights = append(weights, part.weight)
		if part.kind == allocation.Shared {
			timed = append(timed, 0)
		} else {
			timed = append(timed, part.weight)
		}
	}
	amounts, err := money.ApportionInts(p.cost, weights...)
	if err != nil {
		t.Fatal(err)
	}
	shares := make([]money.Nano, len(timed)) // parts that were passed on have no time
	if slices.Max(timed) > 0 {
		if shares, err = money.ApportionInts(hourMS, timed...); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range p.parts {
		e := part.entry(h, p, int64(shares[i]))
		if c != "" {
			e.Amount, e.Currency, e.Basis = &amounts[i], c, &pricing.Basis{Grade: price, Source: "list"}
			if part.moved != 0 {
				e.Moved = &part.moved
			}
		}
		out = append(out, e)
	}
	return out
}

func (p *part) entry(h ledger.NodeHour, of *pot, share int64) allocation.Entry {
	e := allocation.Entry{
		ID:      fmt.Sprint(h.Node, h.HourMS, of.resource, of.slot, p.kind, p.account, p.from),
		Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: h.HourMS, DurationMS: hourMS, Resource: of.resource, Slot: of.slot,
		Kind: p.kind, Account: p.account, From: p.from, Policy: "held", Quantities: allocation.Quantities{Grade: p.grade},
	}
	if of.resource == allocation.ResourceGPU {
		e.Partition, e.Model = gpu.Whole(gpu.UUID("GPU-"+h.Node+of.slot)), "NVIDIA L4"
	}
	if namespace, pod, ok := cut(p.account); ok {
		e.Holder = workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + pod, Namespace: namespace, Pod: pod}
	}
	if p.kind == allocation.Shared {
		return e
	}
	e.ShareMS, e.UsedMS, e.UnusedMS, e.PresentMS, e.GrantedMS = share, share/2, share/4, share, share
	if share == 0 && p.kind == allocation.Direct {
		e.GrantedMS = hourMS // a turn that was never taken
	}
	if p.kind != allocation.Platform {
		e.CPUNanos, e.CPURequestMilliMS = uint64(share)*7, share*3
		e.ByteMS.Add(uint64(share) << 30)
	}
	if share > 1 && p.grade == gpu.Estimated {
		e.GradeMS = map[gpu.Grade]int64{gpu.Measured: share / 2, gpu.Estimated: share - share/2}
	}
	return e
}

func cut(account string) (namespace, pod string, ok bool) {
	for i := range account {
		if account[i] == '/' {
			return account[:i], account[i+1:], true
		}
	}
	return "", "", false
}

func card(slot string, cost money.Nano, parts ...part) pot {
	return pot{resource: allocation.ResourceGPU, slot: slot, cost: cost, parts: parts}
}

func pod(account string, weight int64) part {
	return part{kind: allocation.Direct, account: account, weight: weight, grade: gpu.Measured}
}

func platform(account string, weight int64) part {
	return part{kind: allocation.Platform, account: account, weight: weight, grade: gpu.Derived}
}

func (w *world) close(t fataler, m string) {
	t.Helper()
	s := ledger.Scope{Currency: "USD"}
	c := ledger.Closing{Scope: s, Month: month(m), Level: ledger.ByAccount, AtMS: month(m).EndMS(), By: "t", Force: "test"}
	var previous *ledger.Closed
	if n := len(w.closed); n > 0 {
		previous = &w.closed[n-1]
	}
	out, err := ledger.Close(c, previous, ledger.StatementLines(w.lines, s, c.Month, c.Level), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.closed = append(w.closed, out)
}

func (w *world) drift(t fataler, amount money.Nano, m string) {
	t.Helper()
	lines, err := ledger.BookDrift(nil, ledger.Drift{
		Reference: fmt.Sprint("invoice ", len(w.lines)), Currency: "USD", Amount: amount, FromMS: month(m).StartMS(), ToMS: month(m).EndMS(), Revision: ledger.Revision{Reason: "rounding"},
	}, w.periods())
	if err != nil {
		t.Fatal(err)
	}
	w.lines = append(w.lines, lines...)
}

// input is the world as a report reads it: the iterator uses one line for all,
// as a store may.
func (w *world) input() Input {
	costs := make([]pricing.NodeCost, 0, len(w.costs))
	for _, c := range w.costs {
		costs = append(costs, c)
	}
	return Input{Lines: linesOf(w.lines), Costs: refs(costs), Pods: pods}
}

func linesOf(lines []ledger.Line) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		var l ledger.Line
		for i := range lines {
			l = lines[i]
			if !yield(&l, nil) {
				return
			}
		}
	}
}

func refs[T any](list []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
	}
}

// pods knows every pod but z, and teams by namespace.
func pods(uid string, hourMS int64) (*PodDimensions, bool) {
	switch uid {
	case "uid-z":
		return nil, false
	case "uid-a":
		return &PodDimensions{Owner: workload.Owner{Kind: "Job", Name: "train"}, Labels: map[string]string{"team": "vision"}}, true
	case "uid-b":
		team := "speech"
		if hourMS >= at("2026-11-02 00:00") {
			team = "vision" // it was given another label
		}
		return &PodDimensions{Owner: workload.Owner{Kind: "Deployment", Name: "serve"}, Labels: map[string]string{"team": team}}, true
	}
	return &PodDimensions{}, true
}

func shuffled(seed uint64, lines []ledger.Line) []ledger.Line {
	out := slices.Clone(lines)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	return out
}

var _ fataler = (*testing.T)(nil)
