// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

var filedTable = table{name: "bill_filed", columns: columnsOf(
	"id", bigint, "source", text, "start_ms", bigint, "end_ms", bigint, "hash", text, "filed_json", text,
)}

var billHourTable = table{name: "bill_hour", columns: columnsOf(
	"filed", bigint, "instance", text, "instance_type", text, "start_ms", bigint, "currency", text, "effective", bigint, "beside", bigint,
	"list", bigint, "parts_json", text, "span_ms", bigint, "of_set", text, "sources_json", text, "lines_json", text,
)}

// File keeps an import with its hours in place of what the same source filed for
// the same period before, with its event in the trail.
func (s *Store) File(ctx context.Context, f bill.Filed, hours []bill.Hour) (change bill.Change, err error) {
	fail := func(err error) (bill.Change, error) {
		return "", fmt.Errorf("file import %s of %s: %w", f.Source, f.Period, err)
	}
	if f.Source == "" {
		return fail(errors.New("it has no source: name where the bill comes from"))
	}
	if err := f.Period.Check(); err != nil {
		return fail(err)
	}
	done, err := s.begin(ctx)
	if err != nil {
		return fail(err)
	}
	defer done()
	old, change, err := s.standing(ctx, &f)
	if err != nil {
		return fail(err)
	}
	if change == bill.Unchanged {
		return change, nil
	}
	id := s.books.dictionary.next.filed
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error { return replaceBill(ctx, conn, old, id, &f, hours) })
	if err != nil {
		return fail(err)
	}
	d := *s.books.dictionary
	d.next.filed++
	s.learn(&d)
	return change, nil
}

// standing is the number of what the import takes the place of, 0 where there is
// none, and what filing it would be.
func (s *Store) standing(ctx context.Context, f *bill.Filed) (old int64, change bill.Change, err error) {
	change = bill.Added
	var overlaps error
	query := "SELECT id, start_ms, end_ms, hash FROM bill_filed WHERE source = " + literal(f.Source) + " ORDER BY start_ms"
	err = s.ask(ctx, query, columnsOf("id", bigint, "start_ms", bigint, "end_ms", bigint, "hash", text), func(r *row) {
		id, p, hash := r.i64(), bill.Period{StartMS: r.i64(), EndMS: r.i64()}, r.text()
		switch {
		case p == f.Period && f.Hash != "" && hash == f.Hash:
			old, change = id, bill.Unchanged
		case p == f.Period:
			old, change = id, bill.Replaced
		case p.Overlaps(f.Period) && overlaps == nil:
			overlaps = fmt.Errorf("it overlaps the import of %s; import whole billing periods, or give it a source of its own", p)
		}
	})
	if err == nil {
		err = overlaps
	}
	return old, change, err
}

func replaceBill(ctx context.Context, conn *columnar, old, id int64, f *bill.Filed, hours []bill.Hour) error {
	if old != 0 {
		for _, query := range []string{"DELETE FROM bill_hour WHERE filed = %d", "DELETE FROM bill_filed WHERE id = %d"} {
			if err := conn.exec(ctx, fmt.Sprintf(query, old)); err != nil {
				return err
			}
		}
	}
	b := bulks{conn: conn}
	err := writeFiled(&b, id, f)
	for i := range hours {
		if err == nil {
			err = writeBillHour(&b, id, &hours[i])
		}
	}
	if err = b.finish(err); err != nil {
		return err
	}
	by := f.By
	if by == "" {
		by = "gputally"
	}
	_, err = addEvent(ctx, conn, ledger.Event{
		AtMS: f.AtMS, By: by, Action: ledger.ActionBill, Subject: fmt.Sprintf("%s, %s", f.Source, f.Period),
		Detail: fmt.Sprintf("%d lines, %d hours of machines", f.Lines, len(hours)), Digest: f.Hash,
	})
	return err
}

func writeFiled(to *bulks, id int64, f *bill.Filed) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	b, err := to.to(filedTable)
	if err != nil {
		return err
	}
	b.i64(id)
	b.text(f.Source)
	b.i64(f.Period.StartMS)
	b.i64(f.Period.EndMS)
	b.text(f.Hash)
	b.text(string(data))
	return b.end()
}

func writeBillHour(to *bulks, id int64, h *bill.Hour) error {
	b, err := to.to(billHourTable)
	if err != nil {
		return err
	}
	b.i64(id)
	b.text(string(h.Instance))
	b.text(h.InstanceType)
	b.i64(h.StartMS)
	b.text(string(h.Currency))
	b.i64(int64(h.Effective))
	b.i64(int64(h.Beside))
	bulkOptional(b, (*int64)(h.List))
	putWire(b, h.Parts)
	b.i64(h.SpanMS)
	b.text(string(h.OfSet))
	putWire(b, h.Sources)
	putWire(b, h.Lines)
	return b.end()
}

func readBillHour(r *row) *bill.Hour {
	r.skip(1)
	h := &bill.Hour{Instance: bill.Instance(r.text()), InstanceType: r.text(), StartMS: r.i64(), Currency: money.Currency(r.text()),
		Effective: money.Nano(r.i64()), Beside: money.Nano(r.i64()), List: r.optNano()}
	h.Parts = slices.Clone(readWire[[]bill.PartCost](r))
	h.SpanMS, h.OfSet = r.i64(), bill.Instance(r.text())
	h.Sources = slices.Clone(readWire[[]string](r))
	if !r.null() { // of each hour its own: nothing to remember
		if err := json.Unmarshal(r.bytes(), &h.Lines); err != nil {
			r.memo.fail(fmt.Errorf("lines_json: %w", err))
		}
	}
	return h
}

// Filed are the imports in force, by source and period.
func (s *Store) Filed(ctx context.Context) (out []bill.Filed, err error) {
	var bad error
	err = s.ask(ctx, "SELECT filed_json FROM bill_filed ORDER BY source, start_ms", columnsOf("filed_json", text), func(r *row) {
		var f bill.Filed
		if err := json.Unmarshal(r.bytes(), &f); err != nil {
			bad = err
		}
		for i := range f.Totals { // the sum's wire form stands beside it
			if err := f.Totals[i].Effective.UnmarshalText([]byte(f.Totals[i].Amount)); err != nil {
				bad = err
			}
		}
		out = append(out, f)
	})
	if err == nil {
		err = bad
	}
	if err != nil {
		return nil, fmt.Errorf("list imports of bills: %w", err)
	}
	return out, nil
}

// BillHours walks the hours of all imports in force that begin in [from, to), by
// instance, time, currency and source, some instances at a time.
func (s *Store) BillHours(ctx context.Context, from, to time.Time) iter.Seq2[*bill.Hour, error] {
	return func(yield func(*bill.Hour, error) bool) {
		where := fmt.Sprintf("start_ms >= %d AND start_ms < %d", from.UnixMilli(), to.UnixMilli())
		err := s.byInstances(ctx, where, func(hours []*bill.Hour) bool {
			for _, h := range hours {
				if !yield(h, nil) {
					return false
				}
			}
			return true
		})
		if err != nil {
			yield(nil, fmt.Errorf("read hours of bills: %w", err))
		}
	}
}

// byInstances reads the hours of some instances at a time, until f says no.
func (s *Store) byInstances(ctx context.Context, where string, f func([]*bill.Hour) bool) error {
	type part struct{ from, to string }
	var parts []part
	rows := linesAtOnce
	query := "SELECT instance, count(*) FROM bill_hour WHERE " + where + " GROUP BY instance ORDER BY instance"
	err := s.ask(ctx, query, columnsOf("instance", text, "rows", bigint), func(r *row) {
		instance, n := r.text(), r.i64()
		if rows += n; rows > linesAtOnce {
			parts, rows = append(parts, part{instance, instance}), n
		}
		parts[len(parts)-1].to = instance
	})
	if err != nil {
		return err
	}
	for _, p := range parts {
		var hours []*bill.Hour
		query := fmt.Sprintf(`SELECT %s FROM bill_hour WHERE %s AND instance BETWEEN %s AND %s
			ORDER BY instance, start_ms, currency, (SELECT source FROM bill_filed WHERE id = filed), filed`,
			billHourTable.list(), where, literal(p.from), literal(p.to))
		if err := s.ask(ctx, query, billHourTable.columns, func(r *row) { hours = append(hours, readBillHour(r)) }); err != nil {
			return err
		}
		if !f(hours) {
			return nil
		}
	}
	return nil
}
