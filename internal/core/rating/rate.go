// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Input is what an hour of a node is rated from.
type Input struct {
	ledger.NodeHour
	// Machines stood behind the node's name, Batches touch the hour; others may
	// be among them only if they are of the node.
	Machines []Machine
	Batches  []usage.Batch
	Prices   Pricer
	Policy   allocation.Policy
}

// Pricer says what a node costs: *pricing.Prices.
type Pricer interface {
	Cost(n *pricing.Node, from, to int64) ([]pricing.NodeCost, error)
}

// Outcome is what an hour came to. The same input gives the same outcome.
type Outcome struct {
	ledger.NodeHour
	// Records is the digest of the batches.
	Records string
	Nodes   []Piece
	Costs   []pricing.NodeCost
	Entries []allocation.Entry
	Remarks []allocation.Remark
	// Pods are the dimensions of pods, by UID.
	Pods map[string]report.PodDimensions
	// Complete: records or gaps reach to the end of the hour.
	Complete bool
}

// Rate rates one hour of one node. Where the policy passes accounts on beyond
// the node (allocation.ScopeGiven), Share has to follow.
func Rate(in Input) (Outcome, error) {
	out := Outcome{
		NodeHour: in.NodeHour, Records: ledger.DigestRecords(in.Batches), Nodes: Pieces(in.NodeHour, in.Machines, in.Batches), Pods: PodsOf(in.Batches),
	}
	var err error
	if out.Costs, err = CostsOf(in.Prices, out.Nodes); err != nil {
		return out, fmt.Errorf("rate %s: %w", in.NodeHour, err)
	}
	for i := range in.Machines {
		out.Complete = out.Complete || in.Machines[i].LastMS >= in.HourMS+hourMS
	}
	if len(out.Costs) == 0 {
		return out, nil
	}
	res, err := allocation.Allocate(Hour(out.Costs, in.Batches), in.Policy)
	if err != nil {
		return out, fmt.Errorf("rate %s: %w", in.NodeHour, err)
	}
	out.Entries, out.Remarks = res.Entries, res.Remarks
	return out, nil
}

// Hour is what allocation divides.
func Hour(costs []pricing.NodeCost, batches []usage.Batch) allocation.Hour {
	h := allocation.Hour{Costs: costs, Batches: batches}
	for i := range batches {
		h.Unschedulable = append(h.Unschedulable, batches[i].Unschedulable...)
	}
	return h
}

// CostsOf is what the pieces of an hour cost.
func CostsOf(p Pricer, pieces []Piece) (out []pricing.NodeCost, err error) {
	for i := range pieces {
		costs, err := p.Cost(&pieces[i].Node, pieces[i].FromMS, pieces[i].ToMS)
		if err != nil {
			return nil, err
		}
		out = append(out, costs...)
	}
	return out, nil
}

// PodsOf is the dimensions of the pods that the batches name, as they stood last.
func PodsOf(batches []usage.Batch) map[string]report.PodDimensions {
	last := map[string]seen{}
	for i := range batches {
		b := &batches[i]
		for j := range b.Pods {
			p := &b.Pods[j]
			now := seen{batch: b, pod: p}
			if was, ok := last[p.Holder.PodUID]; p.Holder.PodUID != "" && (!ok || was.compare(now) < 0) {
				last[p.Holder.PodUID] = now
			}
		}
	}
	out := make(map[string]report.PodDimensions, len(last))
	for uid, s := range last {
		out[uid] = report.PodDimensions{Owner: s.pod.Owner, Labels: s.pod.Labels}
	}
	return out
}

// seen is a record of a pod in a batch.
type seen struct {
	batch *usage.Batch
	pod   *usage.PodRecord
}

// compare orders records by how good they are: those that know the pod's object
// are better than those that do not, later ones than earlier ones.
func (s seen) compare(o seen) int {
	return cmp.Or(
		cmp.Compare(s.known(), o.known()), cmp.Compare(s.pod.StartMS, o.pod.StartMS), strings.Compare(s.batch.Agent, o.batch.Agent),
		strings.Compare(s.batch.Boot, o.batch.Boot), cmp.Compare(s.batch.Seq, o.batch.Seq),
	)
}

func (s seen) known() int {
	if s.pod.Owner == (workload.Owner{}) && len(s.pod.Labels) == 0 {
		return 0
	}
	return 1
}

// Share passes platform accounts on among the nodes of each cluster, where the
// policy says so. All outcomes are of one hour, and all nodes' of it.
func Share(outcomes []Outcome, p allocation.Policy) error {
	if p.Scope != allocation.ScopeGiven {
		return nil
	}
	clusters := map[string][]allocation.Entry{}
	at := map[string]int{}
	for i := range outcomes {
		o := &outcomes[i]
		clusters[o.Cluster] = append(clusters[o.Cluster], o.Entries...)
		at[key(o.Cluster, o.Node)] = i
		o.Entries = nil
	}
	for cluster, entries := range clusters {
		all, err := allocation.Distribute(entries, p)
		if err != nil {
			return fmt.Errorf("rate cluster %q: %w", cluster, err)
		}
		for _, e := range all {
			o := &outcomes[at[key(e.Cluster, e.Node)]]
			o.Entries = append(o.Entries, e)
		}
	}
	return nil
}

func key(cluster, node string) string { return cluster + "\x00" + node }

// Book is the booking of an outcome, after the lines that the journal has of the
// hour. Where nothing changed, the booking has no lines.
func (o *Outcome) Book(before []ledger.Line, rev ledger.Revision, p ledger.Periods) (Booking, error) {
	rev.Records = o.Records
	rev.Bill = billed(o.Costs)
	lines, err := ledger.Book(before, ledger.Rating{NodeHour: o.NodeHour, Entries: o.Entries, Revision: rev}, p)
	if err != nil {
		return Booking{}, err
	}
	b := Booking{Lines: lines, Pods: o.Pods}
	for i := range before {
		b.After = max(b.After, before[i].Booking)
	}
	b.Rated = Rated{
		NodeHour: o.NodeHour, Booking: b.After, Revision: rev, Nodes: o.Nodes, Costs: o.Costs, Complete: o.Complete, Remarks: o.Remarks,
	}
	if len(lines) > 0 {
		b.Rated.Booking++
	}
	return b, nil
}

// billed names the bills that the costs come from.
func billed(costs []pricing.NodeCost) string {
	var names []string
	for i := range costs {
		if b := &costs[i].Basis; b.Grade == pricing.Billed && !slices.Contains(names, b.Source+"@"+b.Revision) {
			names = append(names, b.Source+"@"+b.Revision)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
