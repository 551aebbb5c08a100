// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/gpu"
)

// shares looks for workloads that could share a card. Their minutes are read from the
// journal, a day at a time.
func (s *Service) shares(ctx context.Context, cases []*advisor.Case, fleet *knownFleet) (out []advice.Recommendation, trials []*trial, err error) {
	var groups [][]*advisor.Case
	for _, group := range advisor.Sharers(cases) {
		var tenants []advice.Tenant
		from, to := int64(0), group[0].ToMS
		for _, c := range group { // the time that all of them were seen
			from, to = max(from, c.FromMS), min(to, c.ToMS)
		}
		for _, c := range group {
			c.FromMS, c.ToMS = from, to
			t := c.Tenant(&fleet.Fleet)
			if err := s.minutes(ctx, c, &t); err != nil {
				return nil, nil, fmt.Errorf("minutes of %s: %w", c.Target.Owner, err)
			}
			tenants = append(tenants, t)
		}
		r, err := advice.Share(tenants, gpu.ModeTimeSlicing)
		if err != nil {
			return nil, nil, err
		}
		r.Stood = advisor.StandingOf(group, &fleet.Fleet)
		out = append(out, r)
		groups = append(groups, group)
	}
	for i := range out {
		trials = append(trials, fleet.shareTrial(groups[i], &out[i])...)
	}
	return out, trials, nil
}

// minutes reads what a workload did, minute by minute.
func (s *Service) minutes(ctx context.Context, c *advisor.Case, t *advice.Tenant) error {
	for _, node := range c.Places() {
		for at := time.UnixMilli(c.FromMS).UTC(); at.UnixMilli() < c.ToMS; at = at.Add(24 * time.Hour) {
			for w, err := range s.store.Touching(ctx, at, at.Add(24*time.Hour), node) {
				if err != nil {
					return err
				}
				if w.Cluster != c.Target.Cluster {
					continue
				}
				batches, err := w.Read()
				if err != nil {
					return err
				}
				advisor.AddMinutes(t, c, batches)
			}
		}
	}
	return nil
}
