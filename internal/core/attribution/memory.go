// SPDX-License-Identifier: Apache-2.0

package attribution

import "github.com/gputally/gputally/internal/core/workload"

// memory is what an attributor keeps between samples. All of it is bounded by
// what the last sample named.
type memory struct {
	// owners are the processes of the last sample, so that one that left
	// /proc but still holds memory keeps its owner.
	owners map[processKey]owner
	// grants are those of the last sample in which the list was readable.
	grants map[string][]Grant
	// leaks are the pods that leaked, by partition and pod, when grants were
	// last known.
	leaks map[string]bool
	// firstSeen is when a pod UID that no object names was first seen on a
	// process, in monotonic milliseconds.
	firstSeen map[string]int64
	// numbered is what ids that name a MIG instance by its number mean.
	numbered map[numberedID]meaning
	// cgroups are parsed cgroup texts: processes of a node repeat them.
	cgroups map[string]workload.CgroupOwner
}

type processKey struct {
	pid   int
	start uint64
}

func newMemory() memory {
	return memory{
		owners: map[processKey]owner{}, grants: map[string][]Grant{}, leaks: map[string]bool{},
		firstSeen: map[string]int64{}, cgroups: map[string]workload.CgroupOwner{},
	}
}

// remember replaces what was kept by what this sample showed.
func (m *memory) remember(w *work) {
	owners := make(map[processKey]owner, 2*len(w.owners))
	unnamed := map[string]int64{}
	cgroups := make(map[string]workload.CgroupOwner, len(m.cgroups))
	for pid, o := range w.owners {
		p := w.s.Processes[pid]
		owners[processKey{pid, p.StartTicks}] = o
		if p.StartTicks != 0 {
			// A process that is gone from /proc is asked for without its start.
			owners[processKey{pid, 0}] = o
		}
		cgroups[p.Cgroup] = m.cgroups[p.Cgroup]
		if o.unnamed() {
			unnamed[o.holder.PodUID] = m.since(o.holder.PodUID, w.s.MonoMS)
		}
	}
	m.owners, m.firstSeen, m.cgroups = owners, unnamed, cgroups
	if w.s.Grants.Readable {
		m.rememberGrants(w)
		m.rememberNumbered(w)
	}
}

func (m *memory) rememberGrants(w *work) {
	m.grants, m.leaks = map[string][]Grant{}, map[string]bool{}
	for _, p := range w.inv.parts {
		key := p.ID.String()
		m.grants[key] = p.Grants
		for _, h := range p.Holdings {
			if h.Leak {
				m.leaks[leakKey(p, h.Holder)] = true
			}
		}
	}
}

func leakKey(p *part, h workload.Holder) string { return p.ID.String() + "|" + h.PodKey() }

// since is when a pod UID was first seen without a name.
func (m *memory) since(uid string, now int64) int64 {
	if t, ok := m.firstSeen[uid]; ok {
		return t
	}
	return now
}

// parse is workload.ParseCgroup, once per text.
func (m *memory) parse(text string) workload.CgroupOwner {
	if o, ok := m.cgroups[text]; ok && o.Kind != "" {
		return o
	}
	o := workload.ParseCgroup(text)
	m.cgroups[text] = o
	return o
}
