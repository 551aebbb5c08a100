// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gputally/gputally/internal/core/inquiry"
)

// KeepDecision keeps what was said to a recommendation, in the place of what was said
// to it before.
func (s *Store) KeepDecision(ctx context.Context, d inquiry.Decision) error {
	done, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	err = s.change(ctx, func(ctx context.Context, conn *columnar) error {
		return conn.run(ctx, "DELETE FROM advice_decision WHERE id = "+literal(d.ID),
			fmt.Sprintf("INSERT INTO advice_decision VALUES (%s, %d, %s)", literal(d.ID), d.AtMS, literal(string(data))))
	})
	if err != nil {
		return fmt.Errorf("keep what was said to %s: %w", d.ID, err)
	}
	return nil
}

// Decisions are all that was said, the newest first.
func (s *Store) Decisions(ctx context.Context) (out []inquiry.Decision, err error) {
	err = s.read(ctx, "SELECT decision_json FROM advice_decision ORDER BY at_ms DESC, id", columnsOf("decision_json", text), func(r *row) error {
		var d inquiry.Decision
		if err := json.Unmarshal(r.bytes(), &d); err != nil {
			return fmt.Errorf("decision_json: %w", err)
		}
		out = append(out, d)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what was said to advice: %w", err)
	}
	return out, nil
}
