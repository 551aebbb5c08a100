// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// fewNodes is up to how many nodes of an hour are read one by one; beyond, the
// whole hour is.
const fewNodes = 16

// linesAtOnce is how many lines are booked in one transaction, about.
const linesAtOnce = 50_000

// hourWork is one hour of UTC on its way to the ledger.
type hourWork struct {
	at       time.Time
	due      map[string]rating.Due
	machines map[string][]rating.Machine
	batches  map[string][]usage.Batch
	before   map[string][]ledger.Line
	rated    map[string]*rating.Rated
	periods  ledger.Periods
	rules    Rules
}

// rateHour rates those of an hour's nodes that are ready, and returns how many.
func (r *Rater) rateHour(ctx context.Context, due []rating.Due) (int, error) {
	w := &hourWork{at: time.UnixMilli(due[0].HourMS).UTC(), due: map[string]rating.Due{}}
	var err error
	if w.machines, err = r.machines(ctx, w.at); err != nil {
		return 0, err
	}
	ready := r.ready(due, w.machines)
	if len(ready) == 0 {
		return 0, nil
	}
	for _, d := range ready {
		w.due[nodeKey(d.Cluster, d.Node)] = d
	}
	if err := r.askBoot(ctx, w); err != nil {
		return 0, err
	}
	if w.rules, err = r.rules.Rules(ctx, w.at); err == nil {
		err = r.keep(ctx, w.rules.Policy)
	}
	if err != nil {
		return 0, fmt.Errorf("rate hour of %s: %w", w.at.Format(time.RFC3339), err)
	}
	if err := r.read(ctx, w); err != nil {
		return 0, fmt.Errorf("rate hour of %s: %w", w.at.Format(time.RFC3339), err)
	}
	outcomes := r.rate(w)
	return r.book(ctx, w, outcomes)
}

// askBoot asks for the hours in which a machine booted that sent its first window
// in this one.
func (r *Rater) askBoot(ctx context.Context, w *hourWork) error {
	var asked []ledger.NodeHour
	end := w.at.Add(time.Hour).UnixMilli()
	for k := range w.due {
		for i := range w.machines[k] {
			if m := &w.machines[k][i]; m.FirstMS >= w.at.UnixMilli() && m.FirstMS < end {
				asked = append(asked, m.Boot()...)
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return r.store.Ask(ctx, asked)
}

func (r *Rater) machines(ctx context.Context, hour time.Time) (map[string][]rating.Machine, error) {
	// A machine that was booting in this hour sends its first window in the next.
	all, err := r.store.Machines(ctx, hour, hour.Add(2*time.Hour), "")
	if err != nil {
		return nil, fmt.Errorf("rate: %w", err)
	}
	out := map[string][]rating.Machine{}
	for _, m := range all {
		k := nodeKey(m.Cluster, m.Node)
		out[k] = append(out[k], m)
	}
	return out, nil
}

// read gets what the hour is rated from. Where the policy passes accounts on
// within a cluster, all its nodes are rated together.
func (r *Rater) read(ctx context.Context, w *hourWork) error {
	closed, err := r.store.Closed(ctx)
	if err != nil {
		return err
	}
	w.periods = ledger.NewPeriods(r.cfg.Sets, closed)
	w.rated = map[string]*rating.Rated{}
	for h, err := range r.store.Rated(ctx, w.at, w.at.Add(time.Hour), "") {
		if err != nil {
			return err
		}
		w.rated[nodeKey(h.Cluster, h.Node)] = h
	}
	if w.rules.Policy.Scope == allocation.ScopeGiven {
		w.wholeClusters()
	}
	if err := r.readBatches(ctx, w); err != nil {
		return err
	}
	return r.readLines(ctx, w)
}

// wholeClusters adds the nodes that share accounts with those that are due.
func (w *hourWork) wholeClusters() {
	clusters := map[string]bool{}
	for _, d := range w.due {
		clusters[d.Cluster] = true
	}
	for k, h := range w.rated {
		if _, there := w.due[k]; !there && clusters[h.Cluster] {
			w.due[k] = rating.Due{NodeHour: h.NodeHour}
		}
	}
}

func (r *Rater) readBatches(ctx context.Context, w *hourWork) error {
	w.batches = map[string][]usage.Batch{}
	for _, node := range w.nodesToRead() {
		for b, err := range r.store.Touching(ctx, w.at, node) {
			if err != nil {
				return err
			}
			if k := nodeKey(b.Cluster, b.Node); w.isDue(k) {
				w.batches[k] = append(w.batches[k], b)
			}
		}
	}
	return nil
}

func (w *hourWork) isDue(key string) bool { _, ok := w.due[key]; return ok }

// nodesToRead are the names of the nodes, or "" for all.
func (w *hourWork) nodesToRead() []string {
	if len(w.due) > fewNodes {
		return []string{""}
	}
	var names []string
	for _, d := range w.due {
		names = append(names, d.Node)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *Rater) readLines(ctx context.Context, w *hourWork) error {
	again := 0
	for k := range w.due {
		if h := w.rated[k]; h != nil && h.Booking > 0 {
			again++
		}
	}
	w.before = map[string][]ledger.Line{}
	if again == 0 {
		return nil
	}
	q := ledger.Query{FromMS: w.at.UnixMilli(), ToMS: w.at.Add(time.Hour).UnixMilli()}
	if len(w.due) == 1 {
		for _, d := range w.due {
			q.Cluster, q.Node = d.Cluster, d.Node
		}
	}
	for l, err := range r.store.Lines(ctx, q) {
		if err != nil {
			return err
		}
		if k := nodeKey(l.Cluster, l.Node); w.isDue(k) && !l.IsDrift() {
			w.before[k] = append(w.before[k], *l)
		}
	}
	return nil
}

// rate rates the nodes side by side. One that fails holds nobody up.
func (r *Rater) rate(w *hourWork) []rating.Outcome {
	var (
		mu  sync.Mutex
		out []rating.Outcome
		wg  sync.WaitGroup
	)
	work := make(chan rating.Due)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for d := range work {
				k := nodeKey(d.Cluster, d.Node)
				o, err := rating.Rate(rating.Input{
					NodeHour: d.NodeHour, Machines: w.machines[k], Batches: w.batches[k], Prices: w.rules.Prices, Policy: w.rules.Policy,
				})
				if err != nil {
					r.fail(d.NodeHour, err)
					continue
				}
				mu.Lock()
				out = append(out, o)
				mu.Unlock()
			}
		})
	}
	for _, d := range w.due {
		work <- d
	}
	close(work)
	wg.Wait()
	slices.SortFunc(out, func(a, b rating.Outcome) int { return a.Compare(b.NodeHour) })
	return out
}

// book books the outcomes, many in one transaction, and returns how many.
func (r *Rater) book(ctx context.Context, w *hourWork, outcomes []rating.Outcome) (int, error) {
	if err := rating.Share(outcomes, w.rules.Policy); err != nil {
		for i := range outcomes {
			r.fail(outcomes[i].NodeHour, err)
		}
		return 0, nil
	}
	var group []rating.Booking
	lines, done := 0, 0
	flush := func() error {
		n, err := r.commit(ctx, group)
		group, lines, done = nil, 0, done+n
		return err
	}
	for i := range outcomes {
		b, err := r.booking(w, &outcomes[i])
		if err != nil {
			r.fail(outcomes[i].NodeHour, err)
			continue
		}
		group = append(group, b)
		if lines += len(b.Lines); lines >= linesAtOnce {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	err := flush()
	return done, err
}

func (r *Rater) booking(w *hourWork, o *rating.Outcome) (rating.Booking, error) {
	k := nodeKey(o.Cluster, o.Node)
	rev := ledger.Revision{Prices: w.rules.Revision, Policy: w.rules.Policy.Name(), AtMS: r.cfg.Now().UnixMilli()}
	b, err := o.Book(w.before[k], rev, w.periods)
	b.Mark = w.due[k].Mark
	return b, err
}

// commit books a group. What somebody else has rated meanwhile stays due.
func (r *Rater) commit(ctx context.Context, group []rating.Booking) (int, error) {
	for len(group) > 0 {
		err := r.store.Book(ctx, group)
		var overtaken *rating.Overtaken
		if errors.As(err, &overtaken) {
			r.cfg.Log.Warn("an hour was rated by another process meanwhile; it is rated again", "hour", overtaken.NodeHour.String())
			kept := slices.DeleteFunc(slices.Clone(group), func(b rating.Booking) bool { return b.Rated.NodeHour == overtaken.NodeHour })
			if len(kept) == len(group) {
				return 0, err
			}
			group = kept
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("book: %w", err)
		}
		for i := range group {
			r.succeed(group[i].Rated.NodeHour, len(group[i].Lines))
		}
		return len(group), nil
	}
	return 0, nil
}
