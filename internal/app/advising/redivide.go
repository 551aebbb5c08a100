// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/counterfactual"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// trial is a proposal whose charge only dividing recorded hours again can tell, and what
// came of it so far.
type trial struct {
	*advisor.Trial
	rec *advice.Recommendation
	// fell is by how much the charge fell in the hours divided, ms for how long partitions
	// were altered there. left are hours in which there was nothing to alter, gone those
	// whose records are no more, dark those without a price.
	fell                    money.Sum
	ms                      int64
	hours, left, gone, dark int
}

// trials are those of a workload's recommendations whose charge its price does not tell.
func (f *knownFleet) trials(c *advisor.Case, list []advice.Recommendation) (out []*trial) {
	for i := range list {
		r := &list[i]
		if r.State != advice.Advised || r.Money == nil || c.Plain(r, f.policy()) {
			continue
		}
		out = append(out, tried(r, c.Trial(r, &f.Fleet)))
	}
	return slices.DeleteFunc(out, func(t *trial) bool { return t == nil })
}

// shareTrial is that of workloads that would share a card; nil where prices tell.
func (f *knownFleet) shareTrial(group []*advisor.Case, r *advice.Recommendation) []*trial {
	if r.State != advice.Advised || r.Money == nil || advisor.PlainShare(group, f.policy()) {
		return nil
	}
	return []*trial{tried(r, advisor.ShareTrial(group))}
}

// tried is a trial; nil, and the charge not known, where nothing can be tried.
func tried(r *advice.Recommendation, t *advisor.Trial) *trial {
	if t == nil {
		r.Money = charged(r.Money, nil, "not known: what would have been recorded under the change cannot be told")
		return nil
	}
	return &trial{Trial: t, rec: r}
}

// charged is money with another charge.
func charged(m *advice.Money, fell *money.Nano, note string) *advice.Money {
	out := *m
	out.ChargeDelta, out.ChargeNote = fell, note
	return &out
}

// divideAgain divides the hours of trials as they were and as they would have been, under
// the policy in force.
func (s *Service) divideAgain(ctx context.Context, trials []*trial, p allocation.Policy) error {
	byHour := map[int64][]*trial{}
	var hours []int64
	for _, t := range trials {
		for _, h := range t.Hours {
			if byHour[h] == nil {
				hours = append(hours, h)
			}
			byHour[h] = append(byHour[h], t)
		}
	}
	slices.Sort(hours)
	for _, h := range hours {
		d := division{hour: h, trials: byHour[h], policy: p, nodes: map[nodeName]counterfactual.Node{}, base: map[nodeName][]allocation.Entry{}, waiting: map[nodeName]int{}, before: map[string][]allocation.Entry{}}
		if err := d.run(ctx, s.store); err != nil {
			return fmt.Errorf("divide the hour of %s again: %w", time.UnixMilli(h).UTC().Format(time.RFC3339), err)
		}
	}
	for _, t := range trials {
		if err := t.settle(p.Name()); err != nil {
			return err
		}
	}
	return nil
}

// settle scales what was found to a month.
func (t *trial) settle(policy string) error {
	switch {
	case t.hours > 0:
	case t.gone > 0:
		t.rec.Money = charged(t.rec.Money, nil, fmt.Sprintf("not known: of the %d hours to divide again under %q no records are left", t.gone, policy))
		return nil
	case t.dark > 0:
		t.rec.Money = charged(t.rec.Money, nil, "not known: the hours to divide again have no price, or several currencies")
		return nil
	default:
		t.rec.Money = charged(t.rec.Money, nil, fmt.Sprintf("not known: in the %d hours to divide again others held memory there, too, or what was recorded does not fit the change", t.left))
		return nil
	}
	fell, err := t.Month(t.fell, t.ms)
	if err != nil {
		return err
	}
	day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02") }
	note := fmt.Sprintf("%d recorded hours from %s to %s divided again under %q", t.hours, day(t.Hours[0]), day(t.Hours[len(t.Hours)-1]), policy)
	if out := t.left + t.gone + t.dark; out > 0 {
		note += fmt.Sprintf("; %d more could not be", out)
	}
	t.rec.Money = charged(t.rec.Money, &fell, note)
	return nil
}

// nodeName is a node of a cluster.
type nodeName struct{ cluster, node string }

// division is one hour that is divided again.
type division struct {
	hour   int64
	trials []*trial
	policy allocation.Policy
	rated  map[nodeName]*rating.Rated
	nodes  map[nodeName]counterfactual.Node
	// base is what all nodes of the trials' clusters came to, where the policy passes
	// accounts on beyond the node; nil else.
	base map[nodeName][]allocation.Entry
	// waiting is how many trials still need a node, before how groups of nodes were
	// divided.
	waiting map[nodeName]int
	before  map[string][]allocation.Entry
}

// run reads the hour node by node. A trial is made as soon as its nodes are there, or, where
// accounts are passed on beyond the node, when all are.
func (d *division) run(ctx context.Context, store Store) error {
	clusters := map[string]bool{}
	for _, t := range d.trials {
		clusters[t.Cluster] = true
		for _, n := range t.At[d.hour] {
			d.waiting[nodeName{t.Cluster, n}]++
		}
	}
	beyond, only := counterfactual.Beyond(d.policy), ""
	if len(d.waiting) == 1 && !beyond {
		for n := range d.waiting {
			only = n.node
		}
	}
	from := time.UnixMilli(d.hour).UTC()
	d.rated = map[nodeName]*rating.Rated{}
	for h, err := range store.Rated(ctx, from, from.Add(time.Hour), only) {
		if err != nil {
			return err
		}
		d.rated[nodeName{h.Cluster, h.Node}] = h
	}
	for w, err := range store.Touching(ctx, from, from.Add(time.Hour), only) {
		if err != nil {
			return err
		}
		k := nodeName{w.Cluster, w.Node}
		if d.rated[k] == nil || d.waiting[k] == 0 && !(beyond && clusters[k.cluster]) {
			continue
		}
		batches, err := w.Read()
		if err != nil {
			return err
		}
		if err := d.take(k, batches, beyond); err != nil {
			return err
		}
	}
	if beyond {
		if err := d.silent(clusters); err != nil {
			return err
		}
	}
	for _, t := range d.trials {
		if err := d.try(t); err != nil {
			return err
		}
	}
	return nil
}

// take adds a node's records.
func (d *division) take(k nodeName, batches []usage.Batch, beyond bool) error {
	n := counterfactual.Node{Costs: d.rated[k].Costs, Batches: batches}
	if d.waiting[k] > 0 {
		d.nodes[k] = n
	}
	if beyond {
		base, err := counterfactual.Base(n, d.policy)
		d.base[k] = base
		return err
	}
	for _, t := range d.trials {
		if !slices.Contains(t.At[d.hour], k.node) || t.Cluster != k.cluster || !d.ready(t) {
			continue
		}
		if err := d.try(t); err != nil {
			return err
		}
	}
	return nil
}

// ready: all nodes of a trial are there.
func (d *division) ready(t *trial) bool {
	return !slices.ContainsFunc(t.At[d.hour], func(n string) bool { _, there := d.nodes[nodeName{t.Cluster, n}]; return !there })
}

// silent adds nodes that were paid for without any records.
func (d *division) silent(clusters map[string]bool) error {
	for k, h := range d.rated {
		if _, there := d.base[k]; there || !clusters[k.cluster] {
			continue
		}
		base, err := counterfactual.Base(counterfactual.Node{Costs: h.Costs}, d.policy)
		if err != nil {
			return err
		}
		d.base[k] = base
	}
	return nil
}

// try makes a trial, once.
func (d *division) try(t *trial) error {
	at := t.At[d.hour]
	if at == nil {
		return nil // it was made
	}
	complete := d.ready(t)
	var nodes []counterfactual.Node
	for _, n := range at {
		nodes = append(nodes, d.nodes[nodeName{t.Cluster, n}])
	}
	delete(t.At, d.hour)
	if !complete {
		t.gone++
		return nil
	}
	rest := d.rest(t.Cluster, at)
	before, err := d.asItWas(t.Cluster, at, nodes, rest)
	if err != nil {
		return err
	}
	altered, ms := t.Change(nodes)
	if ms == 0 {
		t.left++
		return nil
	}
	after, err := counterfactual.Divide(altered, rest, d.policy)
	if err != nil {
		return err
	}
	d.leave(t.Cluster, at)
	was, currency, known := counterfactual.Charge(before, t.Pods)
	would, other, alike := counterfactual.Charge(after, t.Pods)
	if !known || !alike || string(currency) != t.rec.Money.Currency || other != "" && other != currency {
		t.dark++
		return nil
	}
	t.hours++
	t.ms += ms
	t.fell.AddSum(was)
	t.fell.AddSum(would.Neg())
	return nil
}

// rest is what the other nodes of a cluster came to.
func (d *division) rest(cluster string, but []string) (out []allocation.Entry) {
	others := slices.SortedFunc(maps.Keys(d.base), func(a, b nodeName) int { return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.node, b.node)) })
	for _, k := range others {
		if k.cluster == cluster && !slices.Contains(but, k.node) {
			out = append(out, d.base[k]...)
		}
	}
	return out
}

// asItWas is the division of nodes as they were.
func (d *division) asItWas(cluster string, at []string, nodes []counterfactual.Node, rest []allocation.Entry) ([]allocation.Entry, error) {
	k := cluster + "\x00" + strings.Join(at, "\x00")
	if have, there := d.before[k]; there {
		return have, nil
	}
	entries, err := counterfactual.Divide(nodes, rest, d.policy)
	d.before[k] = entries
	return entries, err
}

// leave forgets the records of nodes that no trial needs any more.
func (d *division) leave(cluster string, at []string) {
	for _, n := range at {
		k := nodeName{cluster, n}
		if d.waiting[k]--; d.waiting[k] <= 0 && len(d.base) == 0 {
			delete(d.nodes, k)
			delete(d.before, cluster+"\x00"+strings.Join(at, "\x00"))
		}
	}
}
