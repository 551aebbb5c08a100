// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/counterfactual"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// nodeName is a node of a cluster.
type nodeName struct{ cluster, node string }

func (a nodeName) compare(b nodeName) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.node, b.node))
}

// division is one hour that is divided again.
type division struct {
	service *Service
	hour    int64
	trials  []*trial
	policy  allocation.Policy
	rated   map[nodeName]*rating.Rated
	nodes   map[nodeName]counterfactual.Node
	// base is what all nodes of the trials' clusters came to, where the policy passes
	// accounts on beyond the node; nil else.
	base map[nodeName][]allocation.Entry
	// waiting is how many trials still need a node, before how groups of nodes were
	// divided.
	waiting map[nodeName]int
	before  map[string][]allocation.Entry
	// states are those of clusters (stateOf).
	states map[string]string
}

// run reads the hour node by node. A trial is made as soon as its nodes are there, or, where
// accounts are passed on beyond the node, when all are.
func (d *division) run(ctx context.Context) error {
	store, beyond := d.service.store, counterfactual.Beyond(d.policy)
	from := time.UnixMilli(d.hour).UTC()
	d.rated = map[nodeName]*rating.Rated{}
	for h, err := range store.Rated(ctx, from, from.Add(time.Hour), d.only(beyond)) {
		if err != nil {
			return err
		}
		d.rated[nodeName{h.Cluster, h.Node}] = h
	}
	d.recall(beyond)
	clusters := map[string]bool{}
	for _, t := range d.trials {
		if t.At[d.hour] != nil {
			clusters[t.Cluster] = true
		}
		for _, n := range t.At[d.hour] {
			d.waiting[nodeName{t.Cluster, n}]++
		}
	}
	if len(clusters) == 0 {
		return nil
	}
	for _, node := range d.walks(beyond) {
		if err := d.walk(ctx, node, clusters, beyond); err != nil {
			return err
		}
	}
	if beyond {
		if err := d.silent(clusters); err != nil {
			return err
		}
	}
	for _, t := range d.trials {
		d.try(t)
	}
	return nil
}

// aFew is from which part of an hour's nodes on they are walked together: to begin a walk
// takes about as long as to read so many nodes.
const aFew = 8

// walks are the nodes to walk one by one, or "" for all at once.
func (d *division) walks(beyond bool) (nodes []string) {
	if beyond || len(d.waiting) > 1 && len(d.waiting)*aFew > len(d.rated) {
		return []string{""}
	}
	for k := range d.waiting {
		nodes = append(nodes, k.node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// walk reads records: of a node, or of all.
func (d *division) walk(ctx context.Context, node string, clusters map[string]bool, beyond bool) error {
	from := time.UnixMilli(d.hour).UTC()
	for w, err := range d.service.store.Touching(ctx, from, from.Add(time.Hour), node) {
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
		d.try(t)
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

// try makes a trial, once. What cannot be divided holds up no other.
func (d *division) try(t *trial) {
	at := t.At[d.hour]
	if at == nil {
		return // it was made
	}
	if !d.ready(t) {
		d.done(t, found{as: noRecords})
		return
	}
	f, err := d.find(t, at)
	if err != nil {
		d.service.log.Error("an hour could not be divided again; others go on", "hour", time.UnixMilli(d.hour).UTC().Format(time.RFC3339), "workload", t.rec.Target.Namespace+"/"+t.rec.Target.Owner, "error", err)
	}
	d.done(t, f)
	d.leave(t.Cluster, at)
}

// find divides the nodes of a trial as they were and as they would have been.
func (d *division) find(t *trial, at []string) (found, error) {
	var nodes []counterfactual.Node
	for _, n := range at {
		nodes = append(nodes, d.nodes[nodeName{t.Cluster, n}])
	}
	altered, ms := t.Change(nodes)
	if ms == 0 {
		return found{as: nothingThere}, nil
	}
	rest := d.rest(t.Cluster, at)
	before, err := d.asItWas(t.Cluster, at, nodes, rest)
	if err != nil {
		return found{as: failed}, err
	}
	after, err := counterfactual.Divide(altered, rest, d.policy)
	if err != nil {
		return found{as: failed}, err
	}
	was, currency, known := counterfactual.Charge(before, t.Pods)
	would, other, alike := counterfactual.Charge(after, t.Pods)
	if !known || !alike || string(currency) != t.rec.Money.Currency || other != "" && other != currency {
		return found{as: noPrice}, nil
	}
	was.AddSum(would.Neg())
	return found{as: divided, fell: was, ms: ms}, nil
}

// rest is what the other nodes of a cluster came to.
func (d *division) rest(cluster string, but []string) (out []allocation.Entry) {
	for _, k := range slices.SortedFunc(maps.Keys(d.base), nodeName.compare) {
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
	if err == nil {
		d.before[k] = entries
	}
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

// only is the one node that is needed; "" for all of them.
func (d *division) only(beyond bool) (node string) {
	for _, t := range d.trials {
		for _, n := range t.At[d.hour] {
			if beyond || node != "" && node != n {
				return ""
			}
			node = n
		}
	}
	return node
}

// recall takes what was found before, where nothing that it rests on has changed.
func (d *division) recall(beyond bool) {
	s := d.service
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range d.trials {
		if f, there := s.found[d.name(t, beyond)]; there {
			t.count(f)
			delete(t.At, d.hour)
		}
	}
}

// done counts what was found of a trial, once, and keeps it for the next who asks.
func (d *division) done(t *trial, f found) {
	if t.At[d.hour] == nil {
		return
	}
	name := d.name(t, counterfactual.Beyond(d.policy))
	delete(t.At, d.hour)
	t.count(f)
	if f.as == failed {
		return
	}
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	if len(d.service.found) >= mostFound {
		d.service.found = map[string]found{}
	}
	d.service.found[name] = f
}

// mostFound is how many hours of trials are kept: those of more than two thousand
// proposals.
const mostFound = 50_000

// name names an hour of a trial with all that it rests on: the policy, and the records and
// prices of its nodes, or of all of the cluster's.
func (d *division) name(t *trial, beyond bool) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%s\x00%d\x00%+v", t.key, d.hour, d.policy)
	if beyond {
		digest.Write([]byte(d.stateOf(t.Cluster)))
	}
	for _, n := range t.At[d.hour] {
		d.state(digest, nodeName{t.Cluster, n})
	}
	return string(digest.Sum(nil))
}

// state adds what a node's hour was rated from.
func (d *division) state(to io.Writer, k nodeName) {
	if h := d.rated[k]; h != nil {
		fmt.Fprintf(to, "\x00%s\x00%s\x00%s\x00%d", k.node, h.Revision.Records, h.Revision.Prices, h.Booking)
	}
}

// stateOf is that of all nodes of a cluster, worked out once.
func (d *division) stateOf(cluster string) string {
	if have, there := d.states[cluster]; there {
		return have
	}
	digest := sha256.New()
	for _, k := range slices.SortedFunc(maps.Keys(d.rated), nodeName.compare) {
		if k.cluster == cluster {
			d.state(digest, k)
		}
	}
	if d.states == nil {
		d.states = map[string]string{}
	}
	d.states[cluster] = string(digest.Sum(nil))
	return d.states[cluster]
}
