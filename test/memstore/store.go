// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

const hourMS = 3_600_000

// Store keeps everything. It is safe for concurrent use; what it yields is its
// own copy.
type Store struct {
	mu      sync.Mutex
	batches []usage.Batch
	due     map[ledger.NodeHour]int64
	mark    int64
	rated   map[ledger.NodeHour]rating.Rated
	lines   []ledger.Line
	pods    map[podHour]report.PodDimensions
	events  []ledger.Event
	texts   map[string][]byte
	closed  []ledger.Closed
	frozen  map[statement][]byte
	filed   []filed

	made      map[ledger.NodeHour]activity.Made
	decisions []inquiry.Decision
	changes   uint64 // of batches, ratings and activity, of any hour
}

type podHour struct {
	uid  string
	hour int64
}

// New is an empty store.
func New() *Store {
	return &Store{
		due: map[ledger.NodeHour]int64{}, rated: map[ledger.NodeHour]rating.Rated{}, pods: map[podHour]report.PodDimensions{},
		texts: map[string][]byte{}, frozen: map[statement][]byte{}, made: map[ledger.NodeHour]activity.Made{},
	}
}

// Append takes batches, each once, and puts the hours that they touch on the list
// of those to be rated.
func (s *Store) Append(batches ...usage.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	for _, b := range batches {
		s.mark++
		s.batches = append(s.batches, b)
		for h := b.StartMS - b.StartMS%hourMS; h < b.StartMS+b.DurationMS; h += hourMS {
			s.due[ledger.NodeHour{Cluster: b.Cluster, Node: b.Node, HourMS: h}] = s.mark
		}
	}
}

// Touching walks the nodes with batches whose window or gap overlaps [start, end).
func (s *Store) Touching(_ context.Context, start, end time.Time, node string) iter.Seq2[rating.Windows, error] {
	from, to := start.UnixMilli(), end.UnixMilli()
	s.mu.Lock()
	var out []usage.Batch
	for i := range s.batches {
		b := &s.batches[i]
		touches := b.StartMS < to && b.StartMS+b.DurationMS > from
		gap := b.Gap != nil && b.Gap.StartMS < to && b.Gap.StartMS+b.Gap.DurationMS > from
		if (touches || gap) && (node == "" || b.Node == node) {
			out = append(out, *b)
		}
	}
	s.mu.Unlock()
	slices.SortStableFunc(out, func(a, b usage.Batch) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node))
	})
	var nodes []rating.Windows
	for len(out) > 0 {
		n := 1
		for n < len(out) && out[n].Cluster == out[0].Cluster && out[n].Node == out[0].Node {
			n++
		}
		of := out[:n]
		nodes = append(nodes, rating.Windows{Cluster: of[0].Cluster, Node: of[0].Node, Batches: n, Read: func() ([]usage.Batch, error) { return of, nil }})
		out = out[n:]
	}
	return all(nodes)
}

// Machines are those that stood behind the nodes' names.
func (s *Store) Machines(_ context.Context, from, to time.Time, node string) ([]rating.Machine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []rating.Machine
	for _, m := range rating.MachinesOf(s.batches) {
		if m.FirstMS < to.UnixMilli() && m.LastMS > from.UnixMilli() && (node == "" || m.Node == node) {
			out = append(out, m)
		}
	}
	return out, nil
}

// Due lists hours that are to be rated.
func (s *Store) Due(_ context.Context, before time.Time, limit int) ([]rating.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []rating.Due
	for _, h := range slices.SortedFunc(maps.Keys(s.due), ledger.NodeHour.Compare) {
		if h.HourMS+hourMS <= before.UnixMilli() && len(out) < limit {
			out = append(out, rating.Due{NodeHour: h, Mark: s.due[h]})
		}
	}
	return out, nil
}

// Ask puts hours on the list.
func (s *Store) Ask(_ context.Context, hours []ledger.NodeHour) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hours {
		s.mark++
		s.due[h] = s.mark
	}
	return nil
}

// Backlog counts the list.
func (s *Store) Backlog(ctx context.Context, before time.Time) (int, *ledger.NodeHour, error) {
	due, err := s.Due(ctx, before, len(s.due))
	if err != nil || len(due) == 0 {
		return 0, nil, err
	}
	return len(due), &due[0].NodeHour, nil
}

// Book adds bookings, all or none.
func (s *Store) Book(_ context.Context, bookings []rating.Booking) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	for _, b := range bookings {
		if is := s.rated[b.Rated.NodeHour].Booking; len(b.Lines) > 0 && is != b.After {
			return &rating.Overtaken{NodeHour: b.Rated.NodeHour, After: b.After, Is: is}
		}
	}
	for _, b := range bookings {
		h := b.Rated.NodeHour
		s.rated[h] = b.Rated
		s.lines = append(s.lines, b.Lines...)
		for uid, d := range b.Pods {
			s.pods[podHour{uid, h.HourMS}] = d
		}
		if mark, ok := s.due[h]; ok && mark <= b.Mark {
			delete(s.due, h)
		}
	}
	return nil
}

// Rated walks hours as last rated.
func (s *Store) Rated(_ context.Context, from, to time.Time, node string) iter.Seq2[*rating.Rated, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []rating.Rated
	for _, h := range slices.SortedFunc(maps.Keys(s.rated), ledger.NodeHour.Compare) {
		if h.HourMS >= from.UnixMilli() && h.HourMS < to.UnixMilli() && (node == "" || h.Node == node) {
			out = append(out, s.rated[h])
		}
	}
	return pointers(out)
}

// Lines walks lines in order.
func (s *Store) Lines(_ context.Context, q ledger.Query) iter.Seq2[*ledger.Line, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ledger.Line
	for i := range s.lines {
		if chosen(&q, &s.lines[i]) {
			out = append(out, s.lines[i])
		}
	}
	slices.SortFunc(out, func(a, b ledger.Line) int { return a.Compare(&b) })
	return pointers(out)
}

func chosen(q *ledger.Query, l *ledger.Line) bool {
	return (q.FromMS == 0 || l.StartMS >= q.FromMS) && (q.ToMS == 0 || l.StartMS < q.ToMS) && (q.Booked == nil || l.Period == *q.Booked) &&
		(q.Node == "" || l.Node == q.Node && l.Cluster == q.Cluster) && (q.Entry == "" || l.Entry == q.Entry) &&
		(q.Account == "" || l.Account == q.Account) && (q.PodUID == "" || l.Holder.PodUID == q.PodUID) && (q.ID == "" || l.ID == q.ID)
}

// Costs walks what the nodes cost.
func (s *Store) Costs(ctx context.Context, from, to time.Time) iter.Seq2[*pricing.NodeCost, error] {
	var out []pricing.NodeCost
	for r, err := range s.Rated(ctx, from, to, "") {
		if err != nil {
			return failed[pricing.NodeCost](err)
		}
		out = append(out, r.Costs...)
	}
	return pointers(out)
}

// AddDrift adds the lines of a drift.
func (s *Store) AddDrift(_ context.Context, d ledger.Drift, p ledger.Periods) ([]ledger.Line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	probe := d
	probe.Amount = 1 // any, to know the entry that the reference gives
	made, err := ledger.BookDrift(nil, probe, p)
	if err != nil {
		return nil, err
	}
	var before []ledger.Line
	for _, l := range s.lines {
		if l.Entry == made[0].Entry {
			before = append(before, l)
		}
	}
	lines, err := ledger.BookDrift(before, d, p)
	s.lines = append(s.lines, lines...)
	return lines, err
}

// Report is report.Run over everything.
func (s *Store) Report(ctx context.Context, spec report.Spec) (report.Report, error) {
	pods, err := s.Pods(ctx, time.Time{}, time.Time{})
	if err != nil {
		return report.Report{}, err
	}
	ever := time.UnixMilli(1 << 53)
	return report.Run(spec, report.Input{Lines: s.Lines(ctx, ledger.Query{}), Costs: s.Costs(ctx, time.UnixMilli(0), ever), Pods: pods})
}

// CheckSums: it keeps no sums.
func (s *Store) CheckSums(context.Context, time.Time, time.Time) (*ledger.Violation, error) {
	return nil, nil
}

// Pods finds dimensions of pods, at any time.
func (s *Store) Pods(context.Context, time.Time, time.Time) (report.Lookup, error) {
	s.mu.Lock()
	pods := maps.Clone(s.pods)
	s.mu.Unlock()
	return func(uid string, hour int64) (*report.PodDimensions, bool) {
		d, ok := pods[podHour{uid, hour}]
		return &d, ok
	}, nil
}

// all yields values, pointers pointers to them.
func all[T any](of []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range of {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func pointers[T any](of []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range of {
			if !yield(&of[i], nil) {
				return
			}
		}
	}
}

func failed[T any](err error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) { yield(nil, err) }
}
