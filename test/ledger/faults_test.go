// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// corrected is a ledger with charges, adjustments, two closed months and corrections
// of the first: everything that can be broken.
func corrected(t *testing.T) *books {
	t.Helper()
	october := october(t)
	b, late := few(t, func(b *usage.Batch) bool {
		first, second := fewFrom.Add(8*time.Hour), fewFrom.Add(32*time.Hour)
		return b.Node == history.NodeRack && (during(b, first, first.Add(time.Hour)) || during(b, second, second.Add(time.Hour)))
	})
	_, err := b.service.CloseMonth(t.Context(), inquiry.CloseRequest{Scope: ledger.Scope{Currency: "USD"}, Month: october, Level: ledger.ByNamespace, By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Hour)
	b.deliver(late)
	b.rate()
	b.sound()
	b.now = time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC)
	if _, err := b.service.CloseMonth(t.Context(), inquiry.CloseRequest{Scope: ledger.Scope{Currency: "USD"}, Month: october + 1, Level: ledger.ByNamespace, By: "test"}); err != nil {
		t.Fatal(err)
	}
	b.sound()
	kinds := map[ledger.Kind]int{}
	for _, l := range b.lines(ledger.Query{}) {
		kinds[l.Kind]++
	}
	if kinds[ledger.Charge] == 0 || kinds[ledger.Adjustment] == 0 || kinds[ledger.Correction] == 0 {
		t.Fatalf("the books have %v", kinds)
	}
	return b
}

// fault is something done to the tables behind everyone's back.
type fault struct {
	// want is what ledger check finds.
	want ledger.Invariant
	do   func(t *testing.T, db *sql.DB)
}

// Lines that are changed: one is a line of November, the only one of its entry, with
// an amount and a GPU; two the second line of an entry; old a pod's line of October.
const (
	one = "id = (SELECT min(id) FROM ledger_line WHERE seq = 1 AND booking = 1 AND amount > 1000 AND NOT graded AND slot <> '' AND period = 24322 AND entry NOT IN (SELECT entry FROM ledger_line WHERE seq > 1))"
	two = "id = (SELECT min(id) FROM ledger_line WHERE seq = 2)"
	old = "id = (SELECT min(id) FROM ledger_line WHERE period = 24321 AND pod_uid <> '')"
	// oneHour is the node's hour of one.
	oneHour = "(hour, node) = (SELECT (hour, node) FROM ledger_line WHERE " + one + ")"
)

// run does statements.
func run(statements ...string) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) {
		t.Helper()
		for _, text := range statements {
			result, err := db.Exec(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if n, err := result.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(text, "CREATE") {
				t.Fatalf("%s: nothing was changed", text)
			}
		}
	}
}

// resort gives lines another sort: that of their own with columns changed.
func resort(which string, set string) func(*testing.T, *sql.DB) {
	return run(
		"CREATE TEMP TABLE was AS SELECT DISTINCT sort FROM ledger_line WHERE "+which,
		"CREATE TEMP TABLE other AS SELECT * FROM ledger_sort WHERE id IN (SELECT sort FROM was)",
		"CREATE TEMP TABLE numbered AS SELECT id AS before, (SELECT max(id) FROM ledger_sort) + row_number() OVER (ORDER BY id) AS after FROM other",
		"UPDATE other SET id = (SELECT after FROM numbered WHERE before = other.id)",
		"UPDATE other SET "+set,
		"INSERT INTO ledger_sort SELECT * FROM other",
		"UPDATE ledger_line SET sort = (SELECT after FROM numbered WHERE before = sort) WHERE "+which,
	)
}

// both does one and then the other.
func both(a, b func(*testing.T, *sql.DB)) func(*testing.T, *sql.DB) {
	return func(t *testing.T, db *sql.DB) { t.Helper(); a(t, db); b(t, db) }
}

// faults are one of every kind.
var faults = []fault{
	{ledger.IDTwice, run("INSERT INTO ledger_line SELECT * FROM ledger_line WHERE " + one)},
	{ledger.IDWrong, run("UPDATE ledger_line SET id = uuid() WHERE " + one)},
	{ledger.TimeWrong, run("UPDATE ledger_line SET start_ms = start_ms + 1 WHERE " + one)},
	{ledger.KindWrong, resort(one, "kind = 'adjustment'")},
	{ledger.PeriodWrong, run("UPDATE ledger_line SET period = period - 1 WHERE " + one)},
	{ledger.CurrencyMissing, run("UPDATE ledger_line SET amount = NULL WHERE " + one)},
	{ledger.GradesOff, run("UPDATE ledger_line SET graded = true, share0_ms = share_ms - 1, amount0 = amount, moved0 = 0 WHERE " + one)},
	{ledger.BookingMissing, run("UPDATE ledger_line SET booking = 3 WHERE booking = 2", "UPDATE ledger_rated SET booking = 3 WHERE booking = 2")},
	{ledger.ChainBroken, run("DELETE FROM ledger_line WHERE seq = 1 AND entry = (SELECT entry FROM ledger_line WHERE " + two + ")")},
	{ledger.AdjustsNothing, run("UPDATE ledger_line SET adjusts = uuid() WHERE " + two)},
	{ledger.StepWrong, resort(two, "step = 'book'")},
	{ledger.Negative, run("UPDATE ledger_line SET present_ms = -1 WHERE " + one)},
	{ledger.UsedBeyondShare, run("UPDATE ledger_line SET used_ms = share_ms + 1 WHERE " + one)},
	{ledger.CurrencyMixed, resort(one, "currency = 'EUR'")},
	{ledger.CostMissing, run("DELETE FROM ledger_cost WHERE " + oneHour)},
	{ledger.CostWrong, run("UPDATE ledger_cost SET total = total + 1 WHERE " + oneHour)},
	{ledger.HourUnrated, run("DELETE FROM ledger_line WHERE " + oneHour)},
	{ledger.SharesOff, run("UPDATE ledger_line SET share_ms = share_ms + 1 WHERE " + one)},
	{ledger.SlotOff, run("UPDATE ledger_line SET amount = amount + 1 WHERE " + one)},
	{ledger.NodeOff, slotTwice},
	{ledger.SumsOff, run("UPDATE ledger_hour SET amount = amount + 1 WHERE " + oneHour)},
	{ledger.PeriodGap, run("DELETE FROM ledger_closed WHERE month = 24321", "DELETE FROM ledger_statement WHERE month = 24321")},
	{ledger.PeriodChanged, run(`UPDATE ledger_closed SET closed_json = replace(closed_json, '"by":"test"', '"by":"nobody"') WHERE month = 24321`)},
	{ledger.StatementOff, run("UPDATE ledger_line SET pod_name = 'another' WHERE " + old)},
	{ledger.TrailBroken, run(`UPDATE ledger_event SET event_json = replace(event_json, '"by":"test"', '"by":"nobody"') WHERE seq = (SELECT max(seq) FROM ledger_event WHERE event_json LIKE '%"by":"test"%')`)},
}

// slotTwice charges a slot of a node once more, under the name of a slot that it
// does not have.
func slotTwice(t *testing.T, db *sql.DB) {
	t.Helper()
	rows, err := db.Query("SELECT replace(entry::VARCHAR, '-', '') FROM ledger_line WHERE slot = (SELECT slot FROM ledger_line WHERE " + one + ") AND " + oneHour)
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for rows.Next() {
		var e string
		if err := rows.Scan(&e); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(entries) == 0 {
		t.Fatalf("%d lines: %v", len(entries), err)
	}
	for _, e := range entries {
		other := lineID(e, 1000)
		run(fmt.Sprintf("INSERT INTO ledger_line SELECT * REPLACE ('%s'::UUID AS entry, '%s'::UUID AS id, 'nowhere' AS slot) FROM ledger_line WHERE entry = '%s'::UUID", other, lineID(other, 1), e))(t, db)
	}
}

// lineID is the id of the line at a place among an entry's lines: 128 bits of a
// hash over both (core/ledger).
func lineID(entry string, seq int) string {
	var b []byte
	for _, f := range []string{entry, strconv.Itoa(seq)} {
		b = append(strconv.AppendInt(b, int64(len(f)), 10), ':')
		b = append(b, f...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// plant does a fault to the database of a ledger that is closed.
func plant(t *testing.T, dir string, do func(*testing.T, *sql.DB)) {
	t.Helper()
	db, err := sql.Open("duckdb", filepath.Join(dir, "journal.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	do(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPlantedFaults: whatever is changed in the tables by hand, the check names it.
func TestPlantedFaults(t *testing.T) {
	b := corrected(t)
	b.close()
	var found []ledger.Invariant
	for _, f := range faults {
		t.Run(string(f.want), func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "ledger")
			if err := os.CopyFS(to, os.DirFS(b.dir)); err != nil {
				t.Fatal(err)
			}
			plant(t, to, f.do)
			broken := open(t, to, b.now)
			got := broken.check()
			if got.Violation == nil || got.Violation.Invariant != f.want {
				t.Fatalf("found %v, want %s", got.Violation, f.want)
			}
			found = append(found, f.want)
			t.Log(got.Violation)
		})
	}
	for _, i := range ledger.Invariants() {
		// TestBookedIntoClosed plants the one that is left out here.
		if !slices.Contains(found, i) && i != ledger.BookedClosed {
			t.Errorf("no fault of the kind %s was planted and found", i)
		}
	}
}

// TestBookedIntoClosed: a correction that is made to look as if it had been booked
// in the closed month is found as what it is, and not only by the statement that
// differs for it.
func TestBookedIntoClosed(t *testing.T) {
	b := corrected(t)
	b.close()
	const late = "period = 24322 AND hour < (SELECT min(hour) FROM ledger_line WHERE period = 24322 AND booking = 1)"
	plant(t, b.dir, both(resort(late, "kind = 'adjustment'"), run("UPDATE ledger_line SET period = 24321 WHERE "+late)))
	b.open()
	if got := b.check().Violation; got == nil || got.Invariant != ledger.BookedClosed {
		t.Errorf("found %v, want %s", got, ledger.BookedClosed)
	}
	closed, err := b.store.Closed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := ledger.Check(ledger.Journal{Lines: b.lines(ledger.Query{}), Closed: closed}); got == nil || got.Invariant != ledger.BookedClosed {
		t.Errorf("the whole journal: found %v, want %s", got, ledger.BookedClosed)
	}
}
