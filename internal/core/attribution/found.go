// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// findingKey is what makes findings one finding; it is what compare compares.
type findingKey struct {
	kind      FindingKind
	holder    workload.Holder
	partition string
	device    gpu.UUID
	resource  string
	pid       int
}

func (w *work) find(f Finding) {
	key := findingKey{f.Kind, f.Holder, f.Partition, f.Device, f.Resource, f.PID}
	if i, ok := w.found[key]; ok {
		w.findings[i].join(f)
		return
	}
	w.found[key] = len(w.findings)
	w.findings = append(w.findings, f)
}

// join adds what another sight of the same finding shows.
func (f *Finding) join(o Finding) {
	f.Evidence = union(f.Evidence, o.Evidence)
	if f.Kind == Exposure {
		f.Partitions = union(f.Partitions, o.Partitions)
		slices.Sort(f.Partitions)
		f.Count, f.Detail = int64(len(f.Partitions)), exposureDetail(len(f.Partitions))
	}
}

// union adds to a what only b has, in b's order, and leaves both as they are.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// compare orders findings, and equals those that are one finding.
func (f Finding) compare(o Finding) int {
	if c := strings.Compare(string(f.Kind), string(o.Kind)); c != 0 {
		return c
	}
	if c := f.Holder.Compare(o.Holder); c != 0 {
		return c
	}
	for _, p := range [][2]string{
		{f.Partition, o.Partition}, {string(f.Device), string(o.Device)}, {f.Resource, o.Resource},
	} {
		if c := strings.Compare(p[0], p[1]); c != 0 {
			return c
		}
	}
	return f.PID - o.PID
}
