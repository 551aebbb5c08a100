// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LedgerTotals are over everything in a ledger. Restore compares them.
type LedgerTotals struct {
	Lines int64 `json:"lines"`
	// Amount is the sum of all lines in billionths, whatever their currencies: it is
	// good for nothing but to be compared.
	Amount    string `json:"amount"`
	Hours     int64  `json:"rated_hours"`
	Costs     int64  `json:"costs"`
	Closed    int64  `json:"closed_months"`
	Events    int64  `json:"events"`
	BillHours int64  `json:"bill_hours"`
	Texts     int64  `json:"texts"`
}

func (s *Store) ledgerTotals(ctx context.Context) (t LedgerTotals, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM ledger_line), (SELECT coalesce(sum(amount), 0)::VARCHAR FROM ledger_line),
		(SELECT count(*) FROM ledger_rated), (SELECT count(*) FROM ledger_cost), (SELECT count(*) FROM ledger_closed),
		(SELECT count(*) FROM ledger_event), (SELECT count(*) FROM bill_hour), (SELECT count(*) FROM ledger_text)`).
		Scan(&t.Lines, &t.Amount, &t.Hours, &t.Costs, &t.Closed, &t.Events, &t.BillHours, &t.Texts)
	if err != nil {
		return t, fmt.Errorf("sum the ledger: %w", err)
	}
	return t, nil
}

// statementFiles are the files of closed months by their names, as a schema of the
// connection ("copy." or "") has them.
func statementFiles(ctx context.Context, conn *sql.Conn, schema string) (map[string]int64, error) {
	rows, err := conn.QueryContext(ctx, `SELECT file, bytes FROM `+schema+`ledger_closed`)
	if err != nil {
		return nil, fmt.Errorf("list statements: %w", err)
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var name string
		var size int64
		if err := rows.Scan(&name, &size); err != nil {
			return nil, fmt.Errorf("list statements: %w", err)
		}
		out[name] = size
	}
	return out, rows.Err()
}

// tidyStatements brings the files of closed months in line with what the ledger
// names: unfinished ones are removed, others that nothing names set aside.
func (s *Store) tidyStatements(ctx context.Context) (problems []Problem, err error) {
	named, err := statementFiles(ctx, s.conn, "")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, statementsDir)
	for name, size := range named {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && info.Size() != size {
			err = fmt.Errorf("it has %d bytes, it was written with %d", info.Size(), size)
		}
		if err != nil {
			problems = append(problems, Problem{Kind: MissingFiles, File: path, Detail: err.Error(),
				Hint: "the statements of a closed month cannot be read until the file is put back, from a backup for example; the lines are there"})
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return problems, err
	}
	for _, path := range paths {
		_, counts := named[filepath.Base(path)]
		switch {
		case counts || strings.HasSuffix(path, asideSuffix):
		case strings.HasSuffix(path, writingSuffix):
			if err := os.Remove(path); err != nil {
				return problems, fmt.Errorf("remove unfinished statements: %w", err)
			}
		default:
			if err := os.Rename(path, path+asideSuffix); err != nil {
				return problems, fmt.Errorf("set statements aside: %w", err)
			}
			problems = append(problems, Problem{Kind: LeftoverFiles, File: path + asideSuffix, Detail: "the ledger has no closed month with these statements: closing it was interrupted, or they are newer than a restored backup",
				Hint: "nothing is lost: the month is open; delete the file, or keep it until the month is closed again"})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.File, b.File) })
	return problems, nil
}
