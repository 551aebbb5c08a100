// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
)

// mostOpen is how many hours of nodes are rated for one report: a few hours of a
// large fleet. More are open only while a server catches up.
const mostOpen = 20_000

// open reports on hours that were never booked, as far as their records have come.
// They are rated for this answer alone, as the rater would rate them now.
func (s *Service) open(ctx context.Context, spec report.Spec) (report.Report, error) {
	due, err := s.openHours(ctx, spec.FromMS, spec.ToMS)
	if err != nil {
		return report.Report{}, err
	}
	o := &openHours{service: s, pods: map[podHour]report.PodDimensions{}}
	return report.Run(spec, report.Input{
		Lines: o.lines(ctx, due),
		Costs: func(yield func(*pricing.NodeCost, error) bool) {
			for i := range o.costs {
				if !yield(&o.costs[i], nil) {
					return
				}
			}
		},
		Pods: func(uid string, hourMS int64) (*report.PodDimensions, bool) {
			p, ok := o.pods[podHour{uid, hourMS}]
			return &p, ok
		},
	})
}

// openHours are the hours in [from, to) that have records and were never rated, the
// one that is under way among them.
func (s *Service) openHours(ctx context.Context, from, to int64) (out []rating.Due, err error) {
	due, err := s.store.Due(ctx, s.cfg.Now().Add(time.Hour), mostOpen+1)
	if err != nil {
		return nil, err
	}
	if len(due) > mostOpen {
		return nil, &inquiry.Refused{
			Code: "catching_up", Why: fmt.Sprintf("more than %d hours of nodes wait to be rated", mostOpen), Hint: "ask again when they are; gputally status says how far it is",
		}
	}
	rated := map[ledger.NodeHour]bool{}
	if len(due) > 0 {
		first, end := time.UnixMilli(due[0].HourMS), time.UnixMilli(due[len(due)-1].HourMS).Add(time.Hour)
		for h, err := range s.store.Rated(ctx, first.UTC(), end.UTC(), "") {
			if err != nil {
				return nil, err
			}
			rated[h.NodeHour] = true
		}
	}
	for _, d := range due {
		if d.HourMS >= from && d.HourMS < to && !rated[d.NodeHour] {
			out = append(out, d)
		}
	}
	return out, nil
}

type podHour struct {
	uid    string
	hourMS int64
}

// openHours is what the lines of open hours leave behind as they are made.
type openHours struct {
	service *Service
	costs   []pricing.NodeCost
	pods    map[podHour]report.PodDimensions
}

// lines makes the lines that would be booked now.
func (o *openHours) lines(ctx context.Context, due []rating.Due) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		for len(due) > 0 {
			n := stretchOf(due)
			outcomes, err := o.service.rater.tryOut(ctx, due[:n])
			due = due[n:]
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range outcomes {
				if !o.take(&outcomes[i], yield) {
					return
				}
			}
		}
	}
}

func (o *openHours) take(of *rating.Outcome, yield func(*ledger.Line, error) bool) bool {
	o.costs = append(o.costs, of.Costs...)
	for uid, p := range of.Pods {
		o.pods[podHour{uid, of.HourMS}] = p
	}
	lines, err := ledger.Book(nil, ledger.Rating{NodeHour: of.NodeHour, Entries: of.Entries}, ledger.NewPeriods(o.service.cfg.Sets, nil))
	if err != nil {
		return yield(nil, err)
	}
	for i := range lines {
		if !yield(&lines[i], nil) {
			return false
		}
	}
	return true
}
