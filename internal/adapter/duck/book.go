// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
)

// books is what a store keeps in memory of its ledger.
type books struct {
	// keep is held by whoever adds to the journal of charges, closes a month or
	// writes lines again, for as long as that takes. Batches are appended meanwhile.
	keep sync.Mutex
	// dictionary is guarded by Store.mu; all but its sorts is the writer's.
	dictionary *dictionary
	// stays are the times of all machines, as of the last commit: the writer's.
	stays stays
	// told is when it was first told what machines are, as of the last commit: the writer's.
	told firstTold
	// touched are the hours of the batches that are being appended: the writer's.
	touched []hourSpan
	// rolled are the days in ledger_rolled: the writer's.
	rolled map[int32]bool
	// pods are what pods were, by number.
	pods podCache
	// closed are the closed months, nil until they are asked for. It is guarded by
	// Store.mu.
	closed *[]ledger.Closed
}

// begin holds the database for writing: the caller calls the function that it
// returns when it is done.
func (s *Store) begin(ctx context.Context) (func(), error) {
	s.write.Lock()
	err := errors.Join(s.usable(), ctx.Err())
	if err != nil {
		s.write.Unlock()
		return nil, err
	}
	return s.write.Unlock, nil
}

// change runs f in one transaction of a connection of its own. The caller holds
// the database for writing. Whatever fails, memory is as the database is then.
func (s *Store) change(ctx context.Context, f func(context.Context, *columnar) error) error {
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	// From here on it is done as a whole, whoever stops waiting for it.
	ctx = context.WithoutCancel(ctx)
	if err := conn.exec(ctx, "BEGIN TRANSACTION"); err != nil {
		return s.judge(err)
	}
	if err = f(ctx, conn); err == nil {
		if err = conn.exec(ctx, "COMMIT"); err == nil {
			return nil
		}
		err = fmt.Errorf("commit: %w", err)
	}
	// A rollback fails where the commit ended the transaction already.
	_ = conn.exec(ctx, "ROLLBACK")
	return s.recoverLedger(ctx, err)
}

// recoverLedger brings memory back to what the database says after a transaction
// that failed, and may yet have been committed.
func (s *Store) recoverLedger(ctx context.Context, err error) error {
	if err = s.judge(err); errors.Is(err, journal.ErrBroken) {
		return err
	}
	if load := s.loadBooks(ctx); load != nil {
		return s.judge(errors.Join(fmt.Errorf("%w: what it holds is not known after a failed write", journal.ErrBroken), err, load))
	}
	return err
}

// loadBooks reads what is kept in memory of the ledger.
func (s *Store) loadBooks(ctx context.Context) error {
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	d, err := readDictionary(ctx, conn)
	if err != nil {
		return err
	}
	s.learn(d)
	s.mu.Lock()
	s.books.closed = nil
	s.mu.Unlock()
	if s.books.rolled, err = readRolled(ctx, conn); err != nil {
		return err
	}
	if s.books.stays, err = readStays(ctx, conn); err != nil {
		return err
	}
	s.books.told, err = readTold(ctx, conn)
	return err
}

func (s *Store) learn(d *dictionary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.dictionary = d
}

func (s *Store) sorts() *sorts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.books.dictionary.sorts
}

// Book adds bookings in one transaction, all or none, and takes their hours off
// the list of due ones as far as they have seen what arrived. An *rating.Overtaken
// names an hour that somebody else has rated since the booking began from it.
func (s *Store) Book(ctx context.Context, bookings []rating.Booking) error {
	if len(bookings) == 0 {
		return nil
	}
	for i := range bookings {
		if err := checkBooking(&bookings[i]); err != nil {
			return fmt.Errorf("book: %w", err)
		}
	}
	s.books.keep.Lock()
	defer s.books.keep.Unlock()
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	defer s.stamps.touch(hoursBooked(bookings)...)
	var w *speller
	var settle func()
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		before, err := readBooked(ctx, conn, bookings)
		if err != nil {
			return err
		}
		days := map[int32]bool{}
		for hour := range before.hours {
			days[hour/dayHours] = true
		}
		if settle, err = s.unroll(ctx, conn, days); err != nil {
			return err
		}
		w = newSpeller(conn, s.books.dictionary)
		return before.book(ctx, w, bookings)
	})
	var overtaken *rating.Overtaken
	switch {
	case errors.As(err, &overtaken):
		return overtaken
	case err != nil:
		return fmt.Errorf("book: %w", err)
	}
	s.learn(w.settle())
	settle()
	return nil
}

// checkBooking sees that a booking is of one hour and numbered as it says.
func checkBooking(b *rating.Booking) error {
	want := b.After
	if len(b.Lines) > 0 {
		want++
	}
	if b.Rated.Booking != want {
		return fmt.Errorf("%s: it is booking %d after %d with %d lines", b.Rated.NodeHour, b.Rated.Booking, b.After, len(b.Lines))
	}
	if hour, err := chargeHour(b.Rated.HourMS); err != nil || int64(hour)*hourMS != b.Rated.HourMS {
		return fmt.Errorf("%s: that is no hour", b.Rated.NodeHour)
	}
	for i := range b.Rated.Costs {
		if c := &b.Rated.Costs[i]; c.Cluster != b.Rated.Cluster || c.Node != b.Rated.Node || c.StartMS/hourMS*hourMS != b.Rated.HourMS {
			return fmt.Errorf("%s: a cost is of node %s of cluster %q from %d ms", b.Rated.NodeHour, c.Node, c.Cluster, c.StartMS)
		}
	}
	for i := range b.Lines {
		l := &b.Lines[i]
		if l.NodeHour != b.Rated.NodeHour || l.Booking != want || l.IsDrift() || l.StartMS/hourMS*hourMS != l.HourMS {
			return fmt.Errorf("%s: line %s is of booking %d of %s", b.Rated.NodeHour, l.ID, l.Booking, l.NodeHour)
		}
	}
	return nil
}

// booked is what the tables have of the hours that are booked.
type booked struct {
	hours    map[int32][]*rating.Booking
	there    map[ledger.NodeHour]bool
	bookings map[ledger.NodeHour]int
	sums     map[ledger.NodeHour][]hourSum
	pods     map[ledger.NodeHour]map[string]int64 // by UID, of lines that are there
}

func readBooked(ctx context.Context, conn *columnar, bookings []rating.Booking) (*booked, error) {
	b := &booked{hours: map[int32][]*rating.Booking{}, there: map[ledger.NodeHour]bool{}, bookings: map[ledger.NodeHour]int{},
		sums: map[ledger.NodeHour][]hourSum{}, pods: map[ledger.NodeHour]map[string]int64{}}
	for i := range bookings {
		hour := hourOf(bookings[i].Rated.HourMS)
		b.hours[hour] = append(b.hours[hour], &bookings[i])
	}
	for hour, of := range b.hours {
		if err := b.read(ctx, conn, hour, of); err != nil {
			return nil, err
		}
	}
	twice := map[ledger.NodeHour]bool{}
	for i := range bookings {
		n := &bookings[i]
		if twice[n.Rated.NodeHour] {
			return nil, fmt.Errorf("%s is there twice", n.Rated.NodeHour)
		}
		twice[n.Rated.NodeHour] = true
		if is := b.bookings[n.Rated.NodeHour]; is != n.After {
			return nil, &rating.Overtaken{NodeHour: n.Rated.NodeHour, After: n.After, Is: is}
		}
	}
	return b, nil
}

// read reads what there is of one hour.
func (b *booked) read(ctx context.Context, conn *columnar, hour int32, of []*rating.Booking) error {
	memo := newMemo()
	where := fmt.Sprintf(" WHERE hour = %d AND %s", hour, nodesOf(of))
	query := "SELECT cluster, node, booking FROM ledger_rated" + where
	found := false
	err := conn.rows(ctx, query, columnsOf("cluster", text, "node", text, "booking", integer), memo, func(r *row) {
		h := ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}
		b.bookings[h], b.there[h], found = int(r.i32()), true, true
	})
	if err != nil || !found {
		return err
	}
	err = conn.rows(ctx, "SELECT "+hourTable.list()+" FROM ledger_hour"+where, hourTable.columns, memo, func(r *row) {
		h, sum := readHourSum(r)
		b.sums[h] = append(b.sums[h], sum)
	})
	if err != nil {
		return err
	}
	query = "SELECT DISTINCT cluster, node, pod_uid, coalesce(pod, 0) FROM ledger_line" + where
	return conn.rows(ctx, query, columnsOf("cluster", text, "node", text, "pod_uid", text, "pod", bigint), memo, func(r *row) {
		h := ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}
		if b.pods[h] == nil {
			b.pods[h] = map[string]int64{}
		}
		b.pods[h][r.text()] = r.i64()
	})
}

// nodesOf is the condition of rows that are of the bookings' nodes.
func nodesOf(of []*rating.Booking) string {
	names := make([]string, len(of))
	for i, b := range of {
		names[i] = "(" + literal(b.Rated.Cluster) + ", " + literal(b.Rated.Node) + ")"
	}
	return "(cluster, node) IN (" + strings.Join(names, ", ") + ")"
}

// book writes all of it.
func (b *booked) book(ctx context.Context, w *speller, bookings []rating.Booking) error {
	for hour, of := range b.hours {
		if err := b.clear(ctx, w.conn, hour, of); err != nil {
			return err
		}
	}
	var err error
	for i := range bookings {
		if err = b.add(w, &bookings[i]); err != nil {
			break
		}
	}
	if err = w.finish(err); err != nil {
		return err
	}
	return b.updatePods(ctx, w)
}

// clear takes away what is written anew, and what is due no longer.
func (b *booked) clear(ctx context.Context, conn *columnar, hour int32, of []*rating.Booking) error {
	var again []*rating.Booking
	for _, n := range of {
		if b.there[n.Rated.NodeHour] {
			again = append(again, n)
		}
	}
	if len(again) > 0 {
		for _, t := range []table{ratedTable, costTable, hourTable} {
			if err := conn.exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE hour = %d AND %s", t.name, hour, nodesOf(again))); err != nil {
				return err
			}
		}
	}
	return clearDue(ctx, conn, hour, of)
}
