// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Metered says that telemetry knows a machine in a UTC hour, for so long.
type Metered struct {
	Instance  Instance `json:"instance"`
	StartMS   int64    `json:"start_ms"`
	MeteredMS int64    `json:"metered_ms"`
}

// Reconciled is the bill beside the telemetry. What does not meet stands in two
// buckets of its own, and is never guessed away.
type Reconciled struct {
	// Both has cost and telemetry.
	Both []Hour `json:"both"`
	// CostOnly has cost and no telemetry: no agent ran there.
	CostOnly []Hour `json:"cost_only"`
	// TelemetryOnly was metered and is on no bill: a price is missing, or the
	// bill is not complete yet.
	TelemetryOnly []Metered `json:"telemetry_only"`
}

// Reconcile joins hours and metered hours by machine and hour. The cost of an
// Azure scale set is divided over its metered machines that the bill does not
// name themselves, by their metered time. The hours may come in any order; the
// answer is sorted.
func Reconcile(hours []Hour, metered []Metered) (Reconciled, error) {
	var r Reconciled
	billed := map[hourKey]bool{}
	for _, h := range hours {
		billed[hourKey{instance: h.Instance, startMS: h.StartMS}] = true
	}
	members := map[hourKey][]Metered{}
	for _, m := range merged(metered) {
		k := hourKey{instance: m.Instance, startMS: m.StartMS}
		if !billed[k] {
			k.instance = m.Instance.Set()
		}
		if !billed[k] {
			r.TelemetryOnly = append(r.TelemetryOnly, m)
			continue
		}
		members[k] = append(members[k], m)
	}
	for _, h := range hours {
		of := members[hourKey{instance: h.Instance, startMS: h.StartMS}]
		switch {
		case len(of) == 0:
			r.CostOnly = append(r.CostOnly, h)
		case len(of) == 1 && of[0].Instance == h.Instance:
			r.Both = append(r.Both, h)
		default:
			shares, err := h.divide(of)
			if err != nil {
				return Reconciled{}, err
			}
			r.Both = append(r.Both, shares...)
		}
	}
	slices.SortFunc(r.Both, compareHours)
	slices.SortFunc(r.CostOnly, compareHours)
	slices.SortFunc(r.TelemetryOnly, compareMetered)
	return r, nil
}

// merged is the metered hours in order, each once.
func merged(metered []Metered) (out []Metered) {
	for _, m := range slices.SortedFunc(slices.Values(metered), compareMetered) {
		if n := len(out); n > 0 && compareMetered(out[n-1], m) == 0 {
			out[n-1].MeteredMS += m.MeteredMS
			continue
		}
		out = append(out, m)
	}
	return out
}

func compareMetered(a, b Metered) int {
	return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.StartMS, b.StartMS))
}

// divide shares the hour of a set among its machines. Each part is divided
// exactly, so the machines' hours sum to the set's.
func (h Hour) divide(members []Metered) ([]Hour, error) {
	slices.SortFunc(members, compareMetered)
	weights := make([]int64, len(members))
	out := make([]Hour, len(members))
	var any bool
	for i, m := range members {
		weights[i] = max(m.MeteredMS, 0)
		any = any || weights[i] > 0
		out[i] = h
		out[i].Instance, out[i].OfSet, out[i].List = m.Instance, h.Instance, nil
		out[i].Effective, out[i].Beside, out[i].Parts = 0, 0, nil
	}
	if !any {
		for i := range weights {
			weights[i] = 1
		}
	}
	for _, p := range h.Parts {
		if err := p.divide(out, weights); err != nil {
			return nil, fmt.Errorf("divide the cost of scale set %s in the hour of %s: %w", h.Instance, clock(h.StartMS), err)
		}
	}
	if h.List != nil {
		for i := range out {
			out[i].sumList()
		}
	}
	return out, nil
}

func (p PartCost) divide(hours []Hour, weights []int64) error {
	effective, err := money.ApportionInts(p.Effective, weights...)
	if err != nil {
		return err
	}
	var list []money.Nano
	if p.List != nil {
		if list, err = money.ApportionInts(*p.List, weights...); err != nil {
			return err
		}
	}
	for i := range hours {
		share := PartCost{Part: p.Part, Effective: effective[i]}
		if list != nil {
			share.List = &list[i]
		}
		hours[i].Parts = append(hours[i].Parts, share)
		if p.Part.OfMachine() {
			hours[i].Effective += effective[i]
		} else {
			hours[i].Beside += effective[i]
		}
	}
	return nil
}

func (h *Hour) sumList() {
	var sum money.Nano
	for _, p := range h.Parts {
		if p.Part.OfMachine() {
			sum += *p.List
		}
	}
	h.List = &sum
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04Z") }
