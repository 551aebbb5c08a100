// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// engines says which inference engines are looked at, and keeps the last look at
// each. It is used by the loop's goroutine only.
type engines struct {
	out       Engines
	selectors []demand.Selector
	notes     *notes
	// last is by pod and container.
	last map[engineKey]attribution.Engine
}

type engineKey struct{ pod, container string }

// newEngines is nil where no engine is asked.
func newEngines(out Engines, selectors []demand.Selector, n *notes) *engines {
	if out == nil {
		return nil
	}
	return &engines{out: out, selectors: selectors, notes: n, last: map[engineKey]attribution.Engine{}}
}

// see takes the looks of a sample, and says whom to ask from now on: pods that
// were given a partition of this node, or hold memory there.
func (e *engines) see(r *attribution.Result, objects *sample.Objects) {
	users := usersOf(r)
	var targets []demand.Target
	watched := map[string]bool{}
	for i := range objects.Pods {
		p := &objects.Pods[i]
		containers, uses := users[p.UID]
		if !uses || p.UID == "" || p.Ended() {
			continue
		}
		t, asked := demand.TargetOf(p, e.selectors)
		if !asked {
			continue
		}
		if len(containers) == 1 {
			t.Container = slices.Collect(maps.Keys(containers))[0]
		}
		watched[p.UID] = true
		targets = append(targets, t)
		e.notes.target(p.Key(), t.Detail)
	}
	e.out.Watch(targets)
	for _, look := range r.Engines {
		e.last[engineKey{look.Holder.PodUID, look.Holder.Container}] = look
		e.notes.engine(look.Holder.Account(), look.Problem)
	}
	maps.DeleteFunc(e.last, func(k engineKey, _ attribution.Engine) bool { return !watched[k.pod] })
	e.notes.forgetEngines(watchedNames(objects, watched))
}

// looks are the last look at each engine that is watched, in order.
func (e *engines) looks() []attribution.Engine {
	return slices.SortedFunc(maps.Values(e.last), func(a, b attribution.Engine) int { return a.Holder.Compare(b.Holder) })
}

// usersOf lists, by UID, the pods that use partitions, with the names of the
// containers that do. Who only observes uses none.
func usersOf(r *attribution.Result) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	add := func(uid string, containers ...string) {
		if out[uid] == nil {
			out[uid] = map[string]bool{}
		}
		for _, c := range containers {
			if c != "" {
				out[uid][c] = true
			}
		}
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		for _, g := range p.Grants {
			if !g.Admin {
				add(g.Holder.PodUID, g.Containers...)
			}
		}
		for _, h := range p.Holdings {
			if h.Holder.Kind == workload.KindPod {
				add(h.Holder.PodUID, h.Holder.Container)
			}
		}
	}
	return out
}

func watchedNames(objects *sample.Objects, watched map[string]bool) map[string]bool {
	names := make(map[string]bool, len(watched))
	for i := range objects.Pods {
		if watched[objects.Pods[i].UID] {
			names[objects.Pods[i].Key()] = true
		}
	}
	return names
}
