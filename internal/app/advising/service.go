// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/pricing"
)

// windowDays is how long is looked at: twice what servers and notebooks must have
// been seen, so that a workload can earn the highest confidence.
const windowDays = 28

// Service answers what is advised.
type Service struct {
	store Store
	rules func(ctx context.Context, hour time.Time) (RuleSet, error)
	log   *slog.Logger
	now   func() time.Time

	mu sync.Mutex
	// known are recommendations that were answered, by id: of the last day that was
	// asked for.
	known map[string]*advice.Recommendation
	day   int64
	// found is what hours that were divided again came to.
	found map[string]found

	summary Summary
	// summedUp is when the fleet's advice was last asked for by Run, or Run began.
	summedUp time.Time

	fleets *keeper[asked, *worked]
	plans  *keeper[basis, *inquiry.Plans]
}

// mostKept bounds how many answers for all workloads are kept: with and without who could
// share a GPU. One takes about 7 KiB for each workload.
const mostKept = 2

// RuleSet is what hours are priced and divided by.
type RuleSet struct {
	// Books are the price books, the strongest first.
	Books  []*pricing.Book
	Policy allocation.Policy
	// Prices say what other machines would cost; nil: their charge is not told where a
	// division has to.
	Prices *pricing.Prices
	// Revision names all of it; "": nobody knows when it changes, and what rests on it is
	// worked out each time.
	Revision string
}

// ServiceConfig is what the service stands on beside a store.
type ServiceConfig struct {
	// Rules are those in force in an hour; nil: no other machine is proposed, and
	// charges are by the default policy.
	Rules func(ctx context.Context, hour time.Time) (RuleSet, error)
	Log   *slog.Logger
	Now   func() time.Time
}

// NewService answers from a store.
func NewService(store Store, cfg ServiceConfig) *Service {
	log, now := cfg.Log, cfg.Now
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, rules: cfg.Rules, log: log, now: now, known: map[string]*advice.Recommendation{}, found: map[string]found{},
		fleets: newKeeper[asked, *worked](mostKept), plans: newKeeper[basis, *inquiry.Plans](1)}
}

func workloadOf(c *advisor.Case, list []advice.Recommendation) inquiry.AdvisedWorkload {
	pods, partitions := c.Size()
	return inquiry.AdvisedWorkload{Target: c.Target, Work: c.Work, Model: c.Device.Model, Profile: c.Profile, Pods: pods, Partitions: partitions,
		Classes: c.Classes, Recommendations: list}
}

// eachWorkload hands out the hours of one workload after the other. A node that is
// asked for narrows nothing here: what its workloads need, their other pods tell, too.
func (s *Service) eachWorkload(ctx context.Context, q *inquiry.AdviceQuery, from, to time.Time, f func([]*activity.Hour) error) error {
	want := activity.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli(), Cluster: q.Cluster, Namespace: q.Namespace, OwnerKind: q.OwnerKind, OwnerName: q.OwnerName}
	if q.OwnerKind == "Pod" {
		want.OwnerKind, want.OwnerName, want.PodName = "", "", q.OwnerName
	}
	var hours []*activity.Hour
	for h, err := range s.store.Activity(ctx, want) {
		if err != nil {
			return fmt.Errorf("advice: %w", err)
		}
		if len(hours) > 0 && !sameWorkload(hours[0], h) {
			if err := f(hours); err != nil {
				return err
			}
			hours = nil
		}
		hours = append(hours, h)
	}
	if len(hours) == 0 {
		return nil
	}
	return f(hours)
}

// mostHours is how many hours are told at a time: a year of one pod, a month of ten.
const mostHours = 10_000

// Hours are what a workload's pods did, hour by hour, in order of time.
func (s *Service) Hours(ctx context.Context, q inquiry.HoursQuery) (out []activity.Hour, err error) {
	ask := inquiry.AdviceQuery{Cluster: q.Cluster, Namespace: q.Namespace, OwnerKind: q.OwnerKind, OwnerName: q.OwnerName}
	err = s.eachWorkload(ctx, &ask, time.UnixMilli(q.FromMS), time.UnixMilli(q.ToMS), func(hours []*activity.Hour) error {
		if len(out)+len(hours) > mostHours {
			return &inquiry.Wrong{Field: "from", Value: time.UnixMilli(q.FromMS).UTC().Format(time.RFC3339), Why: fmt.Sprintf("the time has more than %d hours of pods: ask for less", mostHours)}
		}
		for _, h := range hours {
			out = append(out, *h)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b activity.Hour) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), a.Holder.Compare(b.Holder), a.Partition.Compare(b.Partition))
	})
	return out, err
}

func sameWorkload(a, b *activity.Hour) bool {
	if a.Cluster != b.Cluster || a.Holder.Namespace != b.Holder.Namespace {
		return false
	}
	if a.Owner.Name == "" || b.Owner.Name == "" {
		return a.Owner.Name == b.Owner.Name && a.Holder.PodKey() == b.Holder.PodKey()
	}
	return a.Owner.Kind == b.Owner.Kind && a.Owner.Name == b.Owner.Name
}

// fleet is what is known of nodes and of what people said.
func (s *Service) fleet(ctx context.Context, to time.Time, rules RuleSet) (*knownFleet, error) {
	prices := map[[2]string]*advice.Price{}
	for c, err := range s.store.Costs(ctx, to.Add(-48*time.Hour), to) {
		if err != nil {
			return nil, fmt.Errorf("advice: %w", err)
		}
		if p := priceOf(c); p != nil {
			prices[[2]string{c.Cluster, c.Node}] = p
		}
	}
	holders, err := s.store.Holders(ctx, to.Add(-48*time.Hour), to)
	if err != nil {
		return nil, fmt.Errorf("advice: %w", err)
	}
	market, err := s.marketAt(ctx, to, rules)
	if err != nil {
		return nil, err
	}
	nodes, cards, err := s.nodes(ctx, to)
	if err != nil {
		return nil, err
	}
	on := map[[2]string][]string{}
	for _, h := range holders {
		k := [2]string{h.Cluster, h.Node}
		on[k] = append(on[k], nameOf(&h))
	}
	return &knownFleet{market: market, Fleet: advisor.Fleet{
		Price: func(cluster, node string) *advice.Price { return prices[[2]string{cluster, node}] },
		Alone: func(cluster, node, namespace, owner string) bool {
			of := on[[2]string{cluster, node}]
			return len(of) == 1 && of[0] == namespace+"/"+owner
		},
		Shapes:  market.shapes,
		Reprice: market.reprice,
		Node:    func(cluster, node string) *advisor.Node { return nodes[[2]string{cluster, node}] },
		Card:    func(model string) *attribution.Card { return cards[model] },
	}}, nil
}

// knownFleet is what is known of nodes.
type knownFleet struct {
	advisor.Fleet
	market *market
}

// policy is the one in force.
func (f *knownFleet) policy() *allocation.Policy { return &f.market.rules.Policy }

func nameOf(h *activity.NodeHolder) string {
	if h.OwnerName == "" {
		return h.Namespace + "/Pod/" + h.Pod
	}
	return h.Namespace + "/" + h.OwnerKind + "/" + h.OwnerName
}
