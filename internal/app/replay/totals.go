// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// partitionTotal is one partition over all windows.
type partitionTotal struct {
	last usage.PartitionRecord
	measuredMS, unmeasuredMS, unavailableMS,
	noMemoryMS, noReserveMS int64
	capacity, reserved, unattributed, free, held usage.Total
	reasons                                      map[string]bool
	holders                                      map[holderKey]*holderTotal
	grants                                       map[holderKey]*grantTotal
}

type holderKey struct {
	holder workload.Holder
	leak   bool
}

type holderTotal struct {
	presentMS, knownMS int64
	bytes              usage.Total
	peak               uint64
	grades             map[gpu.Grade]bool
}

type grantTotal struct {
	grantedMS int64
	last      attribution.Grant
}

// sumUp adds up the records of all batches, by partition.
func sumUp(batches []usage.Batch) map[gpu.PartitionID]*partitionTotal {
	out := map[gpu.PartitionID]*partitionTotal{}
	of := func(id gpu.PartitionID) *partitionTotal {
		if out[id] == nil {
			out[id] = &partitionTotal{reasons: map[string]bool{}, holders: map[holderKey]*holderTotal{}, grants: map[holderKey]*grantTotal{}}
		}
		return out[id]
	}
	for _, b := range batches {
		for _, r := range b.Partitions {
			of(r.Partition).addPartition(r)
		}
		for _, r := range b.Holders {
			of(r.Partition).addHolder(r)
		}
		for _, r := range b.Grants {
			of(r.Partition).addGrant(r)
		}
	}
	return out
}

func (t *partitionTotal) addPartition(r usage.PartitionRecord) {
	t.last = r
	t.measuredMS += r.MeasuredMS
	t.unmeasuredMS += r.UnmeasuredMS
	t.unavailableMS += r.UnavailableMS
	t.noMemoryMS += r.NoMemoryMS
	t.noReserveMS += r.ReserveUnknownMS
	t.capacity.Add(r.CapacityByteMS)
	t.reserved.Add(r.ReservedByteMS)
	t.unattributed.Add(r.UnattributedByteMS)
	t.free.Add(r.FreeByteMS)
	for _, reason := range r.Reasons {
		t.reasons[reason] = true
	}
}

func (t *partitionTotal) addHolder(r usage.Record) {
	k := holderKey{r.Holder, r.Leak}
	h := t.holders[k]
	if h == nil {
		h = &holderTotal{grades: map[gpu.Grade]bool{}}
		t.holders[k] = h
	}
	h.presentMS += r.PresentMS
	h.knownMS += r.KnownMS
	h.bytes.Add(r.ByteMS)
	h.peak = max(h.peak, r.PeakBytes)
	h.grades[r.Grade] = true
	t.held.Add(r.ByteMS)
}

func (t *partitionTotal) addGrant(r usage.GrantRecord) {
	k := holderKey{holder: r.Grant.Holder}
	if t.grants[k] == nil {
		t.grants[k] = &grantTotal{}
	}
	t.grants[k].grantedMS += r.GrantedMS
	t.grants[k].last = r.Grant
}

// balances reports whether the parts make up the whole.
func (t *partitionTotal) balances() bool {
	sum := t.reserved
	for _, part := range []usage.Total{t.held, t.unattributed, t.free} {
		sum.AddTotal(part)
	}
	return sum.Cmp(t.capacity) == 0
}

// byKey orders holders as every table does: pods by name, then the platform
// accounts: daemons, unknown owners, host.
func byKey[V any](m map[holderKey]V) []holderKey {
	return slices.SortedFunc(maps.Keys(m), func(a, b holderKey) int {
		return cmp.Or(cmp.Compare(kindOrder(a.holder.Kind), kindOrder(b.holder.Kind)), a.holder.Compare(b.holder), cmp.Compare(boolInt(a.leak), boolInt(b.leak)))
	})
}

func kindOrder(k workload.Kind) int {
	return slices.Index([]workload.Kind{workload.KindPod, workload.KindDaemon, workload.KindUnknown, workload.KindHost}, k)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// findingTotal is a finding in words, and how long it stood in all.
type findingTotal struct {
	severity attribution.Severity
	text     string
	forMS    int64
}

// sumFindings adds up findings that say the same, worst first.
func sumFindings(batches []usage.Batch) []findingTotal {
	at := map[string]*findingTotal{}
	for _, b := range batches {
		for _, f := range b.Findings {
			text := findingText(f.Finding)
			if at[text] == nil {
				at[text] = &findingTotal{severity: f.Severity, text: text}
			}
			at[text].forMS += f.ForMS
		}
	}
	var out []findingTotal
	for _, text := range sortedKeys(at) {
		out = append(out, *at[text])
	}
	slices.SortStableFunc(out, func(a, b findingTotal) int { return cmp.Compare(rankOf(a.severity), rankOf(b.severity)) })
	return out
}

func rankOf(s attribution.Severity) int {
	return slices.Index([]attribution.Severity{attribution.Critical, attribution.Warning, attribution.Info}, s)
}
