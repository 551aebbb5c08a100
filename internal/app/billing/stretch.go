// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// A stretch is at most so many hours, and about so many hours of nodes: what is
// asked of the store is asked once for all of them.
const (
	stretchHours = 24
	stretchNodes = 1500
)

// stretch is some hours on their way to the ledger.
type stretch struct {
	from, to time.Time
	due      map[ledger.NodeHour]rating.Due
	machines map[string][]rating.Machine
	before   map[ledger.NodeHour][]ledger.Line
	rated    map[ledger.NodeHour]*rating.Rated
	periods  ledger.Periods
	rules    map[int64]Rules // by hour
}

// stretchOf is how many of the hours that are due, oldest first, make a stretch:
// whole hours of UTC.
func stretchOf(due []rating.Due) int {
	n := 0
	for n < len(due) {
		next := n + 1
		for next < len(due) && due[next].HourMS == due[n].HourMS {
			next++
		}
		if n > 0 && (next > stretchNodes || due[n].HourMS >= due[0].HourMS+stretchHours*time.Hour.Milliseconds()) {
			break
		}
		n = next
	}
	return n
}

// stretchOver is the stretch of some hours, oldest first, before anything is read.
func stretchOver(due []rating.Due) *stretch {
	return &stretch{
		from: time.UnixMilli(due[0].HourMS).UTC(), to: time.UnixMilli(due[len(due)-1].HourMS).UTC().Add(time.Hour), due: map[ledger.NodeHour]rating.Due{},
	}
}

// rateStretch rates those of a stretch's hours that are ready, and returns how
// many.
func (r *Rater) rateStretch(ctx context.Context, due []rating.Due) (int, error) {
	w := stretchOver(due)
	n, err := r.stretch(ctx, w, due)
	if err != nil {
		return n, fmt.Errorf("rate hours from %s: %w", w.from.Format(time.RFC3339), err)
	}
	return n, nil
}

func (r *Rater) stretch(ctx context.Context, w *stretch, due []rating.Due) (int, error) {
	if err := r.readMachines(ctx, w); err != nil {
		return 0, err
	}
	for _, d := range r.ready(due, w.machines) {
		w.due[d.NodeHour] = d
	}
	if len(w.due) == 0 {
		return 0, nil
	}
	for _, step := range []func(context.Context, *stretch) error{r.askBoot, r.readRules, r.keepPolicies, r.readRated, r.readLines} {
		if err := step(ctx, w); err != nil {
			return 0, err
		}
	}
	b := r.booker(ctx, w)
	err := r.rate(ctx, w, r.fail, b.take)
	return b.finish(ctx, err)
}

// tryOut rates hours as they would be rated now, and books nothing. All are of one
// stretch.
func (r *Rater) tryOut(ctx context.Context, due []rating.Due) (out []rating.Outcome, err error) {
	w := stretchOver(due)
	for _, d := range due {
		w.due[d.NodeHour] = d
	}
	for _, step := range []func(context.Context, *stretch) error{r.readMachines, r.readRules} {
		if err := step(ctx, w); err != nil {
			return nil, err
		}
	}
	var mu sync.Mutex
	var failed error
	fail := func(_ ledger.NodeHour, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = err
	}
	var outcomes []rating.Outcome
	err = r.rate(ctx, w, fail, func(o rating.Outcome) error {
		mu.Lock()
		defer mu.Unlock()
		outcomes = append(outcomes, o)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, hour := range r.shared(w, outcomes, fail) {
		out = append(out, hour...)
	}
	return out, failed
}

// readMachines gets what stood behind the nodes' names.
func (r *Rater) readMachines(ctx context.Context, w *stretch) error {
	// A machine that was booting in the last hour sends its first window in the
	// next.
	machines, err := r.store.Machines(ctx, w.from, w.to.Add(time.Hour), "")
	w.machines = map[string][]rating.Machine{}
	for _, m := range machines {
		k := nodeKey(m.Cluster, m.Node)
		w.machines[k] = append(w.machines[k], m)
	}
	return err
}

// askBoot asks for the hours in which a machine booted that sent its first window
// in one of these.
func (r *Rater) askBoot(ctx context.Context, w *stretch) error {
	var asked []ledger.NodeHour
	for h := range w.due {
		of := w.machines[nodeKey(h.Cluster, h.Node)]
		for i := range of {
			if m := &of[i]; m.FirstMS >= h.HourMS && m.FirstMS < h.HourMS+time.Hour.Milliseconds() {
				for _, boot := range m.Boot() {
					if _, there := w.due[boot]; !there {
						asked = append(asked, boot)
					}
				}
			}
		}
	}
	if len(asked) == 0 {
		return nil
	}
	return r.store.Ask(ctx, asked)
}

// readRules gets the rules of each hour.
func (r *Rater) readRules(ctx context.Context, w *stretch) error {
	w.rules = map[int64]Rules{}
	for _, h := range w.hours() {
		rules, err := r.rules.Rules(ctx, time.UnixMilli(h).UTC())
		if err != nil {
			return err
		}
		w.rules[h] = rules
	}
	closed, err := r.store.Closed(ctx)
	w.periods = ledger.NewPeriods(r.cfg.Sets, closed)
	return err
}

// keepPolicies keeps the policies by which is booked.
func (r *Rater) keepPolicies(ctx context.Context, w *stretch) error {
	for _, h := range w.hours() {
		if err := r.keep(ctx, w.rules[h].Policy); err != nil {
			return err
		}
	}
	return nil
}

// hours are those of the stretch, in order.
func (w *stretch) hours() []int64 {
	var out []int64
	for h := range w.due {
		out = append(out, h.HourMS)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// readRated gets how the hours were rated last. Where the policy passes accounts
// on within a cluster, all its nodes are rated together.
func (r *Rater) readRated(ctx context.Context, w *stretch) error {
	w.rated = map[ledger.NodeHour]*rating.Rated{}
	clusters := map[ledger.NodeHour]bool{}
	for h := range w.due {
		if w.rules[h.HourMS].Policy.Scope == allocation.ScopeGiven {
			clusters[ledger.NodeHour{Cluster: h.Cluster, HourMS: h.HourMS}] = true
		}
	}
	for h, err := range r.store.Rated(ctx, w.from, w.to, "") {
		if err != nil {
			return err
		}
		if clusters[ledger.NodeHour{Cluster: h.Cluster, HourMS: h.HourMS}] && !w.isDue(h.NodeHour) {
			w.due[h.NodeHour] = rating.Due{NodeHour: h.NodeHour}
		}
		if w.isDue(h.NodeHour) {
			w.rated[h.NodeHour] = h
		}
	}
	return nil
}

func (w *stretch) isDue(h ledger.NodeHour) bool { _, ok := w.due[h]; return ok }

// touching are the batches that touch an hour, by their window or by their gap. Where
// all do, which is so where one hour is rated, they are those given.
func touching(batches []usage.Batch, hour int64) []usage.Batch {
	n := 0
	for i := range batches {
		if touches(&batches[i], hour) {
			n++
		}
	}
	if n == len(batches) {
		return batches
	}
	out := make([]usage.Batch, 0, n)
	for i := range batches {
		if touches(&batches[i], hour) {
			out = append(out, batches[i])
		}
	}
	return out
}

func touches(b *usage.Batch, hour int64) bool {
	end := hour + time.Hour.Milliseconds()
	return overlaps(usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}, hour, end) || b.Gap != nil && overlaps(b.Gap.Span, hour, end)
}

func overlaps(s usage.Span, from, to int64) bool {
	return s.StartMS < to && (s.StartMS+s.DurationMS > from || s.StartMS >= from)
}

// nodesToRead are the names of the nodes, or "" where it is as well to read all.
func (w *stretch) nodesToRead() []string {
	var names []string
	for h := range w.due {
		names = append(names, h.Node)
	}
	slices.Sort(names)
	if names = slices.Compact(names); 4*len(names) >= len(w.machines) {
		return []string{""}
	}
	return names
}

// readLines gets the lines of hours that were booked before.
func (r *Rater) readLines(ctx context.Context, w *stretch) error {
	w.before = map[ledger.NodeHour][]ledger.Line{}
	again := map[ledger.NodeHour]bool{}
	first, last := w.to.UnixMilli(), int64(0)
	for h, rated := range w.rated {
		if rated.Booking > 0 {
			again[h] = true
			first, last = min(first, h.HourMS), max(last, h.HourMS+time.Hour.Milliseconds())
		}
	}
	if len(again) == 0 {
		return nil
	}
	q := ledger.Query{FromMS: first, ToMS: last}
	if names := w.nodesToRead(); len(names) == 1 && names[0] != "" {
		for h := range again {
			q.Cluster, q.Node = h.Cluster, h.Node
		}
	}
	for l, err := range r.store.Lines(ctx, q) {
		if err != nil {
			return err
		}
		if again[l.NodeHour] && !l.IsDrift() {
			w.before[l.NodeHour] = append(w.before[l.NodeHour], *l)
		}
	}
	return nil
}

// rate rates the hours of nodes side by side, as their records are read, and hands
// out what they come to. One that fails holds nobody up; records that cannot be read
// do.
func (r *Rater) rate(ctx context.Context, w *stretch, fail func(ledger.NodeHour, error), done func(rating.Outcome) error) error {
	rate := func(h ledger.NodeHour, batches []usage.Batch) error {
		rules := w.rules[h.HourMS]
		o, err := rating.Rate(rating.Input{
			NodeHour: h, Machines: w.machines[nodeKey(h.Cluster, h.Node)], Batches: batches, Prices: rules.Prices, Policy: rules.Policy,
		})
		if err != nil {
			fail(h, err)
			return nil
		}
		return done(o)
	}
	left := map[string][]ledger.NodeHour{}
	for h := range w.due {
		k := nodeKey(h.Cluster, h.Node)
		left[k] = append(left[k], h)
	}
	err := eachNode(ctx, r.store, w.from, w.to, w.nodesToRead(), left, func(hours []ledger.NodeHour, batches []usage.Batch) error {
		for _, h := range hours {
			if err := rate(h, touching(batches, h.HourMS)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, hours := range left { // no record touches them
		for _, h := range hours {
			if err := rate(h, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
