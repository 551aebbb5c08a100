// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// Hour is one hour of one node: what it cost and what was recorded.
type Hour struct {
	// Costs are the pieces of the hour in which price and shape of the node
	// stood, in any order and without overlap. What no piece covers is not
	// paid, and what happened then has no entry.
	Costs []pricing.NodeCost
	// Batches are the node's windows that touch the hour, in any order, each at
	// least once.
	Batches []usage.Batch
	// Unschedulable are the times in which the scheduler could not hand the
	// node out (cordoned): what is idle then has that note.
	Unschedulable []usage.Span
}

// Result is how the hour was divided.
type Result struct {
	// Entries sum to the cost: for each slot and piece, for each node and
	// piece, to the last billionth.
	Entries []Entry
	// Remarks are what was odd in the input, and what was done about it.
	Remarks []Remark
}

// Allocate divides one hour of one node among workloads and platform accounts.
// It fails on input that contradicts itself: costs that do not add up or
// overlap, records of another node, one batch with two contents.
func Allocate(h Hour, p Policy) (Result, error) {
	r, err := rate(h, p, false)
	if err != nil {
		return Result{}, err
	}
	entries := r.entries
	if p.Scope != ScopeGiven && len(p.Distribute) > 0 {
		if entries, err = Distribute(entries, p); err != nil {
			return Result{}, err
		}
	}
	return Result{Entries: entries, Remarks: r.remarks}, nil
}

func rate(h Hour, p Policy, explain bool) (*rater, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	r := &rater{policy: p, name: p.Name(), explain: explain}
	var err error
	if r.hour, err = h.inOrder(r); err != nil {
		return nil, err
	}
	r.nodes = make([]stretch, 0, len(r.batches))
	for i, b := range r.batches {
		if b.Gap != nil {
			continue
		}
		r.nodes = append(r.nodes, stretch{from: b.StartMS, until: b.StartMS + b.DurationMS, good: len(b.Pods) > 0, batch: b, ref: i})
	}
	if r.cards, err = cardsOf(r.batches); err != nil {
		return nil, err
	}
	for i := range r.hour.Costs {
		if err := r.piece(&r.hour.Costs[i]); err != nil {
			return nil, err
		}
	}
	sortEntries(r.entries)
	return r, nil
}

// sortEntries puts entries in order. Pot after pot they mostly are, and they are
// large to move.
func sortEntries(list []Entry) {
	for i := 1; i < len(list); i++ {
		if list[i-1].compare(&list[i]) > 0 {
			slices.SortStableFunc(list, func(a, b Entry) int { return a.compare(&b) })
			return
		}
	}
}

// inOrder checks the hour and puts its parts in order, each batch once (r.batches).
func (h Hour) inOrder(r *rater) (Hour, error) {
	if len(h.Costs) == 0 && len(h.Batches) == 0 {
		return h, nil // the node did not exist
	}
	if len(h.Costs) == 0 {
		return h, errors.New("allocate: the hour has no cost; a node without a price has one that is not priced")
	}
	out := Hour{Costs: slices.Clone(h.Costs)}
	slices.SortFunc(out.Costs, func(a, b pricing.NodeCost) int { return cmp.Compare(a.StartMS, b.StartMS) })
	if err := checkCosts(out.Costs); err != nil {
		return h, fmt.Errorf("allocate: %w", err)
	}
	var err error
	if r.batches, err = once(h.Batches, r); err != nil {
		return h, fmt.Errorf("allocate: %w", err)
	}
	for _, b := range r.batches {
		if c := &out.Costs[0]; b.Node != c.Node || b.Cluster != c.Cluster {
			return h, fmt.Errorf("allocate: batch %s/%s/%d is of node %s of cluster %q, the cost of node %s of cluster %q",
				b.Agent, b.Boot, b.Seq, b.Node, b.Cluster, c.Node, c.Cluster)
		}
	}
	for _, s := range h.Unschedulable {
		out.Unschedulable = append(out.Unschedulable, s)
		r.cuts = append(r.cuts, s.StartMS, s.StartMS+s.DurationMS)
	}
	slices.Sort(r.cuts)
	return out, nil
}

func checkCosts(costs []pricing.NodeCost) error {
	for i := range costs {
		c, first := &costs[i], &costs[0]
		if err := c.Check(); err != nil {
			return err
		}
		switch {
		case c.Node != first.Node || c.Cluster != first.Cluster:
			return fmt.Errorf("costs of two nodes in one hour: %s and %s", first.Node, c.Node)
		case c.StartMS-mod(c.StartMS, hourMS) != first.StartMS-mod(first.StartMS, hourMS):
			return fmt.Errorf("costs of node %s from two hours: at %d and %d ms", c.Node, first.StartMS, c.StartMS)
		case i > 0 && costs[i-1].StartMS+costs[i-1].DurationMS > c.StartMS:
			return fmt.Errorf("costs of node %s overlap at %d ms", c.Node, c.StartMS)
		}
	}
	return nil
}

// once leaves each batch once, in order of time. A batch is never changed: two
// contents under one name are an error, for one of them is false.
func once(batches []usage.Batch, r *rater) ([]*usage.Batch, error) {
	out := make([]*usage.Batch, len(batches))
	for i := range batches {
		out[i] = &batches[i]
	}
	slices.SortStableFunc(out, func(a, b *usage.Batch) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Boot, b.Boot), cmp.Compare(a.Seq, b.Seq))
	})
	kept := out[:0]
	for _, b := range out {
		if n := len(kept); n > 0 && kept[n-1].Agent == b.Agent && kept[n-1].Boot == b.Boot && kept[n-1].Seq == b.Seq {
			if !same(kept[n-1], b) {
				return nil, fmt.Errorf("batch %s/%s/%d is there twice with different content; find out which is true and leave the other out", b.Agent, b.Boot, b.Seq)
			}
			r.remarks = append(r.remarks, Remark{Kind: Duplicate, Detail: fmt.Sprintf("batch %s/%s/%d was given more than once and counts once", b.Agent, b.Boot, b.Seq)})
			continue
		}
		kept = append(kept, b)
	}
	slices.SortStableFunc(kept, func(a, b *usage.Batch) int { return cmp.Compare(a.StartMS, b.StartMS) })
	return kept, nil
}

func same(a, b *usage.Batch) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
