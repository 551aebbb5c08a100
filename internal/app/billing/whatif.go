// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// WhatIf divides the stored hours of a report again for each variant. Nothing is
// booked.
func (s *Service) WhatIf(ctx context.Context, spec report.Spec, variants []inquiry.Variant, progress func(inquiry.Progress)) (inquiry.WhatIf, error) {
	if err := checkWhatIf(&spec, variants); err != nil {
		return inquiry.WhatIf{}, err
	}
	booked, err := s.Report(ctx, spec)
	if err != nil {
		return inquiry.WhatIf{}, err
	}
	from, to := spec.FromMS, spec.ToMS
	if spec.Month != 0 {
		from, to = spec.Month.StartMS(), spec.Month.EndMS()
	}
	x := &experiment{service: s, variants: variants, progress: progress}
	x.from, x.to = span(from, to)
	if x.pods, err = s.store.Pods(ctx, x.from, x.to); err != nil {
		return inquiry.WhatIf{}, err
	}
	out := inquiry.WhatIf{Booked: booked}
	out.Variants, err = x.run(ctx, spec)
	out.Hours, out.Missing = x.hours, x.missing
	return out, err
}

func checkWhatIf(spec *report.Spec, variants []inquiry.Variant) error {
	if err := spec.Check(true); err != nil {
		return err
	}
	if spec.Booked {
		return &inquiry.Wrong{Field: "booked", Value: "true", Why: "a what-if is of hours, as they are charged for: statements are not made again"}
	}
	if len(variants) == 0 {
		return &inquiry.Wrong{Field: "variant", Why: "name at least one: a policy, or a rule of splitting prices"}
	}
	for _, v := range variants {
		if v.Policy != nil {
			if err := v.Policy.Check(); err != nil {
				return &inquiry.Wrong{Field: "variant", Value: v.Name, Why: err.Error()}
			}
		}
	}
	return nil
}

// experiment divides hours again.
type experiment struct {
	service        *Service
	variants       []inquiry.Variant
	progress       func(inquiry.Progress)
	from, to       time.Time
	pods           report.Lookup
	hours, missing int64
}

// sheet is what an hour came to under one variant.
type sheet struct {
	lines []ledger.Line
	costs []pricing.NodeCost
}

// run makes the report of each variant. The hours are read once: each report
// takes its part of them as they come.
func (x *experiment) run(ctx context.Context, spec report.Spec) ([]inquiry.VariantReport, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := make([]inquiry.VariantReport, len(x.variants))
	errs := make([]error, len(x.variants))
	feeds := make([]chan sheet, len(x.variants))
	var wg sync.WaitGroup
	for i, v := range x.variants {
		feeds[i] = make(chan sheet, 4)
		out[i].Variant = v
		wg.Go(func() {
			out[i].Report, errs[i] = reportOf(spec, feeds[i], x.pods)
			if errs[i] != nil {
				stop()
			}
		})
	}
	err := x.feed(ctx, feeds)
	for _, f := range feeds {
		close(f)
	}
	wg.Wait()
	for i, e := range errs {
		if e != nil {
			return nil, fmt.Errorf("variant %s: %w", x.variants[i].Name, e)
		}
	}
	return out, err
}

// reportOf makes a report of sheets.
func reportOf(spec report.Spec, feed <-chan sheet, pods report.Lookup) (report.Report, error) {
	var costs []pricing.NodeCost
	lines := func(yield func(*ledger.Line, error) bool) {
		for s := range feed {
			costs = append(costs, s.costs...)
			for i := range s.lines {
				if !yield(&s.lines[i], nil) {
					return
				}
			}
		}
	}
	after := func(yield func(*pricing.NodeCost, error) bool) {
		for i := range costs {
			if !yield(&costs[i], nil) {
				return
			}
		}
	}
	return report.Run(spec, report.Input{Lines: lines, Costs: iter.Seq2[*pricing.NodeCost, error](after), Pods: pods})
}

// feed divides hour after hour.
func (x *experiment) feed(ctx context.Context, feeds []chan sheet) error {
	var group []*rating.Rated
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		sheets, err := x.hour(ctx, group)
		group = nil
		for i := range sheets {
			select {
			case feeds[i] <- sheets[i]:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return err
	}
	for h, err := range x.service.store.Rated(ctx, x.from, x.to, "") {
		if err != nil {
			return err
		}
		if len(group) > 0 && group[0].HourMS != h.HourMS {
			if err := flush(); err != nil {
				return err
			}
		}
		group = append(group, h)
	}
	return flush()
}

// hour divides one hour of all its nodes under each variant.
func (x *experiment) hour(ctx context.Context, rated []*rating.Rated) ([]sheet, error) {
	at := time.UnixMilli(rated[0].HourMS).UTC()
	x.progress(inquiry.Progress{Stage: "divide hours again", AtMS: at.UnixMilli(), Done: at.Unix() - x.from.Unix(), Total: x.to.Unix() - x.from.Unix()})
	variants, err := x.trials(ctx, at)
	if err != nil {
		return nil, err
	}
	left := map[string]*rating.Rated{}
	for _, h := range rated {
		left[nodeKey(h.Cluster, h.Node)] = h
	}
	var mu sync.Mutex
	divide := func(h *rating.Rated, batches []usage.Batch) error {
		for _, v := range variants {
			o, err := v.divide(h, batches)
			if err != nil {
				return fmt.Errorf("variant %s: %s: %w", v.Name, h.NodeHour, err)
			}
			mu.Lock()
			v.outcomes = append(v.outcomes, o)
			mu.Unlock()
		}
		return nil
	}
	if err := eachNode(ctx, x.service.store, at, at.Add(time.Hour), []string{""}, left, divide); err != nil {
		return nil, err
	}
	x.hours += int64(len(rated))
	empty := ledger.DigestRecords(nil)
	for _, h := range left { // no record touches them
		if h.Revision.Records != empty {
			x.missing++
		} else if err := divide(h, nil); err != nil {
			return nil, err
		}
	}
	out := make([]sheet, len(variants))
	for i, v := range variants {
		if out[i], err = v.sheet(x.service.cfg.Sets); err != nil {
			return nil, fmt.Errorf("variant %s: hour of %s: %w", v.Name, at.Format(time.RFC3339), err)
		}
	}
	return out, nil
}

// trial is an hour under one variant.
type trial struct {
	inquiry.Variant
	prices   rating.Pricer
	policy   allocation.Policy
	outcomes []rating.Outcome
}

// trials are those of an hour, before anything is divided.
func (x *experiment) trials(ctx context.Context, at time.Time) (out []*trial, err error) {
	for _, v := range x.variants {
		rules, err := x.service.rules.Under(ctx, at, v.Split)
		if err != nil {
			return nil, fmt.Errorf("variant %s: %w", v.Name, err)
		}
		t := &trial{Variant: v, prices: rules.Prices, policy: rules.Policy}
		if v.Policy != nil {
			t.policy = *v.Policy
		}
		out = append(out, t)
	}
	return out, nil
}

// divide divides an hour of a node.
func (t *trial) divide(h *rating.Rated, batches []usage.Batch) (o rating.Outcome, err error) {
	o.NodeHour = h.NodeHour
	if o.Costs, err = rating.CostsOf(t.prices, h.Nodes); err != nil || len(o.Costs) == 0 {
		return o, err
	}
	res, err := allocation.Allocate(rating.Hour(o.Costs, batches), t.policy)
	o.Entries = res.Entries
	return o, err
}

// sheet makes lines of what was divided.
func (t *trial) sheet(sets map[string]string) (out sheet, err error) {
	slices.SortFunc(t.outcomes, func(a, b rating.Outcome) int { return a.Compare(b.NodeHour) })
	if err := rating.Share(t.outcomes, t.policy); err != nil {
		return out, err
	}
	periods := ledger.NewPeriods(sets, nil)
	for i := range t.outcomes {
		o := &t.outcomes[i]
		lines, err := ledger.Book(nil, ledger.Rating{NodeHour: o.NodeHour, Entries: o.Entries}, periods)
		if err != nil {
			return out, err
		}
		out.costs = append(out.costs, o.Costs...)
		out.lines = append(out.lines, lines...)
	}
	return out, nil
}
