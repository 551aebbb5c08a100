// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// findingKey is what makes two findings the same one, seen twice.
type findingKey struct {
	kind                            attribution.FindingKind
	holder                          workload.Holder
	partition, partitions, resource string
	device                          gpu.UUID
	pid                             int
	step                            int64 // two steps of the clock are two findings
}

func findingKeyOf(f *attribution.Finding) findingKey {
	k := findingKey{
		kind: f.Kind, holder: f.Holder, partition: f.Partition, resource: f.Resource, device: f.Device,
		pid: f.PID, partitions: strings.Join(sorted(f.Partitions), ","),
	}
	if f.Kind == attribution.ClockStep {
		k.step = f.Count
	}
	return k
}

func (k findingKey) compare(o findingKey) int {
	return cmp.Or(
		cmp.Compare(k.kind, o.kind), cmp.Compare(k.device, o.device), cmp.Compare(k.partition, o.partition),
		cmp.Compare(k.partitions, o.partitions), k.holder.Compare(o.holder),
		cmp.Compare(k.pid, o.pid), cmp.Compare(k.resource, o.resource), cmp.Compare(k.step, o.step),
	)
}

// findingBook holds the findings of the last sample and sums how long each
// stood in the open window.
type findingBook struct {
	held map[findingKey]attribution.Finding
	open map[findingKey]*FindingRecord
}

// install holds the findings of a sample; each is in the open window from now
// on, if only for no time.
func (b *findingBook) install(fs []attribution.Finding) {
	b.held = make(map[findingKey]attribution.Finding, len(fs))
	for i := range fs {
		k, f := findingKeyOf(&fs[i]), inOrder(fs[i])
		if have, twice := b.held[k]; twice {
			f = telling(have, f)
		}
		b.held[k] = f
	}
	for k, f := range b.held {
		b.record(k, f)
	}
}

func (b *findingBook) note(f attribution.Finding) { b.record(findingKeyOf(&f), f) }

func (b *findingBook) record(k findingKey, f attribution.Finding) *FindingRecord {
	if b.open == nil {
		b.open = map[findingKey]*FindingRecord{}
	}
	r := b.open[k]
	if r == nil {
		r = &FindingRecord{Finding: f}
		b.open[k] = r
	} else {
		r.Finding = telling(r.Finding, f)
	}
	return r
}

func (b *findingBook) accrue(dt int64) {
	for k, f := range b.held {
		b.record(k, f).ForMS += dt
	}
}

func (b *findingBook) write() []FindingRecord {
	keys := make([]findingKey, 0, len(b.open))
	for k := range b.open {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, findingKey.compare)
	var out []FindingRecord
	for _, k := range keys {
		out = append(out, *b.open[k])
	}
	b.open = nil
	return out
}

// telling picks of two forms of one finding the one with more bytes, then with
// the higher count, then by its text: the choice depends on no order.
func telling(a, b attribution.Finding) attribution.Finding {
	c := cmp.Or(
		cmp.Compare(deref(a.Bytes), deref(b.Bytes)), cmp.Compare(a.Count, b.Count),
		strings.Compare(a.Detail, b.Detail), slices.Compare(a.Victims, b.Victims),
		slices.Compare(a.Evidence, b.Evidence), cmp.Compare(a.Severity, b.Severity),
	)
	if c >= 0 {
		return a
	}
	return b
}

func inOrder(f attribution.Finding) attribution.Finding {
	f.Partitions, f.Victims, f.Evidence = sorted(f.Partitions), sorted(f.Victims), sorted(f.Evidence)
	return f
}
