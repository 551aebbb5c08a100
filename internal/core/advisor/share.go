// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// Groups are small: each further tenant is one more who can take the others' memory.
// Minutes are read for each, so there are not many of them.
const (
	mostTenants = 4
	mostGroups  = 20
)

// Sharers are workloads that could share a card by what they hold: of one cluster, one
// model and one namespace, which is taken for the domain of those who trust each other,
// each alone on a whole card of its own. Whether they work at different times, their
// minutes tell. Those that hold most are placed first, each with the largest that still
// fit beside it.
func Sharers(cases []*Case) (groups [][]*Case) {
	var can []*Case
	for _, c := range cases {
		if c.mayShare() {
			can = append(can, c)
		}
	}
	slices.SortFunc(can, func(a, b *Case) int {
		return cmp.Or(cmp.Compare(a.Target.Cluster, b.Target.Cluster), cmp.Compare(a.Device.Model, b.Device.Model), cmp.Compare(a.Target.Namespace, b.Target.Namespace),
			cmp.Compare(*b.PeakBytes, *a.PeakBytes), cmp.Compare(a.Target.Owner, b.Target.Owner))
	})
	taken := map[*Case]bool{}
	for i, first := range can {
		if taken[first] || len(groups) == mostGroups {
			continue
		}
		group, held := []*Case{first}, *first.PeakBytes
		for _, c := range can[i+1:] {
			if !taken[c] && sameDomain(first, c) && len(group) < mostTenants && held+*c.PeakBytes <= first.Device.CapacityBytes/10*8 {
				group, held = append(group, c), held+*c.PeakBytes
			}
		}
		if len(group) > 1 {
			for _, c := range group {
				taken[c] = true
			}
			groups = append(groups, group)
		}
	}
	return groups
}

func (c *Case) mayShare() bool {
	last := c.hours[len(c.hours)-1]
	return c.Running() && c.Profile == "" && c.GPUs == 1 && len(c.now) == 1 && c.Holders == 1 && last.Mode == gpu.ModeExclusive &&
		c.PeakBytes != nil && *c.PeakBytes > 0 && c.Device.CapacityBytes > 0
}

func sameDomain(a, b *Case) bool {
	return a.Target.Cluster == b.Target.Cluster && a.Device.Model == b.Device.Model && a.Target.Namespace == b.Target.Namespace
}

// Places are the nodes that the workload's hours are of.
func (c *Case) Places() (nodes []string) {
	for _, h := range c.hours {
		nodes = append(nodes, h.Node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// Tenant is the workload as one of several on a card. Its minutes are still to be
// added.
func (c *Case) Tenant(f *Fleet) advice.Tenant {
	t := advice.Tenant{Subject: c.Subject, Trust: c.Target.Cluster + "/" + c.Target.Namespace}
	if f.Price != nil {
		t.Price = f.Price(c.now[0].cluster, c.now[0].node)
	}
	n := (c.ToMS - c.FromMS) / 60_000
	t.Active, t.DRAM = make(advice.Series, n), make(advice.Series, n)
	return t
}

// AddMinutes adds what the records of a node tell of a tenant, from its first minute on.
func AddMinutes(t *advice.Tenant, c *Case, batches []usage.Batch) {
	pods := map[string]bool{}
	for _, h := range c.hours {
		pods[h.Holder.PodKey()] = true
	}
	for i := range batches {
		for _, m := range activity.SignalsOf(&batches[i], pods) {
			first := (m.StartMS - c.FromMS) / 60_000
			for at := first; at < first+max(m.DurationMS/60_000, 1); at++ {
				if m.StartMS >= c.FromMS && at < int64(len(t.Active)) {
					t.Active[at], t.DRAM[at] = m.Active(), m.DRAMActive
				}
			}
		}
	}
}
