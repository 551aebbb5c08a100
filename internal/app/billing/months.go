// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// Months are those with lines or closed, by scope and month.
func (s *Service) Months(ctx context.Context) ([]inquiry.MonthState, error) {
	sums, err := s.store.Sums(ctx)
	if err != nil {
		return nil, err
	}
	closed, err := s.store.Closed(ctx)
	if err != nil {
		return nil, err
	}
	unrated, err := s.unrated(ctx)
	if err != nil {
		return nil, err
	}
	of := map[monthKey]*inquiry.MonthState{}
	for _, m := range sums {
		if m.Currency != "" {
			of[monthKey{m.Scope, m.Month}] = &inquiry.MonthState{Scope: m.Scope, Month: m.Month, Lines: m.Lines, Amount: m.Amount.String()}
		}
	}
	for i := range closed {
		c := &closed[i]
		of[monthKey{c.Scope, c.Month}] = &inquiry.MonthState{Scope: c.Scope, Month: c.Month, Closed: c, Lines: c.Lines, Amount: c.Amount}
	}
	var out []inquiry.MonthState
	for _, m := range of {
		if m.Closed == nil {
			m.UnratedHours = len(unrated[setMonth{m.Set, m.Month}])
			m.UnpricedHours = unpriced(sums, m.Set, m.Month)
			m.Why = s.standsInTheWay(m, of)
			m.Closable = m.Why == ""
		}
		out = append(out, *m)
	}
	slices.SortFunc(out, func(a, b inquiry.MonthState) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(string(a.Currency), string(b.Currency)), cmp.Compare(a.Month, b.Month))
	})
	return out, nil
}

type monthKey struct {
	ledger.Scope
	month ledger.Month
}

type setMonth struct {
	set   string
	month ledger.Month
}

// unpriced is how many hours of a set's month have no price.
func unpriced(sums []ledger.MonthSum, set string, m ledger.Month) (n int) {
	for _, sum := range sums {
		if sum.Currency == "" && sum.Set == set && sum.Month == m && sum.UnpricedMS > 0 {
			n += sum.Hours
		}
	}
	return n
}

// unrated are the hours that are due, by the set and the month they are of.
func (s *Service) unrated(ctx context.Context) (map[setMonth][]ledger.NodeHour, error) {
	due, err := s.store.Due(ctx, s.cfg.Now(), 1<<30)
	if err != nil {
		return nil, err
	}
	periods := ledger.NewPeriods(s.cfg.Sets, nil)
	out := map[setMonth][]ledger.NodeHour{}
	for _, d := range due {
		k := setMonth{periods.SetOf(d.Cluster), ledger.MonthOf(d.HourMS)}
		out[k] = append(out[k], d.NodeHour)
	}
	return out, nil
}

// standsInTheWay says why a month cannot be closed, "" if it can.
func (s *Service) standsInTheWay(m *inquiry.MonthState, all map[monthKey]*inquiry.MonthState) string {
	if s.cfg.Now().UnixMilli() < m.Month.EndMS() {
		return "it is not over"
	}
	for k, o := range all {
		if k.Scope == m.Scope && k.month < m.Month && o.Closed == nil {
			return fmt.Sprintf("%s is open: months are closed in order", k.month)
		}
	}
	switch {
	case m.UnratedHours > 0:
		return fmt.Sprintf("%d hours of nodes are not rated", m.UnratedHours)
	case m.UnpricedHours > 0:
		return fmt.Sprintf("%d hours of nodes have no price", m.UnpricedHours)
	}
	return ""
}

// CloseMonth closes a month, or says what stands in the way.
func (s *Service) CloseMonth(ctx context.Context, r inquiry.CloseRequest) (ledger.Closed, error) {
	states, _, err := s.closable(ctx, r)
	if err != nil {
		return ledger.Closed{}, err
	}
	unrated, err := s.unrated(ctx)
	if err != nil {
		return ledger.Closed{}, err
	}
	earliest := r.Month
	for _, m := range states {
		if m.Scope == r.Scope {
			earliest = min(earliest, m.Month)
		}
	}
	c, err := s.store.CloseMonth(ctx, ledger.Closing{
		Scope: r.Scope, Month: r.Month, Level: r.Level, AtMS: s.cfg.Now().UnixMilli(), By: r.By, Note: r.Note, Force: r.Force,
		Unrated: unrated[setMonth{r.Set, r.Month}], Earliest: earliest,
	})
	if err != nil {
		return c, fmt.Errorf("close %s: %w", r.Month, err)
	}
	return c, nil
}

// closable finds the month that is to be closed among all, or says why it may not.
func (s *Service) closable(ctx context.Context, r inquiry.CloseRequest) (states []inquiry.MonthState, m *inquiry.MonthState, err error) {
	if states, err = s.Months(ctx); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(states, func(m inquiry.MonthState) bool { return m.Scope == r.Scope && m.Month == r.Month })
	if i < 0 {
		return nil, nil, &inquiry.NotFound{What: "month", Name: fmt.Sprintf("%s, %s", r.Month, r.Scope), Hint: "gputally period list shows those with charges"}
	}
	return states, &states[i], refusal(&states[i], r)
}

// refusal is why a month may not be closed as it was asked for.
func refusal(m *inquiry.MonthState, r inquiry.CloseRequest) error {
	missing := m.UnratedHours > 0 || m.UnpricedHours > 0
	switch {
	case r.By == "":
		return &inquiry.Wrong{Field: "by", Why: "say who closes the month"}
	case m.Closed != nil:
		return &inquiry.Refused{Code: "already_closed", Why: fmt.Sprintf("%s was closed at %s by %s", m.Month, time.UnixMilli(m.Closed.AtMS).UTC().Format(time.RFC3339), m.Closed.By),
			Hint: "a closed month stays as it is; what changed since is a correction in the open month"}
	case m.Closable || r.Force != "" && missing && !strings.Contains(m.Why, "not over") && !strings.Contains(m.Why, "is open"):
		return nil
	case missing:
		return &inquiry.Refused{Code: "hours_missing", Why: m.Month.String() + " cannot be closed: " + m.Why,
			Hint: "gputally price check tells which hours have no price; to close all the same, say why with --force"}
	}
	return &inquiry.Refused{Code: "not_closable", Why: m.Month.String() + " cannot be closed: " + m.Why, Hint: "gputally period list shows which month is next"}
}

// VerifyMonths makes closed months again.
func (s *Service) VerifyMonths(ctx context.Context, month ledger.Month, progress func(inquiry.Progress)) ([]inquiry.Verified, error) {
	closed, err := s.store.Closed(ctx)
	if err != nil {
		return nil, err
	}
	closed = slices.DeleteFunc(closed, func(c ledger.Closed) bool { return month != 0 && c.Month != month })
	if len(closed) == 0 && month != 0 {
		return nil, &inquiry.NotFound{What: "closed month", Name: month.String(), Hint: "gputally period list shows which are closed"}
	}
	var out []inquiry.Verified
	for i, c := range closed {
		progress(inquiry.Progress{Stage: "verify " + c.Month.String(), AtMS: c.Month.StartMS(), Done: int64(i), Total: int64(len(closed))})
		v := inquiry.Verified{Closed: c}
		if err := s.store.Verify(ctx, c); err != nil && !errors.As(err, &v.Violation) {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// Statement opens a statement of a closed month as it was frozen.
func (s *Service) Statement(ctx context.Context, scope ledger.Scope, m ledger.Month, p ledger.Payer) (io.ReadCloser, error) {
	closed, err := s.store.Closed(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range closed {
		if c.Scope != scope || c.Month != m {
			continue
		}
		if !slices.ContainsFunc(c.Statements, func(d ledger.Digest) bool { return d.Payer == p }) {
			return nil, &inquiry.NotFound{What: "statement", Name: p.String(), Hint: "gputally period show " + m.String() + " lists those of the month"}
		}
		return s.store.Statement(ctx, c, p)
	}
	return nil, &inquiry.NotFound{What: "closed month", Name: fmt.Sprintf("%s, %s", m, scope), Hint: "gputally period list shows which are closed"}
}

// currencies are the currencies in which anything is booked.
func currencies(sums []ledger.MonthSum) (out []money.Currency) {
	for _, m := range sums {
		if m.Currency != "" && !slices.Contains(out, m.Currency) {
			out = append(out, m.Currency)
		}
	}
	slices.Sort(out)
	return out
}
