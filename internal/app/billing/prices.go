// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// piecesAt are the nodes of an hour as they were, by node, with their machines.
func (s *Service) piecesAt(ctx context.Context, at time.Time, node string) (map[ledger.NodeHour][]rating.Piece, map[ledger.NodeHour]rating.Machine, error) {
	hour := at.Truncate(time.Hour)
	machines, err := s.store.Machines(ctx, hour, hour.Add(time.Hour), node)
	if err != nil {
		return nil, nil, err
	}
	by := map[ledger.NodeHour][]rating.Machine{}
	last := map[ledger.NodeHour]rating.Machine{}
	for _, m := range machines {
		k := ledger.NodeHour{Cluster: m.Cluster, Node: m.Node, HourMS: hour.UnixMilli()}
		by[k] = append(by[k], m)
		last[k] = m
	}
	pieces := map[ledger.NodeHour][]rating.Piece{}
	for k, ms := range by {
		batches, err := batchesOf(ctx, s.store, hour, k)
		if err != nil {
			return nil, nil, err
		}
		pieces[k] = rating.Pieces(k, ms, batches)
	}
	return pieces, last, nil
}

// Nodes are those known in the hour that holds a moment.
func (s *Service) Nodes(ctx context.Context, atMS int64) ([]inquiry.NodeAt, error) {
	at := time.UnixMilli(atMS).UTC()
	pieces, machines, err := s.piecesAt(ctx, at, "")
	if err != nil {
		return nil, err
	}
	rules, err := s.rules.Rules(ctx, at.Truncate(time.Hour))
	if err != nil {
		return nil, err
	}
	var out []inquiry.NodeAt
	for k, ps := range pieces {
		if len(ps) == 0 {
			continue
		}
		n := inquiry.NodeAt{Node: ps[len(ps)-1].Node, FirstMS: machines[k].FirstMS, LastMS: machines[k].LastMS}
		cost, err := wholeHour(rules.Prices, &n.Node, at)
		if err != nil {
			return nil, err
		}
		n.Cost = cost[len(cost)-1]
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b inquiry.NodeAt) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Name, b.Name))
	})
	return out, nil
}

// wholeHour is what a node would cost in all of the hour that holds a moment.
func wholeHour(p rating.Pricer, n *pricing.Node, at time.Time) ([]pricing.NodeCost, error) {
	node, hour := *n, at.Truncate(time.Hour)
	node.Life = pricing.Life{}
	return p.Cost(&node, hour.UnixMilli(), hour.Add(time.Hour).UnixMilli())
}

// node finds one node, as it was last in the hour.
func (s *Service) node(ctx context.Context, cluster, name string, at time.Time) (*pricing.Node, error) {
	pieces, _, err := s.piecesAt(ctx, at, name)
	if err != nil {
		return nil, err
	}
	var found []ledger.NodeHour
	for k, ps := range pieces {
		if len(ps) > 0 && (cluster == "" || k.Cluster == cluster) {
			found = append(found, k)
		}
	}
	slices.SortFunc(found, ledger.NodeHour.Compare)
	switch len(found) {
	case 0:
		return nil, &inquiry.NotFound{What: "node", Name: name, Hint: "at " + at.Format(time.RFC3339) + " no agent reported it; gputally status tells which nodes do"}
	case 1:
		ps := pieces[found[0]]
		return &ps[len(ps)-1].Node, nil
	}
	var clusters []string
	for _, k := range found {
		clusters = append(clusters, k.Cluster)
	}
	return nil, &inquiry.Wrong{Field: "cluster", Value: cluster, Why: "several clusters have a node " + name + ": say which", Allowed: clusters}
}

// NodePrice says what a node costs in the hour that holds a moment, and what
// each book says to it.
func (s *Service) NodePrice(ctx context.Context, cluster, name string, atMS int64) (inquiry.NodePrice, error) {
	at := time.UnixMilli(atMS).UTC()
	n, err := s.node(ctx, cluster, name, at)
	if err != nil {
		return inquiry.NodePrice{}, err
	}
	rules, err := s.rules.Rules(ctx, at.Truncate(time.Hour))
	if err != nil {
		return inquiry.NodePrice{}, err
	}
	out := inquiry.NodePrice{AtMS: atMS, Node: *n}
	if out.Pieces, err = wholeHour(rules.Prices, n, at); err != nil {
		return out, err
	}
	_, answers, err := rules.Prices.Ask(n, atMS)
	for _, a := range answers {
		out.Asked = append(out.Asked, inquiry.BookAnswer(a))
	}
	return out, err
}

// ComparePrices splits the price of a node by every rule.
func (s *Service) ComparePrices(ctx context.Context, cluster, name string, atMS int64) (inquiry.PriceComparison, error) {
	at := time.UnixMilli(atMS).UTC()
	n, err := s.node(ctx, cluster, name, at)
	if err != nil {
		return inquiry.PriceComparison{}, err
	}
	rules, err := s.rules.Rules(ctx, at.Truncate(time.Hour))
	if err != nil {
		return inquiry.PriceComparison{}, err
	}
	costs, err := wholeHour(rules.Prices, n, at)
	if err != nil {
		return inquiry.PriceComparison{}, err
	}
	cost := costs[len(costs)-1]
	if !cost.Priced {
		return inquiry.PriceComparison{}, &inquiry.NotFound{What: "price of node", Name: name, Hint: cost.Reason}
	}
	out := inquiry.PriceComparison{AtMS: atMS, Node: *n, Hourly: cost.Basis.Hourly, Currency: cost.Currency, Basis: cost.Basis}
	out.Rules, err = pricing.SplitAll(rules.Prices.Policy(), n, out.Hourly, out.Currency)
	return out, err
}

// CheckPrices looks for hours without a price, or with one that has a note, and
// for doubtful rows.
func (s *Service) CheckPrices(ctx context.Context, fromMS, toMS int64) (inquiry.PriceCheck, error) {
	from, to := span(fromMS, toMS)
	out := inquiry.PriceCheck{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}
	unpriced, fallback := map[gapKey]*inquiry.PriceGap{}, map[gapKey]*inquiry.PriceGap{}
	nodes := map[string]bool{}
	pricedBy := map[rowKey]int{}
	for h, err := range s.store.Rated(ctx, from, to, "") {
		if err != nil {
			return out, err
		}
		out.Hours++
		nodes[nodeKey(h.Cluster, h.Node)] = true
		for i := range h.Costs {
			c := &h.Costs[i]
			if !c.Priced {
				addGap(unpriced, h, c, c.Reason)
				continue
			}
			pricedBy[rowKey{c.Basis.Source, c.Basis.Row}]++
			for _, note := range c.Basis.Notes {
				addGap(fallback, h, c, note)
			}
		}
	}
	out.Nodes = len(nodes)
	out.Unpriced, out.Fallback = sortedGaps(unpriced), sortedGaps(fallback)
	rules, err := s.rules.Rules(ctx, s.cfg.Now().UTC().Truncate(time.Hour))
	if err != nil {
		return out, err
	}
	sanity := pricing.SanityRules{Now: s.cfg.Now().UnixMilli(), MaxAge: oldPrice.Milliseconds()}
	for _, b := range rules.Books {
		for _, d := range pricing.Doubts(b, sanity) {
			out.Doubts = append(out.Doubts, inquiry.BookDoubt{Book: b.Name, DoubtfulRow: d, Hours: pricedBy[rowKey{b.Name, d.Row}]})
		}
	}
	return out, nil
}

// oldPrice is the age at which a price that nobody saw again is out of date.
const oldPrice = 400 * 24 * time.Hour

// rowKey is a row of a book.
type rowKey struct{ book, row string }

type gapKey struct{ cluster, node, reason, row string }

func addGap(of map[gapKey]*inquiry.PriceGap, h *rating.Rated, c *pricing.NodeCost, reason string) {
	k := gapKey{h.Cluster, h.Node, reason, c.Basis.Row}
	g := of[k]
	if g == nil {
		g = &inquiry.PriceGap{Cluster: h.Cluster, Node: h.Node, Reason: reason, Book: c.Basis.Source, Row: c.Basis.Row, FirstMS: h.HourMS}
		of[k] = g
	}
	if g.Hours == 0 || g.LastMS != h.HourMS {
		g.Hours++
	}
	g.LastMS = h.HourMS
	if len(h.Nodes) > 0 {
		g.InstanceType = h.Nodes[len(h.Nodes)-1].Node.InstanceType
	}
}

func sortedGaps(of map[gapKey]*inquiry.PriceGap) (out []inquiry.PriceGap) {
	for _, g := range of {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b inquiry.PriceGap) int {
		return cmp.Or(cmp.Compare(b.Hours, a.Hours), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), strings.Compare(a.Reason, b.Reason))
	})
	return out
}
