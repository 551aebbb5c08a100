// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"time"
)

// Compact writes the lines of a day of UTC again, those of each GPU together, by
// time. Nothing of them changes but where they lie: the timeline of one GPU or of one
// node is found in a fraction of the time then, and the rows take less room. It is
// for days that are over; lines that come later are read as well.
func (s *Store) Compact(ctx context.Context, day time.Time) error {
	s.books.keep.Lock()
	defer s.books.keep.Unlock()
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	first := hourOf(day.UTC().Truncate(24 * time.Hour).UnixMilli())
	hours := fmt.Sprintf("hour BETWEEN %d AND %d", first, first+23)
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		for _, query := range []string{
			"CREATE TEMP TABLE sorted AS SELECT * FROM ledger_line WHERE " + hours + " ORDER BY cluster, node, device, hour, sort",
			"DELETE FROM ledger_line WHERE " + hours,
			"INSERT INTO ledger_line SELECT * FROM sorted",
			"DROP TABLE sorted",
		} {
			if err := conn.exec(ctx, query); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compact %s: %w", day.UTC().Format(time.DateOnly), err)
	}
	return nil
}
