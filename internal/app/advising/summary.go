// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
)

// Summary is the fleet's advice of a day in numbers, for metrics.
type Summary struct {
	Counts []Count
	// Classes are those of the last 24 hours that were looked at.
	Classes []activity.ClassTime
}

// Count is how many recommendations of a namespace have a kind and a state, and what
// those that are advised come to in a month: only the first of a workload has money,
// since two changes of one thing are no two savings.
type Count struct {
	Cluster, Namespace string
	Kind               advice.Kind
	State              advice.State
	Count              int
	Currency           string // "": no money in it
	Cash, Freed        money.Sum
}

// Summary is what was last worked out.
func (s *Service) Summary() Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.summary
}

// summaryEvery is how often is looked whether the fleet's advice is to be worked out
// again. It takes no more than a tenth of the time.
const summaryEvery = 30 * time.Second

// patience is how long the fleet's advice waits for the activity of hours that is still to be
// made, and that would have it worked out again.
const patience = 10 * time.Minute

// Run works the summary out until ctx ends, and with it the fleet's advice: it is there before
// somebody asks for it, in the morning and after a start.
func (s *Service) Run(ctx context.Context) error {
	for {
		began := time.Now()
		if err := s.summarize(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("advice for /metrics could not be worked out", "error", err)
		}
		wait := time.NewTimer(max(summaryEvery, 9*time.Since(began)))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
	}
}

func (s *Service) summarize(ctx context.Context) error {
	now := s.now()
	classes, err := s.store.ClassTimes(ctx, now.Add(-25*time.Hour), now)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.summary.Classes = classes
	s.mu.Unlock()
	if wait, err := s.waits(ctx, now); wait || err != nil {
		return err
	}
	a, err := s.Advice(ctx, inquiry.AdviceQuery{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary.Counts = counted(a.Workloads)
	return nil
}

// waits says that hours are behind, and that it is not long since the fleet's advice was
// worked out, or since the start.
func (s *Service) waits(ctx context.Context, now time.Time) (bool, error) {
	if s.summedUp.IsZero() {
		s.summedUp = now
	}
	due, err := s.store.ActivityDue(ctx, dayOf(now.UnixMilli()).AddDate(0, 0, -windowDays), Rules, 1)
	if err != nil {
		return false, err
	}
	if len(due) > 0 && now.Sub(s.summedUp) < patience {
		return true, nil
	}
	s.summedUp = now
	return false, nil
}

func counted(workloads []inquiry.AdvisedWorkload) (out []Count) {
	for i := range workloads {
		w := &workloads[i]
		first := true
		for _, r := range w.Recommendations {
			if r.Proposed == nil {
				continue
			}
			c := Count{Cluster: w.Target.Cluster, Namespace: w.Target.Namespace, Kind: r.Kind, State: r.State, Count: 1}
			if first && r.State == advice.Advised && r.Money != nil {
				first = false
				c.Currency = r.Money.Currency
				c.Cash.Add(r.Money.CashMean)
				c.Freed.Add(r.Money.FreedIdle)
				c.Freed.Add(r.Money.FreedStranded)
			}
			out = append(out, c)
		}
	}
	return joined(out)
}

// joined adds up counts of the same kind.
func joined(all []Count) (out []Count) {
	slices.SortStableFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State), cmp.Compare(a.Currency, b.Currency))
	})
	for _, c := range all {
		if n := len(out); n > 0 {
			o := &out[n-1]
			if o.Cluster == c.Cluster && o.Namespace == c.Namespace && o.Kind == c.Kind && o.State == c.State && (o.Currency == c.Currency || o.Currency == "" || c.Currency == "") {
				o.Count++
				o.Currency = cmp.Or(o.Currency, c.Currency)
				o.Cash.AddSum(c.Cash)
				o.Freed.AddSum(c.Freed)
				continue
			}
		}
		out = append(out, c)
	}
	return out
}
