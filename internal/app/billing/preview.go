// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

// PreviewClose says what closing a month would freeze now, and fails as closing
// it would. Nothing is changed: what is booked until it is closed comes in.
func (s *Service) PreviewClose(ctx context.Context, r inquiry.CloseRequest) (inquiry.ClosePreview, error) {
	_, m, err := s.closable(ctx, r)
	if err != nil {
		return inquiry.ClosePreview{}, err
	}
	out := inquiry.ClosePreview{MonthState: *m}
	out.Lines = 0
	payers := map[ledger.Payer]bool{}
	for l, err := range s.store.Lines(ctx, ledger.Query{Booked: &r.Month}) {
		switch {
		case err != nil:
			return inquiry.ClosePreview{}, err
		case r.Scope.Has(l):
			out.Lines++
			payers[r.Level.PayerOf(l)] = true
		}
	}
	out.Statements = len(payers)
	return out, nil
}
