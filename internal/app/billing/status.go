// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// silentAfter is how long nothing comes from a node before it is called silent.
const silentAfter = 10 * time.Minute

// named is how many of something a status names.
const named = 10

// Status is how the ledger stands.
func (s *Service) Status(ctx context.Context) (inquiry.Status, error) {
	now := s.cfg.Now()
	out := inquiry.Status{Version: s.cfg.Version, NowMS: now.UnixMilli(), StartedMS: s.started.UnixMilli(), Labels: s.cfg.Labels}
	if s.cfg.Bytes != nil {
		out.StoreBytes = s.cfg.Bytes()
	}
	machines, err := s.store.Machines(ctx, time.UnixMilli(0).UTC(), ever, "")
	if err != nil {
		return out, err
	}
	out.Records = records(machines, now)
	if s.cfg.Receive != nil {
		r := s.cfg.Receive()
		out.Records.Batches, out.Records.ArrivedMS = r.Batches, r.LastMS
	}
	if out.Rating, err = s.ratingStatus(ctx, now); err != nil {
		return out, err
	}
	rules, err := s.rules.Rules(ctx, now.UTC().Truncate(time.Hour))
	if err != nil {
		return out, err
	}
	out.Policy, out.Split = rules.Policy, rules.Prices.Policy().Rule
	for _, b := range rules.Books {
		out.Books = append(out.Books, inquiry.BookStatus{Name: b.Name, Revision: b.Revision, Grade: b.Grade, Rows: len(b.Rows)})
	}
	filed, err := s.store.Filed(ctx)
	if err != nil {
		return out, err
	}
	out.Books = append(billBooks(filed), out.Books...)
	closed, err := s.store.Closed(ctx)
	if err != nil {
		return out, err
	}
	out.Closed = lastClosed(closed)
	out.Troubles = s.recent()
	return out, nil
}

// records is what the agents delivered, as the machines tell.
func records(machines []rating.Machine, now time.Time) (out inquiry.RecordsStatus) {
	last := map[string]rating.Machine{}
	for _, m := range machines {
		if out.FirstMS == 0 || m.FirstMS < out.FirstMS {
			out.FirstMS = m.FirstMS
		}
		out.LastMS = max(out.LastMS, m.LastMS)
		if k := nodeKey(m.Cluster, m.Node); last[k].LastMS < m.LastMS {
			last[k] = m
		}
	}
	out.Nodes = len(last)
	for _, m := range last {
		if m.LastMS < now.Add(-silentAfter).UnixMilli() {
			out.Silent = append(out.Silent, inquiry.SilentNode{Cluster: m.Cluster, Node: m.Node, LastMS: m.LastMS})
		}
	}
	slices.SortFunc(out.Silent, func(a, b inquiry.SilentNode) int {
		return cmp.Or(cmp.Compare(b.LastMS, a.LastMS), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node))
	})
	out.SilentNodes = len(out.Silent)
	out.Silent = out.Silent[:min(named, len(out.Silent))]
	return out
}

func (s *Service) ratingStatus(ctx context.Context, now time.Time) (out inquiry.RatingStatus, err error) {
	if out.DueHours, out.OldestDue, err = s.store.Backlog(ctx, now); err != nil {
		return out, err
	}
	r := s.rater.Status()
	out.Hours = r.Hours
	if !r.LastRound.IsZero() {
		out.LastMS = r.LastRound.UnixMilli()
	}
	out.RatedToMS = now.UTC().Truncate(time.Hour).UnixMilli()
	if out.OldestDue != nil {
		out.RatedToMS = min(out.RatedToMS, out.OldestDue.HourMS)
	}
	return out, nil
}

// billBooks are the sources of bills, each with its lines.
func billBooks(filed []bill.Filed) (out []inquiry.BookStatus) {
	for _, f := range filed {
		i := slices.IndexFunc(out, func(b inquiry.BookStatus) bool { return b.Name == f.Source })
		if i < 0 {
			out = append(out, inquiry.BookStatus{Name: f.Source, Grade: pricing.Billed})
			i = len(out) - 1
		}
		out[i].Revision, out[i].Rows = f.Hash, out[i].Rows+int(f.Lines)
	}
	return out
}

// lastClosed is the last closed month of each scope.
func lastClosed(closed []ledger.Closed) (out []ledger.Closed) {
	for _, c := range closed {
		i := slices.IndexFunc(out, func(o ledger.Closed) bool { return o.Scope == c.Scope })
		switch {
		case i < 0:
			out = append(out, c)
		case out[i].Month < c.Month:
			out[i] = c
		}
	}
	return out
}

// recent is what went wrong last: hours that cannot be rated, then the rest.
func (s *Service) recent() []inquiry.Trouble {
	var out []inquiry.Trouble
	r := s.rater.Status()
	for _, f := range r.Failed[:min(named, len(r.Failed))] {
		out = append(out, inquiry.Trouble{
			AtMS: r.LastRound.UnixMilli(), What: "rate the " + f.String(), Detail: f.Error,
			Hint: fmt.Sprintf("tried %d times, and again later; other hours are not held up", f.Tries),
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out = append(out, s.troubles...)
	return out[:min(named, len(out))]
}
