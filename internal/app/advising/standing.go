// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// standingDays is how far back a workload is looked for, to see what it is like: a training
// counts as being there for a week.
const standingDays = 7

// looker finds what workloads are like. It reads what is known of nodes once.
type looker struct {
	service *Service
	fleet   *knownFleet
}

// at is what the workloads of a recommendation were like before a day; nil where one of them
// is gone.
func (l *looker) at(ctx context.Context, r *advice.Recommendation, to time.Time) (*advice.Standing, error) {
	if l.fleet == nil {
		_, rules, _, err := l.service.basisOf(ctx, to)
		if err != nil {
			return nil, err
		}
		if l.fleet, err = l.service.fleet(ctx, to, rules); err != nil {
			return nil, err
		}
	}
	names := []string{r.Target.Namespace + "/" + r.Target.Owner}
	if r.Kind == advice.KindShare {
		names = r.Current.With
	}
	var cases []*advisor.Case
	for _, name := range names {
		c, err := l.workload(ctx, r, name, to)
		if c == nil || err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return advisor.StandingOf(cases, &l.fleet.Fleet), nil
}

// workload is one of them, by NAMESPACE/KIND/NAME.
func (l *looker) workload(ctx context.Context, r *advice.Recommendation, name string, to time.Time) (*advisor.Case, error) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) != 3 {
		return nil, nil
	}
	from := to.AddDate(0, 0, -standingDays)
	var cases []*advisor.Case
	q := inquiry.AdviceQuery{Cluster: r.Target.Cluster, Namespace: parts[0], OwnerKind: parts[1], OwnerName: parts[2]}
	err := l.service.eachWorkload(ctx, &q, from, to, func(hours []*activity.Hour) error {
		cases = append(cases, advisor.Cases(hours, from.UnixMilli(), to.UnixMilli())...)
		return nil
	})
	return advisor.Same(cases, r.Current.Model, r.Current.Profile), err
}
