// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
)

// statement names the bytes of one.
type statement struct {
	scope ledger.Scope
	month ledger.Month
	payer ledger.Payer
}

// Sums are what is booked in each month.
func (s *Store) Sums(context.Context) ([]ledger.MonthSum, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type key struct {
		ledger.Scope
		month ledger.Month
	}
	sums, hours := map[key]*ledger.MonthSum{}, map[key]map[ledger.NodeHour]bool{}
	for i := range s.lines {
		l := &s.lines[i]
		k := key{ledger.Scope{Set: l.Set, Currency: l.Currency}, l.Period}
		m := sums[k]
		if m == nil {
			m = &ledger.MonthSum{Scope: k.Scope, Month: k.month}
			sums[k], hours[k] = m, map[ledger.NodeHour]bool{}
		}
		m.Lines++
		if l.Amount != nil {
			m.Amount.Add(*l.Amount)
		} else {
			m.UnpricedMS += l.ShareMS
		}
		hours[k][l.NodeHour] = true
		m.Hours = len(hours[k])
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), cmp.Compare(a.Currency, b.Currency), cmp.Compare(a.month, b.month))
	})
	var out []ledger.MonthSum
	for _, k := range keys {
		out = append(out, *sums[k])
	}
	return out, nil
}

// Closed are all closed months.
func (s *Store) Closed(context.Context) ([]ledger.Closed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.closed), nil
}

// CloseMonth closes a month.
func (s *Store) CloseMonth(_ context.Context, c ledger.Closing) (ledger.Closed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	frozen := map[statement]*bytes.Buffer{}
	closed, err := ledger.Close(c, s.before(c.Scope, c.Month), ledger.StatementLines(s.lines, c.Scope, c.Month, c.Level), func(p ledger.Payer) (io.Writer, error) {
		b := &bytes.Buffer{}
		frozen[statement{c.Scope, c.Month, p}] = b
		return b, nil
	})
	if err != nil {
		return closed, err
	}
	for k, b := range frozen {
		s.frozen[k] = b.Bytes()
	}
	s.closed = append(s.closed, closed)
	_, err = s.add(closed.Event())
	return closed, err
}

// before is the month closed before another of the scope.
func (s *Store) before(scope ledger.Scope, m ledger.Month) *ledger.Closed {
	var out *ledger.Closed
	for i := range s.closed {
		if c := &s.closed[i]; c.Scope == scope && c.Month < m && (out == nil || c.Month > out.Month) {
			out = c
		}
	}
	return out
}

// Verify makes a closed month again.
func (s *Store) Verify(_ context.Context, c ledger.Closed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ledger.Verify(c, s.before(c.Scope, c.Month), ledger.StatementLines(s.lines, c.Scope, c.Month, c.Level), func(p ledger.Payer) (io.Reader, error) {
		return bytes.NewReader(s.frozen[statement{c.Scope, c.Month, p}]), nil
	})
}

// Statement opens a statement.
func (s *Store) Statement(_ context.Context, c ledger.Closed, p ledger.Payer) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.frozen[statement{c.Scope, c.Month, p}]
	if !ok {
		return nil, fmt.Errorf("no statement of %s in %s", p, c.Month)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// Spoil changes an amount in a line behind everybody's back.
func (s *Store) Spoil(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.lines {
		if s.lines[i].ID == id && s.lines[i].Amount != nil {
			other := *s.lines[i].Amount + 1
			s.lines[i].Amount = &other
			return nil
		}
	}
	return fmt.Errorf("there is no line %s with an amount", id)
}

// AddEvent adds an event.
func (s *Store) AddEvent(_ context.Context, e ledger.Event) (ledger.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(e)
}

func (s *Store) add(e ledger.Event) (ledger.Event, error) {
	var previous *ledger.Event
	if n := len(s.events); n > 0 {
		previous = &s.events[n-1]
	}
	e, err := e.Follow(previous)
	if err == nil {
		s.events = append(s.events, e)
	}
	return e, err
}

// Events walks them.
func (s *Store) Events(context.Context) iter.Seq2[ledger.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	return all(slices.Clone(s.events))
}

// filed is an import with its hours.
type filed struct {
	bill.Filed
	hours []bill.Hour
}

// File keeps an import.
func (s *Store) File(_ context.Context, f bill.Filed, hours []bill.Hour) (bill.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change, at := bill.Added, len(s.filed)
	for i, o := range s.filed {
		switch {
		case o.Source != f.Source || !o.Period.Overlaps(f.Period):
		case o.Period != f.Period:
			return "", fmt.Errorf("%s of %s overlaps %s", f.Period, f.Source, o.Period)
		case o.Hash == f.Hash:
			return bill.Unchanged, nil
		default:
			change, at = bill.Replaced, i
		}
	}
	if at == len(s.filed) {
		s.filed = append(s.filed, filed{})
	}
	s.filed[at] = filed{f, hours}
	_, err := s.add(ledger.Event{AtMS: f.AtMS, By: f.By, Action: ledger.ActionBill, Subject: f.Source + " " + f.Period.String(), Detail: string(change), Digest: f.Hash})
	return change, err
}

// Filed are the imports in force.
func (s *Store) Filed(context.Context) ([]bill.Filed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []bill.Filed
	for _, f := range s.filed {
		out = append(out, f.Filed)
	}
	slices.SortFunc(out, func(a, b bill.Filed) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), cmp.Compare(a.Period.StartMS, b.Period.StartMS))
	})
	return out, nil
}

// BillHours walks hours of bills.
func (s *Store) BillHours(_ context.Context, from, to time.Time) iter.Seq2[*bill.Hour, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []bill.Hour
	for _, f := range s.filed {
		for _, h := range f.hours {
			if h.StartMS >= from.UnixMilli() && h.StartMS < to.UnixMilli() {
				out = append(out, h)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b bill.Hour) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.StartMS, b.StartMS), cmp.Compare(a.Currency, b.Currency))
	})
	return pointers(out)
}

// KeepText keeps a text.
func (s *Store) KeepText(_ context.Context, key string, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[key] = bytes.Clone(text)
	return nil
}

// Text is a text that was kept.
func (s *Store) Text(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[key], nil
}
