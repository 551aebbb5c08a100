// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
)

// StoodFinding is a finding over a time: the same kind, of the same holder, in the
// same place.
type StoodFinding struct {
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	FleetFinding
	First   time.Time `json:"first" doc:"The first window of the time that has it. It may have stood before."`
	Last    time.Time `json:"last" doc:"The end of the last window that has it."`
	StoodMS int64     `json:"stood_ms" doc:"How long it stood in all."`
	Windows int       `json:"windows" doc:"How many windows have it."`
	Open    bool      `json:"open" doc:"true: the newest window of the node has it."`
	// Workload is who it is of, where the pod's record says it.
	Workload string `json:"workload,omitempty"`
}

// Findings joins the findings of windows, in any order.
type Findings struct {
	of   map[string]*standing
	last map[string]time.Time // of each node, the end of its newest window
}

// standing is a finding with what its newest window says, which is told once at the end.
type standing struct {
	StoodFinding
	newest attribution.Finding
}

// NewFindings begins with none.
func NewFindings() *Findings {
	return &Findings{of: map[string]*standing{}, last: map[string]time.Time{}}
}

// Add takes the findings of a batch that overlaps [fromMS, toMS).
func (f *Findings) Add(b *usage.Batch, fromMS, toMS int64) {
	if b.StartMS >= toMS || b.StartMS+b.DurationMS <= fromMS {
		return
	}
	node, end := b.Cluster+"\x00"+b.Node, time.UnixMilli(b.StartMS+b.DurationMS).UTC()
	if end.After(f.last[node]) {
		f.last[node] = end
	}
	if len(b.Findings) == 0 {
		return
	}
	owners := ownersOf(b.Pods)
	for i := range b.Findings {
		r := &b.Findings[i]
		key := node + "\x00" + keyOf(&r.Finding)
		have := f.of[key]
		if have == nil {
			have = &standing{StoodFinding: StoodFinding{Cluster: b.Cluster, Node: b.Node, First: time.UnixMilli(b.StartMS).UTC()}}
			f.of[key] = have
		}
		if begin := time.UnixMilli(b.StartMS).UTC(); begin.Before(have.First) {
			have.First = begin
		}
		if end.After(have.Last) {
			have.Last, have.newest, have.Workload = end, r.Finding, owners[r.Holder.PodKey()]
		}
		have.StoodMS += r.ForMS
		have.Windows++
	}
}

// Merge adds what was joined elsewhere, from other windows, of one node or of all (""). What
// is merged stays as it is.
func (f *Findings) Merge(o *Findings, node string) {
	for k, x := range o.of {
		if node != "" && x.Node != node {
			continue
		}
		have := f.of[k]
		if have == nil {
			have = &standing{StoodFinding: StoodFinding{Cluster: x.Cluster, Node: x.Node, First: x.First}}
			f.of[k] = have
		}
		if x.First.Before(have.First) {
			have.First = x.First
		}
		if x.Last.After(have.Last) {
			have.Last, have.newest, have.Workload = x.Last, x.newest, x.Workload
		}
		have.StoodMS += x.StoodMS
		have.Windows += x.Windows
		if n := x.Cluster + "\x00" + x.Node; x.Last.After(f.last[n]) {
			f.last[n] = x.Last
		}
	}
}

// Len is how many findings there are.
func (f *Findings) Len() int { return len(f.of) }

// Saw takes the newest record of a node: what stands is in it, and pods of findings
// belong to the workloads that it names.
func (f *Findings) Saw(n *FleetNode) {
	node := n.Cluster + "\x00" + n.Node
	if n.Gap == "" && n.At.After(f.last[node]) {
		f.last[node] = n.At
	}
	owners := map[string]string{}
	for _, g := range n.GPUs {
		for _, p := range g.Partitions {
			for _, h := range p.Holders {
				if h.Workload != "" {
					owners[h.Namespace+"/"+h.Pod] = h.Workload
				}
			}
		}
	}
	for _, x := range f.of {
		if x.Workload == "" && x.Cluster == n.Cluster && x.Node == n.Node {
			x.Workload = owners[x.newest.Holder.Account()]
		}
	}
}

// keyOf says which findings are the same one: processes and counts change while it
// stands.
func keyOf(f *attribution.Finding) string {
	h := f.Holder
	return string(f.Kind) + "\x00" + string(h.Kind) + "\x00" + h.PodKey() + "\x00" + h.Container + "\x00" + h.Unit + "\x00" + f.Partition + "\x00" + string(f.Device) + "\x00" + f.Resource
}

// List is what was added: what stands, then what stood; the gravest first, then the
// longest.
func (f *Findings) List() []StoodFinding {
	out := make([]StoodFinding, 0, len(f.of))
	for _, x := range f.of {
		x.Open = x.Last.Equal(f.last[x.Cluster+"\x00"+x.Node])
		x.FleetFinding = findingOf(&x.newest)
		out = append(out, x.StoodFinding)
	}
	rank := map[attribution.Severity]int{attribution.Critical: 0, attribution.Warning: 1, attribution.Info: 2}
	shut := func(x *StoodFinding) int {
		if x.Open {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b StoodFinding) int {
		return cmp.Or(cmp.Compare(shut(&a), shut(&b)), cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(b.StoodMS, a.StoodMS),
			cmp.Compare(a.Node, b.Node), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Account, b.Account), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Partition, b.Partition), a.First.Compare(b.First))
	})
	return out
}
