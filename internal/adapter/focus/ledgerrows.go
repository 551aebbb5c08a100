// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// tally is one row in the making: what a pod, an owner or a platform account comes
// to over all GPUs of a node, its CPU and its memory.
type tally struct {
	Row
	resources map[allocation.Resource]*used
	grades    []gpu.Grade
	gpus      []Detail
}

type used struct {
	amount  money.Nano
	shareMS int64
}

// rowsOf adds lines up to rows, in order of their keys. What came to nothing, of
// time and of money, is left out: it was taken back.
func rowsOf(lines []*ledger.Line, pods report.Lookup, cost *pricing.NodeCost) []Row {
	at := map[rowKey]*tally{}
	entries := map[string]int64{} // what stands of an entry: its time
	amounts := map[string]money.Nano{}
	for _, l := range lines {
		entries[l.Entry] += l.ShareMS
		amounts[l.Entry] += *l.Amount
	}
	var keys []rowKey
	for _, l := range lines {
		r := rowOf(l, pods)
		k := r.key()
		t := at[k]
		if t == nil {
			t = &tally{Row: r, resources: map[allocation.Resource]*used{}}
			at[k] = t
			keys = append(keys, k)
		}
		t.add(l, entries[l.Entry] != 0 || amounts[l.Entry] != 0)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return strings.Compare(strings.Join(a.fields(), "\x00"), strings.Join(b.fields(), "\x00"))
	})
	var out []Row
	for _, k := range keys {
		if r, any := at[k].row(cost); any {
			out = append(out, r)
		}
	}
	return out
}

func (k rowKey) fields() []string {
	return []string{k.account, k.resource, k.kind, k.note, k.gpu, k.partition}
}

// rowOf is whose row a line belongs to.
func rowOf(l *ledger.Line, pods report.Lookup) Row {
	r := Row{Detail: Detail{Kind: string(l.EntryKind), Note: l.From, Cluster: l.Cluster, Node: l.Node}}
	switch l.Class() {
	case ledger.Platform:
		r.Detail.PlatformAccount, r.Detail.Note = l.Account, l.Note
		if l.Holder.Unit != "" {
			r.Detail.Note = l.Holder.Unit
		}
	case ledger.Owner:
		r.ResourceID, r.ResourceName = "owner/"+l.Account, l.Account
	default:
		r.ResourceID, r.ResourceName = cmp.Or(strings.Trim(l.Holder.PodKey(), "/"), l.Account), l.Account
		r.Detail.Namespace, r.Detail.Pod = l.Holder.Namespace, l.Holder.Pod
		if pods == nil {
			break
		}
		if d, ok := pods(l.Holder.PodUID, l.HourMS); ok {
			r.Tags = d.Labels
			r.Detail.WorkloadKind, r.Detail.Workload = d.Owner.Kind, d.Owner.Name
		}
	}
	return r
}

// add adds a line. Only lines of entries that stand tell of GPUs and grades.
func (t *tally) add(l *ledger.Line, stands bool) {
	u := t.resources[l.Resource]
	if u == nil {
		u = &used{}
		t.resources[l.Resource] = u
	}
	u.amount += *l.Amount
	u.shareMS += l.ShareMS
	if !stands {
		return
	}
	t.grades = append(t.grades, l.Grade)
	if l.Resource == allocation.ResourceGPU {
		t.gpus = append(t.gpus, Detail{GPUModel: l.Model, GPU: string(l.Partition.Device), Partition: partitionOf(l), SharingMode: string(l.Mode)})
	}
}

func partitionOf(l *ledger.Line) string {
	if l.Partition.IsInstance() {
		return l.Partition.String()
	}
	return ""
}

// row is the row, and whether anything is left of it. What a node has makes time
// of CPU and memory into amounts of them.
func (t *tally) row(cost *pricing.NodeCost) (Row, bool) {
	r := t.Row
	for _, of := range ledger.Resources() {
		u := t.resources[of]
		if u == nil || u.amount == 0 && u.shareMS == 0 {
			continue
		}
		e := Element{Amount: u.amount}
		if e.Unit, e.Used = usedOf(of, u.shareMS, cost); e.Used == "" {
			e.Unit = ""
		}
		r.Elements = append(r.Elements, e)
		r.Effective += u.amount
	}
	r.Detail.Grade = string(worst(t.grades))
	r.Detail.GPUModel = same(t.gpus, func(d *Detail) string { return d.GPUModel })
	r.Detail.GPU = same(t.gpus, func(d *Detail) string { return d.GPU })
	r.Detail.Partition = same(t.gpus, func(d *Detail) string { return d.Partition })
	r.Detail.SharingMode = same(t.gpus, func(d *Detail) string { return d.SharingMode })
	return r, len(r.Elements) > 0
}

// same is what all say, "" where they differ.
func same(of []Detail, field func(*Detail) string) string {
	for i := range of {
		if field(&of[i]) != field(&of[0]) {
			return ""
		}
	}
	if len(of) == 0 {
		return ""
	}
	return field(&of[0])
}

func worst(grades []gpu.Grade) (w gpu.Grade) {
	for _, g := range grades {
		if w == "" || g.Rank() > w.Rank() {
			w = g
		}
	}
	return w
}

// usedOf is a share of time as an amount: hours of GPUs, of vCPUs, of GiB; ""
// where what the node has is not known, or there is no time.
func usedOf(of allocation.Resource, shareMS int64, cost *pricing.NodeCost) (unit, amount string) {
	hours := big.NewRat(shareMS, hourMS)
	switch of {
	case allocation.ResourceGPU:
		unit = "GPU-Hours"
	case allocation.ResourceCPU:
		unit = "vCPU-Hours"
		hours.Mul(hours, big.NewRat(cost.CPUMilli, 1000))
	case allocation.ResourceMemory:
		unit = "GiB-Hours"
		bytes := new(big.Rat).SetInt(new(big.Int).SetUint64(cost.MemoryBytes))
		hours.Mul(hours, bytes.Quo(bytes, big.NewRat(1<<30, 1)))
	}
	if hours.Sign() == 0 {
		return unit, ""
	}
	text := strings.TrimRight(hours.FloatString(9), "0")
	return unit, strings.TrimSuffix(text, ".")
}
