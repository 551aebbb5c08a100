// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// noteFindings keeps each finding once for every form that it took.
func (c *Checker) noteFindings(node string, r attribution.Result) {
	if len(r.Findings) == 0 {
		return
	}
	names := map[string][]string{}
	for _, p := range r.Partitions {
		names[p.ID.String()] = namesOf(p)
	}
	for _, f := range r.Findings {
		if !slices.ContainsFunc(c.findings, func(o found) bool { return o.node == node && sameFinding(o.Finding, f) }) {
			c.findings = append(c.findings, found{f, node, names})
		}
	}
}

// Closed takes in the windows that closed on a node: some findings, such as a
// step of the clock, only integration sees.
func (c *Checker) Closed(node string, batches []usage.Batch) {
	for _, b := range batches {
		for _, f := range b.Findings {
			if f.Kind == attribution.ClockStep {
				c.findings = append(c.findings, found{f.Finding, node, nil})
			}
		}
	}
}

func sameFinding(a, b attribution.Finding) bool {
	return a.Kind == b.Kind && a.Holder == b.Holder && a.Partition == b.Partition && a.Device == b.Device &&
		a.PID == b.PID && a.Count == b.Count && a.Resource == b.Resource && a.Detail == b.Detail &&
		(a.Bytes == nil) == (b.Bytes == nil) && (a.Bytes == nil || *a.Bytes == *b.Bytes) &&
		slices.Equal(a.Partitions, b.Partitions) && slices.Equal(a.Victims, b.Victims)
}

func (c *Checker) checkFindings() []string {
	var out []string
	for _, w := range c.want.Findings {
		if !slices.ContainsFunc(c.findings, w.matches) {
			out = append(out, failf("finding %v does not occur", w)...)
		}
	}
	for _, w := range c.want.Absent {
		for _, f := range c.findings {
			if w.matches(f) {
				out = append(out, failf("finding %v occurs, but must not: %s", w, f.Detail)...)
			}
		}
	}
	for _, f := range c.findings {
		is := func(w Finding) bool { return w.matches(f) }
		if !slices.ContainsFunc(c.want.Findings, is) && !slices.ContainsFunc(c.want.Allowed, is) {
			out = append(out, failf("finding %s (%s) of %s on %s%s is neither expected nor allowed: %s",
				f.Kind, f.Severity, f.Holder.Account(), f.Partition, f.Resource, f.Detail)...)
		}
	}
	return out
}

// matches reports whether a finding has every field that is given.
func (w Finding) matches(f found) bool {
	return w.Kind == string(f.Kind) &&
		(w.Pod == "" || w.Pod == f.Holder.Account() || w.Pod == f.Holder.Namespace+"/"+f.Holder.Pod) &&
		(w.Partition == "" || f.on(w.Partition)) &&
		w.onAll(f) &&
		(w.Victim == "" || slices.Contains(f.Victims, w.Victim)) &&
		(w.By == nil || (f.Bytes != nil && *f.Bytes == *w.By*gpu.MiB)) &&
		(w.Foreign == nil || *w.Foreign == f.Count) &&
		(w.PID == nil || *w.PID == f.PID) &&
		(w.Resource == "" || w.Resource == f.Resource) &&
		(w.Node == "" || w.Node == f.node)
}

// onAll reports whether the finding names exactly the partitions given.
func (w Finding) onAll(f found) bool {
	if len(w.Partitions) == 0 {
		return true
	}
	if len(w.Partitions) != len(f.Partitions) {
		return false
	}
	for _, p := range w.Partitions {
		if !slices.ContainsFunc(f.Partitions, func(key string) bool { return key == p || slices.Contains(f.names[key], p) }) {
			return false
		}
	}
	return true
}

// on reports whether the finding is about a partition or a device of a name.
func (f found) on(name string) bool {
	return name == f.Partition || name == string(f.Device) || slices.Contains(f.names[f.Partition], name) ||
		slices.ContainsFunc(f.Partitions, func(key string) bool { return key == name || slices.Contains(f.names[key], name) })
}
