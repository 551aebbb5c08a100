// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// mostNodes is how many of a workload's nodes are looked at for prices and the policy, the
// first by name.
const mostNodes = 20

// terms are the prices and policies by which a time was charged, on the nodes that a
// workload was on.
func (s *Service) terms(ctx context.Context, cluster string, nodes []string, p *advice.Period) error {
	sums := tariffs{}
	for _, node := range nodes[:min(len(nodes), mostNodes)] {
		for h, err := range s.store.Rated(ctx, time.UnixMilli(p.FromMS).UTC(), time.UnixMilli(p.ToMS).UTC(), node) {
			if err != nil {
				return err
			}
			if h.Cluster == cluster {
				sums.add(h)
				p.Policies = append(p.Policies, h.Revision.Policy)
			}
		}
	}
	slices.Sort(p.Policies)
	p.Policies = slices.Compact(p.Policies)
	var err error
	p.Prices, err = sums.means()
	return err
}

// tariff is a kind of machine at a time, and how its price was split.
type tariff struct{ machine, currency, split string }

// tariffs are prices of hours, to be averaged.
type tariffs map[tariff]*hourly

type hourly struct {
	sum   money.Sum
	hours int64
}

// add counts an hour of a node: what a whole hour cost in each of its pieces.
func (t tariffs) add(h *rating.Rated) {
	for i := range h.Costs {
		c := &h.Costs[i]
		if !c.Priced {
			continue
		}
		k := tariff{machineAt(h, c.StartMS), string(c.Currency), c.Basis.Split}
		if t[k] == nil {
			t[k] = &hourly{}
		}
		t[k].sum.Add(c.Basis.Hourly)
		t[k].hours++
	}
}

// machineAt is the type of machine that a node was, its name where nobody tells.
func machineAt(h *rating.Rated, ms int64) string {
	for i := range h.Nodes {
		if n := &h.Nodes[i]; n.FromMS <= ms && ms < n.ToMS && n.Node.InstanceType != "" {
			return n.Node.InstanceType
		}
	}
	return h.Node
}

// means are the prices in order.
func (t tariffs) means() (out []advice.MachinePrice, err error) {
	for k, h := range t {
		sum, err := h.sum.Nano()
		if err != nil {
			return nil, err
		}
		mean, err := pricing.PerHour(sum, h.hours)
		if err != nil {
			return nil, err
		}
		out = append(out, advice.MachinePrice{Machine: k.machine, Currency: k.currency, Split: k.split, Hour: mean})
	}
	slices.SortFunc(out, comparePrices)
	return out, nil
}

func comparePrices(a, b advice.MachinePrice) int {
	return cmp.Or(cmp.Compare(a.Machine, b.Machine), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.Split, b.Split))
}
