// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// ledgerStore is the store as billing needs it.
type ledgerStore struct{ *duck.Store }

// Report adds up line by line, as core does.
func (s ledgerStore) Report(ctx context.Context, spec report.Spec) (report.Report, error) {
	q := ledger.Query{FromMS: spec.FromMS, ToMS: spec.ToMS}
	if spec.Month != 0 {
		q = ledger.Query{FromMS: spec.Month.StartMS(), ToMS: spec.Month.EndMS()}
	}
	from, to := time.UnixMilli(q.FromMS).UTC(), time.UnixMilli(q.ToMS).UTC()
	pods, err := s.Pods(ctx, from, to)
	if err != nil {
		return report.Report{}, err
	}
	return report.Run(spec, report.Input{Lines: s.Lines(ctx, q), Costs: s.Costs(ctx, from, to), Pods: pods})
}
