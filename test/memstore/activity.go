// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/signal"
)

func nodeHour(d activity.Due) ledger.NodeHour {
	return ledger.NodeHour{Cluster: d.Cluster, Node: d.Node, HourMS: d.HourMS}
}

// Stamp is how much has changed, of any hour.
func (s *Store) Stamp(time.Time, time.Time) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// ActivityDue lists rated hours whose activity is not there, or is of other records or
// rules.
func (s *Store) ActivityDue(_ context.Context, since time.Time, rules string, limit int) (out []activity.Due, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, r := range s.rated {
		m, there := s.made[h]
		if h.HourMS >= since.UnixMilli() && (!there || m.Rules != rules || m.Records != r.Revision.Records) {
			out = append(out, activity.Due{Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, Records: r.Revision.Records})
		}
	}
	slices.SortFunc(out, func(a, b activity.Due) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node))
	})
	return out[:min(len(out), limit)], nil
}

// KeepActivity keeps hours in the place of what is there.
func (s *Store) KeepActivity(_ context.Context, made []activity.Made) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	for _, m := range made {
		s.made[nodeHour(m.Due)] = m
	}
	return nil
}

// AskActivity has hours made again.
func (s *Store) AskActivity(_ context.Context, cluster, node string, from, to time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	for h, m := range s.made {
		if h.Cluster == cluster && h.Node == node && h.HourMS >= from.UnixMilli() && h.HourMS < to.UnixMilli() {
			m.Rules = ""
			s.made[h] = m
		}
	}
	return nil
}

// DropActivity deletes what is of hours before a time.
func (s *Store) DropActivity(_ context.Context, before time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	maps.DeleteFunc(s.made, func(h ledger.NodeHour, _ activity.Made) bool { return h.HourMS < before.UnixMilli() })
	return nil
}

// IdlePower is what devices drew without any process.
func (s *Store) IdlePower(_ context.Context, from, to time.Time) (map[[2]string]map[gpu.UUID]signal.IdlePower, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[[2]string]map[gpu.UUID]signal.IdlePower{}
	for h, m := range s.made {
		if h.HourMS < from.UnixMilli() || h.HourMS >= to.UnixMilli() {
			continue
		}
		k := [2]string{h.Cluster, h.Node}
		for id, q := range m.Quiet {
			if out[k] == nil {
				out[k] = map[gpu.UUID]signal.IdlePower{}
			}
			p := out[k][id]
			p.Merge(q)
			out[k][id] = p
		}
	}
	return out, nil
}

// hours are those of a time, those of one workload together.
func (s *Store) hours(fromMS, toMS int64) (out []*activity.Hour) {
	for h, m := range s.made {
		if h.HourMS >= fromMS && h.HourMS < toMS {
			for i := range m.Hours {
				out = append(out, &m.Hours[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b *activity.Hour) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Holder.Namespace, b.Holder.Namespace), cmp.Compare(a.Owner.Kind, b.Owner.Kind), cmp.Compare(a.Owner.Name, b.Owner.Name),
			cmp.Compare(a.Holder.PodUID, b.Holder.PodUID), cmp.Compare(a.HourMS, b.HourMS), a.Partition.Compare(b.Partition))
	})
	return out
}

// Activity walks hours, those of one workload together.
func (s *Store) Activity(_ context.Context, q activity.Query) iter.Seq2[*activity.Hour, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(want, have string) bool { return want == "" || want == have }
	var out []activity.Hour
	for _, h := range s.hours(q.FromMS, q.ToMS) {
		if is(q.Cluster, h.Cluster) && is(q.Node, h.Node) && is(q.Namespace, h.Holder.Namespace) && is(q.OwnerKind, h.Owner.Kind) && is(q.OwnerName, h.Owner.Name) && is(q.PodName, h.Holder.Pod) {
			out = append(out, *h)
		}
	}
	return pointers(out)
}

// Holders are the workloads that had GPUs of each node.
func (s *Store) Holders(_ context.Context, from, to time.Time) (out []activity.NodeHolder, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[activity.NodeHolder]bool{}
	for _, h := range s.hours(from.UnixMilli(), to.UnixMilli()) {
		n := activity.NodeHolder{Cluster: h.Cluster, Node: h.Node, Namespace: h.Holder.Namespace, OwnerKind: h.Owner.Kind, OwnerName: h.Owner.Name}
		if n.OwnerName == "" {
			n.Pod = h.Holder.Pod
		}
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out, nil
}

// NodeOthers is what pods without a GPU asked for.
func (s *Store) NodeOthers(_ context.Context, from, to time.Time) (out []activity.NodeOthers, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h, m := range s.made {
		if m.Others != nil && h.HourMS >= from.UnixMilli() && h.HourMS < to.UnixMilli() {
			out = append(out, activity.NodeOthers{Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, OtherPods: *m.Others})
		}
	}
	slices.SortFunc(out, func(a, b activity.NodeOthers) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Node, b.Node), cmp.Compare(a.HourMS, b.HourMS))
	})
	return out, nil
}

// ClassTimes is how long pods were of each class.
func (s *Store) ClassTimes(_ context.Context, from, to time.Time) (out []activity.ClassTime, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := map[activity.ClassTime]int64{}
	for _, h := range s.hours(from.UnixMilli(), to.UnixMilli()) {
		sums[activity.ClassTime{Cluster: h.Cluster, Namespace: h.Holder.Namespace, Class: h.Verdict.Class}] += h.DurationMS
	}
	for c, ms := range sums {
		c.MS = ms
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b activity.ClassTime) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Class, b.Class))
	})
	return out, nil
}

// KeepDecision keeps what was said.
func (s *Store) KeepDecision(_ context.Context, d inquiry.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.decisions = append(slices.DeleteFunc(s.decisions, func(o inquiry.Decision) bool { return o.ID == d.ID }), d)
	return nil
}

// Decisions are all that was said, the newest first.
func (s *Store) Decisions(context.Context) ([]inquiry.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.decisions)
	slices.SortStableFunc(out, func(a, b inquiry.Decision) int { return cmp.Or(cmp.Compare(b.AtMS, a.AtMS), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}
