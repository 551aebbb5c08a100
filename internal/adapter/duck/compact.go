// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
)

var rolledTable = table{name: "ledger_rolled", columns: columnsOf("day", integer)}

// dayKeys are what lines of a day are told apart by, daySums what is added up.
var (
	dayKeys = columnsOf(
		"period", integer, "sort", integer, "cluster", text, "node", text, "slot", text, "device", text, "instance", uinteger, "since_ms", bigint,
		"model", text, "profile", text, "namespace", text, "pod_name", text, "pod_uid", text, "account", text, "note", text, "pod", bigint,
	)
	daySums = slices.Concat(columnsOf(
		"share_ms", bigint, "used_ms", bigint, "unused_ms", bigint, "byte_ms", hugeint, "present_ms", bigint, "granted_ms", bigint,
		"cpu_nanos", bigint, "cpu_request_milli_ms", bigint, "request_byte_ms", hugeint,
	), dayGrades())
	dayTable = table{name: "ledger_day", columns: slices.Concat(columnsOf("hour", integer), dayKeys,
		columnsOf("lines", bigint, "amount", bigint, "whole", bigint, "moved", bigint, "whole_moved", bigint), daySums)}
)

var dayHourTable = table{name: "ledger_day_hour", columns: columnsOf(
	"hour", integer, "currency", text, "cost", hugeint, "amount", hugeint, "apart", hugeint, "lines", bigint, "lines_apart", bigint, "pieces", bigint,
	"odd", bigint, "odd_apart", bigint,
)}

func dayGrades() (out []column) {
	for i := range gpu.Grades() {
		out = append(out, columnsOf(fmt.Sprintf("amount%d", i), bigint, fmt.Sprintf("moved%d", i), bigint)...)
	}
	return out
}

const dayHours = 24

func dayOf(t time.Time) int32 { return hourOf(t.UnixMilli()) / dayHours }

// Compactable lists the days of UTC before a time that have lines and were never
// compacted, or to which lines came since, oldest first.
func (s *Store) Compactable(ctx context.Context, before time.Time) (out []time.Time, err error) {
	query := fmt.Sprintf(`SELECT DISTINCT hour // %d AS day FROM ledger_line WHERE hour < %d
		AND hour // %[1]d NOT IN (SELECT day FROM ledger_rolled) ORDER BY day`, dayHours, dayOf(before)*dayHours)
	err = s.ask(ctx, query, columnsOf("day", integer), func(r *row) { out = append(out, hourTime(r.i32()*dayHours)) })
	if err != nil {
		return nil, fmt.Errorf("list days to compact: %w", err)
	}
	return out, nil
}

// Compact makes a day of UTC fast to read: it writes the day's lines again, those of
// each GPU together and by time, and adds up those that differ in their hours alone
// (ledger_day). Nothing of a line changes but where it lies, and lines that come
// later are read as well.
//
// Nothing is booked meanwhile. Batches are appended: the tables are others, so the
// database is not held for writing, and only becoming durable waits.
func (s *Store) Compact(ctx context.Context, day time.Time) error {
	number := dayOf(day)
	if err := s.compact(ctx, number); err != nil {
		return fmt.Errorf("compact %s: %w", hourTime(number*dayHours).Format(time.DateOnly), err)
	}
	return nil
}

func (s *Store) compact(ctx context.Context, day int32) error {
	s.books.keep.Lock()
	defer s.books.keep.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	lines := hoursOfDay(day)
	err = conn.exec(ctx, "CREATE TEMP TABLE sorted AS SELECT * FROM ledger_line WHERE "+lines+" ORDER BY cluster, node, device, hour, sort")
	if err != nil {
		return s.judge(err)
	}
	err = conn.run(context.WithoutCancel(ctx), append(append([]string{
		"BEGIN TRANSACTION",
		"DELETE FROM ledger_line WHERE " + lines,
		"INSERT INTO ledger_line SELECT * FROM sorted",
	}, rolling(day)...), "COMMIT", "DROP TABLE sorted")...)
	s.write.Lock()
	defer s.write.Unlock()
	if err != nil {
		// A rollback fails where the commit ended the transaction already.
		_ = conn.exec(context.WithoutCancel(ctx), "ROLLBACK")
		return s.recoverLedger(context.WithoutCancel(ctx), err) // it may yet have been committed
	}
	s.books.rolled[day] = true
	return nil
}

func hoursOfDay(day int32) string {
	return fmt.Sprintf("hour BETWEEN %d AND %d", day*dayHours, day*dayHours+dayHours-1)
}

func (c *columnar) run(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if err := c.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// daySQL adds up lines of a day, as ledger_day has them.
func daySQL(day int32, lines string) string {
	keys := make([]string, len(dayKeys))
	for i, c := range dayKeys {
		keys[i] = c.name
	}
	columns := []string{fmt.Sprint(day * dayHours), strings.Join(keys, ", "), "count(*)",
		"sum(amount)", "sum(amount) FILTER (NOT graded)", "sum(moved)", "sum(moved) FILTER (NOT graded)"}
	for _, c := range daySums {
		columns = append(columns, "sum("+c.name+")")
	}
	return fmt.Sprintf("SELECT %s FROM %s GROUP BY %s", strings.Join(columns, ", "), lines, strings.Join(keys, ", "))
}

// dayHoursSQL adds up what is kept of a day's hours, as ledger_day_hour has it.
func dayHoursSQL(day int32) string {
	return fmt.Sprintf(`SELECT %d, currency, sum(cost), sum(amount), sum(apart), sum(lines), sum(lines_apart), sum(pieces),
		count(*) FILTER (amount <> cost), count(*) FILTER (apart <> cost) FROM ledger_hour WHERE %s GROUP BY currency`, day*dayHours, hoursOfDay(day))
}

// rolling adds the lines of a day up. Sums that do not fit their columns are an
// error, and the day's lines are read one by one then.
func rolling(day int32) []string {
	return []string{
		fmt.Sprintf("DELETE FROM ledger_day WHERE hour = %d", day*dayHours),
		fmt.Sprintf("DELETE FROM ledger_day_hour WHERE hour = %d", day*dayHours),
		"INSERT INTO ledger_day_hour " + dayHoursSQL(day),
		fmt.Sprintf("DELETE FROM ledger_rolled WHERE day = %d", day),
		"INSERT INTO ledger_day " + daySQL(day, "sorted") + " ORDER BY cluster, node, device, sort",
		fmt.Sprintf("INSERT INTO ledger_rolled VALUES (%d)", day),
	}
}

// unroll takes days to which lines come from those whose sums count, in the
// transaction of the lines. settle, called when that is committed, remembers it.
func (s *Store) unroll(ctx context.Context, conn *columnar, days map[int32]bool) (settle func(), err error) {
	var of []int32
	for day := range days {
		if s.books.rolled[day] {
			of = append(of, day)
		}
	}
	for _, day := range of {
		if err := conn.exec(ctx, fmt.Sprintf("DELETE FROM ledger_rolled WHERE day = %d", day)); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, day := range of {
			delete(s.books.rolled, day)
		}
	}, nil
}

func readRolled(ctx context.Context, conn *columnar) (map[int32]bool, error) {
	out := map[int32]bool{}
	err := conn.rows(ctx, "SELECT day FROM ledger_rolled", rolledTable.columns, newMemo(), func(r *row) { out[r.i32()] = true })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rolledTable.name, err)
	}
	return out, nil
}
