// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Node is one hour of one node: what it cost and what was recorded.
type Node struct {
	Costs   []pricing.NodeCost
	Batches []usage.Batch
}

// Pods are those of a workload, by their keys.
type Pods map[string]bool

func (p Pods) has(h workload.Holder) bool { return h.Kind == workload.KindPod && p[h.PodKey()] }

// Change is what would have been recorded of nodes in an hour. ms is for how long
// partitions were altered, each counted for itself: 0 where the change has nothing to
// take hold of.
type Change func(nodes []Node) (altered []Node, ms int64)

// Divide divides an hour of nodes of one cluster under a policy. rest is what the
// cluster's other nodes came to before anything was passed on (Base): it counts where the
// policy passes accounts on beyond the node.
func Divide(nodes []Node, rest []allocation.Entry, p allocation.Policy) ([]allocation.Entry, error) {
	var all []allocation.Entry
	for _, n := range nodes {
		res, err := allocation.Allocate(rating.Hour(n.Costs, n.Batches), p)
		if err != nil {
			return nil, err
		}
		all = append(all, res.Entries...)
	}
	if !Beyond(p) {
		return all, nil
	}
	return allocation.Distribute(slices.Concat(all, rest), p)
}

// Beyond reports whether the policy passes accounts on beyond the node.
func Beyond(p allocation.Policy) bool {
	return p.Scope == allocation.ScopeGiven && len(p.Distribute) > 0
}

// Base is what a node's hour came to before anything was passed on, with one entry of a
// resource for each workload and each platform account: of other nodes, no more is needed
// to pass accounts on. To add entries of one account up before they are divided moves at
// most a billionth for each of them.
func Base(n Node, p allocation.Policy) ([]allocation.Entry, error) {
	p.Distribute = nil
	res, err := allocation.Allocate(rating.Hour(n.Costs, n.Batches), p)
	if err != nil {
		return nil, err
	}
	return Merge(res.Entries)
}

// Merge adds entries of one account, resource and currency up. What is left of them is
// what passing accounts on looks at.
func Merge(entries []allocation.Entry) ([]allocation.Entry, error) {
	type key struct {
		resource allocation.Resource
		kind     allocation.Kind
		account  string
		holder   workload.Holder
		currency money.Currency
	}
	at := map[key]int{}
	var out []allocation.Entry
	var sums []money.Sum
	for i := range entries {
		e := &entries[i]
		if e.Amount == nil {
			continue // without a price nothing is passed on
		}
		k := key{e.Resource, e.Kind, e.Account, e.Holder, e.Currency}
		n, there := at[k]
		if !there {
			n = len(out)
			at[k] = n
			out = append(out, allocation.Entry{Cluster: e.Cluster, Node: e.Node, HourMS: e.HourMS, StartMS: e.HourMS, Resource: e.Resource, Kind: e.Kind,
				Account: e.Account, Holder: e.Holder, Policy: e.Policy, Currency: e.Currency})
			sums = append(sums, money.Sum{})
		}
		sums[n].Add(*e.Amount)
		out[n].ShareMS += e.ShareMS
	}
	for i := range out {
		sum, err := sums[i].Nano()
		if err != nil {
			return nil, err
		}
		out[i].Amount = &sum
	}
	return out, nil
}

// Charge is what a workload's pods are charged by entries: their own, and what was passed
// on to them. It is not known where an entry has no price, or the prices several
// currencies.
func Charge(entries []allocation.Entry, of Pods) (sum money.Sum, currency money.Currency, known bool) {
	for i := range entries {
		e := &entries[i]
		if !of.has(e.Holder) {
			continue
		}
		if e.Amount == nil || currency != "" && e.Currency != currency {
			return sum, currency, false
		}
		currency = e.Currency
		sum.Add(*e.Amount)
	}
	return sum, currency, true
}

// MostHours is how many hours of a workload are divided again, at most.
const MostHours = 24

// SampleMS is how far before the last hour the sample reaches: each day of the week is in
// it.
const SampleMS = 7 * 24 * int64(3_600_000)

// Sample picks hours to divide again: of those in the last week before the last of them, at
// most MostHours, evenly spread. Of a week without gaps that is every seventh hour, which meets
// each hour of the day once. The hours are given in order, each once.
func Sample(hours []int64) []int64 {
	if len(hours) == 0 {
		return nil
	}
	from := hours[len(hours)-1] - SampleMS
	first, _ := slices.BinarySearch(hours, from+1)
	hours = hours[first:]
	if len(hours) <= MostHours {
		return hours
	}
	out := make([]int64, MostHours)
	for i := range out {
		out[i] = hours[i*len(hours)/MostHours]
	}
	return out
}
