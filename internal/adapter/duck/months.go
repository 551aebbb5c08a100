// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

var closedTable = table{name: "ledger_closed", columns: columnsOf(
	"cluster_set", text, "currency", text, "month", integer, "file", text, "bytes", bigint, "closed_json", text,
)}

var statementTable = table{name: "ledger_statement", columns: columnsOf(
	"cluster_set", text, "currency", text, "month", integer, "place", integer, "class", text, "account", text, "lines", bigint,
	"amount", text, "unpriced_ms", bigint, "sha256", text, "start", bigint, "length", bigint,
)}

// Closed are all closed months, by scope and month.
func (s *Store) Closed(ctx context.Context) ([]ledger.Closed, error) {
	s.mu.RLock()
	known := s.books.closed
	s.mu.RUnlock()
	if known != nil {
		return slices.Clone(*known), nil
	}
	// Between reading and remembering nobody may close one.
	done, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out, err := s.readClosed(ctx)
	if err != nil {
		return nil, fmt.Errorf("list closed months: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.closed = &out
	return slices.Clone(out), nil
}

func (s *Store) readClosed(ctx context.Context) (out []ledger.Closed, err error) {
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	memo := newMemo()
	query := "SELECT closed_json FROM ledger_closed ORDER BY cluster_set, currency, month"
	err = conn.rows(ctx, query, columnsOf("closed_json", text), memo, func(r *row) {
		var c ledger.Closed
		if err := json.Unmarshal(r.bytes(), &c); err != nil {
			memo.fail(err)
		}
		out = append(out, c)
	})
	if err != nil {
		return nil, err
	}
	at := 0
	query = "SELECT " + statementTable.list() + " FROM ledger_statement ORDER BY cluster_set, currency, month, place"
	err = conn.rows(ctx, query, statementTable.columns, memo, func(r *row) {
		scope, month := ledger.Scope{Set: r.text(), Currency: money.Currency(r.text())}, ledger.Month(r.i32())
		for at < len(out) && (out[at].Scope != scope || out[at].Month != month) {
			at++
		}
		if at == len(out) {
			memo.fail(fmt.Errorf("a statement is of %s, %s, which is not closed", month, scope))
			at = 0
			return
		}
		r.skip(1)
		out[at].Statements = append(out[at].Statements, ledger.Digest{
			Payer: ledger.Payer{Class: ledger.Class(r.text()), Account: r.text()}, Lines: int(r.i64()), Amount: r.text(), UnpricedMS: r.i64(), SHA256: r.text(),
		})
	})
	return out, err
}

// CloseMonth closes a month as ledger.Close does. Nothing is booked meanwhile;
// batches are appended. When it returns the month is durable with its statements,
// unless somebody reads a backup just then: the next checkpoint makes up for that.
func (s *Store) CloseMonth(ctx context.Context, c ledger.Closing) (ledger.Closed, error) {
	s.books.keep.Lock()
	defer s.books.keep.Unlock()
	out, err := s.closeMonth(ctx, c)
	if err != nil {
		return ledger.Closed{}, err
	}
	if err := s.Checkpoint(ctx); err != nil && !errors.Is(err, errNotNow) {
		return out, fmt.Errorf("%s, %s is closed, and not durable yet: %w", c.Month, c.Scope, err)
	}
	return out, nil
}

func (s *Store) closeMonth(ctx context.Context, c ledger.Closing) (out ledger.Closed, err error) {
	fail := func(err error) (ledger.Closed, error) {
		return ledger.Closed{}, fmt.Errorf("close %s, %s: %w", c.Month, c.Scope, err)
	}
	closed, err := s.Closed(ctx)
	if err != nil {
		return fail(err)
	}
	if c.Earliest, err = s.earliest(ctx, c.Scope); err != nil {
		return fail(err)
	}
	f, err := newMonthFile(s.dir, c.Scope, c.Month)
	if err != nil {
		return fail(err)
	}
	out, err = ledger.Close(c, before(closed, c.Scope, 0), s.statementLines(ctx, c.Scope, c.Month, c.Level), f.freeze)
	if err != nil {
		return out, errors.Join(err, f.abandon())
	}
	if err := f.finish(s.opt.Now().UTC().Format(asideTime)); err != nil {
		return fail(err)
	}
	done, err := s.begin(ctx)
	if err != nil {
		return fail(err)
	}
	defer done()
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error { return writeClosed(ctx, conn, &out, f) })
	if err != nil {
		return fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books.closed = nil
	return out, nil
}

// before is the last closed month of a scope before one, of all where that is 0;
// nil where there is none.
func before(closed []ledger.Closed, s ledger.Scope, m ledger.Month) (last *ledger.Closed) {
	for i := range closed {
		if c := &closed[i]; c.Scope == s && (m == 0 || c.Month < m) && (last == nil || c.Month > last.Month) {
			last = c
		}
	}
	return last
}

// earliest is the first month in which lines with a price of the scope are booked.
func (s *Store) earliest(ctx context.Context, scope ledger.Scope) (m ledger.Month, err error) {
	of := s.sorts().which(func(s *lineSort) bool { return s.set == scope.Set && s.currency == scope.Currency })
	query := "SELECT coalesce(min(period), 0) FROM ledger_line WHERE " + of
	err = s.ask(ctx, query, columnsOf("month", integer), func(r *row) { m = ledger.Month(r.i32()) })
	return m, err
}

func writeClosed(ctx context.Context, conn *columnar, c *ledger.Closed, f *monthFile) error {
	head := *c
	head.Statements = nil
	data, err := json.Marshal(head)
	if err != nil {
		return err
	}
	w := bulks{conn: conn}
	b, err := w.to(closedTable)
	if err == nil {
		b.text(c.Set)
		b.text(string(c.Currency))
		b.number(int(c.Month))
		b.text(filepath.Base(f.path))
		b.i64(f.out.n)
		b.text(string(data))
		err = b.end()
	}
	if err == nil {
		err = writeStatements(&w, c, f)
	}
	if err = w.finish(err); err != nil {
		return err
	}
	_, err = addEvent(ctx, conn, c.Event())
	return err
}

func writeStatements(w *bulks, c *ledger.Closed, f *monthFile) error {
	if len(f.ends) != len(c.Statements) {
		return fmt.Errorf("%d statements were written of %d", len(f.ends), len(c.Statements))
	}
	b, err := w.to(statementTable)
	if err != nil {
		return err
	}
	start := int64(0)
	for i, d := range c.Statements {
		b.text(c.Set)
		b.text(string(c.Currency))
		b.number(int(c.Month))
		b.number(i)
		b.text(string(d.Class))
		b.text(d.Account)
		b.i64(int64(d.Lines))
		b.text(d.Amount)
		b.i64(d.UnpricedMS)
		b.text(d.SHA256)
		b.i64(start)
		b.i64(f.ends[i] - start)
		if err := b.end(); err != nil {
			return err
		}
		start = f.ends[i]
	}
	return nil
}

// Statement opens the bytes of a statement as they were frozen.
func (s *Store) Statement(ctx context.Context, c ledger.Closed, p ledger.Payer) (io.ReadCloser, error) {
	fail := func(err error) (io.ReadCloser, error) {
		return nil, fmt.Errorf("open statement of %s, %s, %s: %w", p, c.Month, c.Scope, err)
	}
	month := fmt.Sprintf("cluster_set = %s AND currency = %s AND month = %d", literal(c.Set), literal(string(c.Currency)), c.Month)
	name := ""
	var start, length int64
	query := fmt.Sprintf(`SELECT (SELECT file FROM ledger_closed WHERE %s), start, length FROM ledger_statement
		WHERE %[1]s AND class = %s AND account = %s`, month, literal(string(p.Class)), literal(p.Account))
	err := s.ask(ctx, query, columnsOf("file", text, "start", bigint, "length", bigint), func(r *row) {
		name, start, length = r.text(), r.i64(), r.i64()
	})
	switch {
	case err != nil:
		return fail(err)
	case name == "":
		return fail(errors.New("there is none"))
	}
	out, err := openMember(filepath.Join(s.dir, statementsDir, name), start, length)
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// Verify makes a closed month again, as ledger.Verify does, beside its frozen bytes.
func (s *Store) Verify(ctx context.Context, c ledger.Closed) (err error) {
	closed, err := s.Closed(ctx)
	if err != nil {
		return err
	}
	var open io.ReadCloser
	end := func() error {
		if open == nil {
			return nil
		}
		err := open.Close()
		open = nil
		return err
	}
	frozen := func(p ledger.Payer) (io.Reader, error) {
		if err := end(); err != nil {
			return nil, err
		}
		var err error
		open, err = s.Statement(ctx, c, p)
		return open, err
	}
	err = ledger.Verify(c, before(closed, c.Scope, c.Month), s.statementLines(ctx, c.Scope, c.Month, c.Level), frozen)
	return errors.Join(err, end())
}

// Sums are what is booked in each month, by scope and month; lines without a price
// stand under the currency "".
func (s *Store) Sums(ctx context.Context) ([]ledger.MonthSum, error) {
	known := s.sorts()
	of := map[ledger.Month]map[ledger.Scope]*ledger.MonthSum{}
	at := func(scope ledger.Scope, m ledger.Month) *ledger.MonthSum {
		if of[m] == nil {
			of[m] = map[ledger.Scope]*ledger.MonthSum{}
		}
		if of[m][scope] == nil {
			of[m][scope] = &ledger.MonthSum{Scope: scope, Month: m}
		}
		return of[m][scope]
	}
	var bad error
	scopeOf := func(id int32) ledger.Scope {
		of, err := known.get(id)
		if err != nil {
			bad = err // it was added meanwhile
			return ledger.Scope{}
		}
		return ledger.Scope{Set: of.set, Currency: of.currency}
	}
	query := `SELECT sort, period, count(*), coalesce(sum(amount), 0)::HUGEINT, coalesce(sum(share_ms) FILTER (amount IS NULL), 0)::HUGEINT FROM ledger_line
		WHERE sort < ` + fmt.Sprint(len(known.all)) + ` GROUP BY sort, period`
	err := s.ask(ctx, query, columnsOf("sort", integer, "period", integer, "lines", bigint, "amount", hugeint, "unpriced", hugeint), func(r *row) {
		sum := at(scopeOf(r.i32()), ledger.Month(r.i32()))
		sum.Lines += int(r.i64())
		sum.Amount.AddSum(r.sum())
		sum.UnpricedMS += int64(at128(r))
	})
	if err == nil {
		query = `SELECT sort_set, period, count(*) FROM (
				SELECT cluster_set AS sort_set, period, cluster, node, coalesce(hour_ms, hour) AS at FROM ledger_line JOIN ledger_sort ON ledger_sort.id = sort
				WHERE amount IS NULL GROUP BY ALL HAVING sum(share_ms) > 0)
			GROUP BY sort_set, period`
		err = s.ask(ctx, query, columnsOf("cluster_set", text, "period", integer, "hours", bigint), func(r *row) {
			set, month := r.text(), ledger.Month(r.i32())
			at(ledger.Scope{Set: set}, month).Hours = int(r.i64())
		})
	}
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("sum months: %w", err)
	}
	return sortedSums(of), nil
}

// at128 is the low half of a number of 128 bits.
func at128(r *row) uint64 { return at[halves](r).low }
