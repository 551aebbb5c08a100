// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

const hourMS = 3_600_000

// Hour is what an hour of a node came to.
type Hour struct {
	ledger.NodeHour
	// Costs are what the node cost, piece by piece; Entries sum to them.
	Costs   []pricing.NodeCost  `json:"costs"`
	Entries []allocation.Entry  `json:"entries"`
	Remarks []allocation.Remark `json:"remarks,omitempty"`
}

// Rate prices and divides the hours of reports, as a server does with the records
// of agents. A node costs from its first window to its last: a capture shows all
// of it that there is. Where the policy passes accounts on beyond the node, it is
// among all reports.
func Rate(reports []Report, prices rating.Pricer, policy allocation.Policy) error {
	var all []rating.Outcome
	for i := range reports {
		r := &reports[i]
		r.Policy = policy.Name()
		machines := machinesOf(r.Batches)
		for _, at := range hoursOf(r.Batches) {
			h := ledger.NodeHour{Cluster: r.Batches[0].Cluster, Node: r.Node, HourMS: at}
			o, err := rating.Rate(rating.Input{NodeHour: h, Machines: machines, Batches: touching(r.Batches, at), Prices: seen{prices}, Policy: policy})
			if err != nil {
				return fmt.Errorf("replay: %w", err)
			}
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b rating.Outcome) int { return a.Compare(b.NodeHour) })
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && all[to].HourMS == all[from].HourMS {
			to++
		}
		if err := rating.Share(all[from:to], policy); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		from = to
	}
	for i := range all {
		o := &all[i]
		at := slices.IndexFunc(reports, func(r Report) bool { return r.Node == o.Node })
		reports[at].Hours = append(reports[at].Hours, Hour{NodeHour: o.NodeHour, Costs: o.Costs, Entries: o.Entries, Remarks: o.Remarks})
	}
	return nil
}

// seen prices a node for the time in which it was seen and no other.
type seen struct{ rating.Pricer }

// Cost is that of the node, whose beginning and end are no estimate here.
func (s seen) Cost(n *pricing.Node, from, to int64) ([]pricing.NodeCost, error) {
	known := *n
	known.Life = pricing.Life{Started: n.Life.FirstSeen, Terminated: n.Life.LastSeen}
	return s.Pricer.Cost(&known, from, to)
}

func machinesOf(batches []usage.Batch) []rating.Machine {
	out := rating.MachinesOf(batches)
	for i := range out {
		m := &out[i]
		m.IntervalMS = 0
		for k := range m.Shapes {
			m.Shapes[k].CreatedMS = 0
		}
	}
	return out
}

// hoursOf are the hours of UTC that the batches have time in.
func hoursOf(batches []usage.Batch) (out []int64) {
	for i := range batches {
		b := &batches[i]
		for at := b.StartMS - mod(b.StartMS, hourMS); at < b.StartMS+b.DurationMS; at += hourMS {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func touching(batches []usage.Batch, hour int64) (out []usage.Batch) {
	for i := range batches {
		if b := &batches[i]; b.StartMS < hour+hourMS && b.StartMS+b.DurationMS > hour {
			out = append(out, *b)
		}
	}
	return out
}

func mod(a, b int64) int64 { return (a%b + b) % b }

// share is an account's part of a piece of an hour, or of several.
type share struct {
	name         string
	order        int
	gpuMS        int64
	gpus, beside sum
}

// billSum is the shares of accounts beside what was paid.
type billSum struct {
	currency string
	cost     sum
	shares   []share
}

// add adds an entry to its account.
func (b *billSum) add(e *allocation.Entry) {
	name, order := accountOf(e)
	at := slices.IndexFunc(b.shares, func(s share) bool { return s.name == name })
	if at < 0 {
		at = len(b.shares)
		b.shares = append(b.shares, share{name: name, order: order})
	}
	s := &b.shares[at]
	to := &s.beside
	if e.Resource == allocation.ResourceGPU {
		s.gpuMS += e.ShareMS
		to = &s.gpus
	}
	to.add(e.Amount)
}

// sorted is the shares as tables have them: workloads, owners, platform accounts.
func (b *billSum) sorted() []share {
	out := slices.Clone(b.shares)
	slices.SortFunc(out, func(x, y share) int { return cmp.Or(cmp.Compare(x.order, y.order), strings.Compare(x.name, y.name)) })
	return out
}

// accountOf is the name of a row, and its place among the kinds.
func accountOf(e *allocation.Entry) (string, int) {
	switch e.Kind {
	case allocation.Leak:
		return e.Account + " LEAK", 1
	case allocation.Shared:
		return e.Account + " (" + e.From + ")", 2
	case allocation.Platform:
		return strings.TrimRight(e.Account+" "+cmp.Or(e.Note, e.Holder.Unit), " "), 3
	}
	return e.Account, 0
}
