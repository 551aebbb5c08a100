// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
)

// Plans looks for nodes that each cluster could give back. What it answers is kept and
// shared: it is to be read only.
func (s *Service) Plans(ctx context.Context, q inquiry.AdviceQuery) (inquiry.Plans, error) {
	if q.AtMS == 0 {
		q.AtMS = s.now().UnixMilli()
	}
	to := dayOf(q.AtMS)
	basis, rules, known, err := s.basisOf(ctx, to)
	if err != nil {
		return inquiry.Plans{}, err
	}
	all, kept := s.plans.have(basis)
	switch {
	case kept:
	case !known || q.Cluster != "":
		all, err = s.plan(ctx, q.Cluster, to, rules)
	default:
		all, err = s.plans.ask(ctx, basis, func(ctx context.Context) (*inquiry.Plans, bool, error) {
			all, err := s.plan(ctx, "", to, rules)
			return all, true, err
		})
	}
	if err != nil {
		return inquiry.Plans{}, err
	}
	out := *all
	out.Clusters = nil
	for i := range all.Clusters {
		if q.Cluster == "" || all.Clusters[i].Cluster == q.Cluster {
			out.Clusters = append(out.Clusters, all.Clusters[i])
		}
	}
	return out, nil
}

// plan works plans out, of one cluster or of all ("").
func (s *Service) plan(ctx context.Context, cluster string, to time.Time, rules RuleSet) (*inquiry.Plans, error) {
	from := to.AddDate(0, 0, -windowDays)
	out := &inquiry.Plans{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	fleet, err := s.fleet(ctx, to, rules)
	if err != nil {
		return nil, err
	}
	clusters := machinesOf(fleet.market, &fleet.Fleet)
	err = s.eachWorkload(ctx, &inquiry.AdviceQuery{Cluster: cluster}, from, to, func(hours []*activity.Hour) error {
		for _, c := range advisor.Cases(hours, out.FromMS, out.ToMS) {
			if p := clusters[c.Target.Cluster]; p != nil && c.Running() {
				addCase(p, c, &fleet.Fleet)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		if cluster != "" && name != cluster {
			continue
		}
		p := clusters[name]
		p.FromMS, p.ToMS = out.FromMS, out.ToMS
		r, err := p.Plan()
		if err != nil {
			return nil, fmt.Errorf("plan for cluster %q: %w", name, err)
		}
		out.Clusters = append(out.Clusters, inquiry.ClusterPlan{Cluster: name, Nodes: len(p.Machines), Unpriced: unpriced(p.Machines), Kept: p.Kept(), Repacking: r})
	}
	return out, nil
}

func unpriced(machines []advisor.Machine) (n int) {
	for i := range machines {
		if machines[i].Hour == nil {
			n++
		}
	}
	return n
}

// addCase adds a workload, with the smaller profile that is advised for it.
func addCase(p *advisor.Placed, c *advisor.Case, fleet *advisor.Fleet) {
	p.Cases = append(p.Cases, c)
	list, err := c.Advise(fleet)
	if err != nil {
		return // it stays as it is
	}
	for _, r := range list {
		if r.Kind == advice.KindMIG && r.State == advice.Advised {
			p.Smaller[c] = r
		}
	}
}

// machinesOf are the nodes of the last hours, by cluster, with what they cost. Prices of
// a plan are in one currency: that of most of its nodes. Nodes in another count as ones
// without a price.
func machinesOf(m *market, fleet *advisor.Fleet) map[string]*advisor.Placed {
	out := map[string]*advisor.Placed{}
	votes := map[string]map[string]int{}
	keys := slices.SortedFunc(maps.Keys(m.nodes), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, k := range keys {
		if p := fleet.Price(k[0], k[1]); p != nil {
			if votes[k[0]] == nil {
				votes[k[0]] = map[string]int{}
			}
			votes[k[0]][p.Currency]++
		}
	}
	for _, k := range keys {
		c := out[k[0]]
		if c == nil {
			c = &advisor.Placed{Cluster: k[0], Currency: mostOf(votes[k[0]]), Card: fleet.Card, Smaller: map[*advisor.Case]advice.Recommendation{}}
			out[k[0]] = c
		}
		n := m.nodes[k]
		machine := advisor.Machine{Name: n.Name, Type: n.InstanceType, CPUMilli: n.CPUMilli, MemoryBytes: n.MemoryBytes}
		if fleet.Node != nil {
			machine.Node = fleet.Node(k[0], k[1])
		}
		for _, s := range n.Slots {
			machine.Models = append(machine.Models, s.Model)
		}
		if p := fleet.Price(k[0], k[1]); p != nil && p.Currency == c.Currency {
			machine.Hour = new(money.Nano)
			*machine.Hour = p.NodeHour
			c.Grade = worse(c.Grade, p.Grade)
		}
		c.Machines = append(c.Machines, machine)
	}
	return out
}

func mostOf(votes map[string]int) (most string) {
	for _, c := range slices.Sorted(maps.Keys(votes)) {
		if most == "" || votes[c] > votes[most] {
			most = c
		}
	}
	return most
}

// worse is the grade of prices of which some are listed.
func worse(a, b string) string {
	if a == "" || b == "listed" {
		return b
	}
	return a
}

// planAt bounds how old the state of nodes may be.
const planAt = 2 * time.Hour
