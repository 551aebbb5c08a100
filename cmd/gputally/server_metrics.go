// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/adapter/ledgermetrics"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// costsEvery is how often costs are looked up for /metrics.
const costsEvery = time.Minute

// metrics serves /metrics. What needs the store is looked up once a minute,
// whatever the number of scrapers.
type metrics struct {
	server *ledgerServer

	mu     sync.Mutex
	next   time.Time
	status inquiry.Status
	costs  []ledgermetrics.Cost
}

func (s *ledgerServer) metrics() (http.Handler, error) {
	m := &metrics{server: s}
	return ledgermetrics.Handler(m.state)
}

func (m *metrics) state() ledgermetrics.State {
	s := m.server
	in, k, r := s.ingest.Status(), s.keeper.Status(), s.rater.Status()
	out := ledgermetrics.State{
		Version: versionText(), Deliveries: in.Deliveries, Batches: in.Batches, Duplicates: in.Duplicates, Busy: in.Busy, WriteErrors: in.WriteErrors,
		Refused: in.Refused, Checkpoints: in.Checkpoints, CheckpointErrors: in.CheckpointErrors, QueuedRows: in.QueuedRows, LastWrite: in.LastWrite,
		SealedHours: k.Sealed, DroppedBatches: k.Dropped, KeeperErrors: k.Errors,
		FailedHours: len(r.Failed), RatedHours: r.Hours, BookedLines: r.Lines, RateError: r.Errors, LastRound: r.LastRound,
	}
	act := s.record.Status()
	out.ActivityHours, out.ActivityErrors = act.Hours, act.Errors
	out.Classes, out.Advice = adviceNow(s.adviser.Summary())
	m.lookUp(r.LastHour)
	m.mu.Lock()
	defer m.mu.Unlock()
	st := &m.status
	out.Nodes, out.Silent, out.DueHours, out.StoreBytes = st.Records.Nodes, st.Records.SilentNodes, st.Rating.DueHours, st.StoreBytes
	if st.Records.LastMS != 0 {
		out.LastRecord = time.UnixMilli(st.Records.LastMS)
	}
	if st.Rating.OldestDue != nil {
		out.OldestDue = time.UnixMilli(st.Rating.OldestDue.HourMS)
	}
	out.Costs = m.costs
	return out
}

// lookUp asks the store, unless it was asked a moment ago.
func (m *metrics) lookUp(lastHour time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if now.Before(m.next) {
		return
	}
	m.next = now.Add(costsEvery)
	ctx, stop := context.WithTimeout(context.Background(), costsEvery/2)
	defer stop()
	status, err := m.server.service.Status(ctx)
	if err == nil {
		m.status = status
		m.costs, err = costsNow(ctx, m.server.service, now, lastHour)
	}
	if err != nil {
		m.server.log.LogAttrs(ctx, slog.LevelWarn, "costs for /metrics could not be looked up", slog.Any("error", err))
	}
}

// costsNow is what the month so far and the last rated hour cost.
func costsNow(ctx context.Context, s *billing.Service, now, lastHour time.Time) ([]ledgermetrics.Cost, error) {
	out, err := costsOf(ctx, s, report.Spec{Month: ledger.MonthOf(now.UnixMilli())}, false)
	if err != nil || lastHour.IsZero() {
		return out, err
	}
	hour, err := costsOf(ctx, s, report.Spec{FromMS: lastHour.UnixMilli(), ToMS: lastHour.Add(time.Hour).UnixMilli()}, true)
	return append(out, hour...), err
}

func costsOf(ctx context.Context, s *billing.Service, spec report.Spec, lastHour bool) (out []ledgermetrics.Cost, err error) {
	spec.By = []report.Dimension{report.Cluster, report.Namespace, report.Resource}
	rep, err := s.Report(ctx, spec)
	if err != nil {
		return nil, err
	}
	for _, section := range rep.Sections {
		for i := range section.Rows {
			row := &section.Rows[i]
			c := ledgermetrics.Cost{
				LastHour: lastHour, Cluster: row.Keys[0], Class: string(row.Class), Account: row.Account, Resource: row.Keys[2],
				Currency: string(section.Currency), GPUHours: report.Hours(row.GPUMS), AllocatedGPUHours: report.Hours(row.AllocatedMS),
				UnusedGPUHours: report.Hours(row.UnusedMS), UnpricedGPUHours: report.Hours(row.Unpriced.GPUMS), HeldMemoryGiBHours: report.GiBHours(row.HeldByteMS),
			}
			if row.Class == "" {
				c.Class, c.Account = string(ledger.Workload), row.Keys[1]
			}
			if row.Cost != nil {
				c.Priced, c.Amount = true, row.Cost.Total.Float()
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// adviceNow is what was last worked out of advice.
func adviceNow(s advising.Summary) (classes []ledgermetrics.Class, counts []ledgermetrics.Advice) {
	for _, c := range s.Classes {
		classes = append(classes, ledgermetrics.Class{Cluster: c.Cluster, Namespace: c.Namespace, Class: string(c.Class), Hours: report.Hours(c.MS)})
	}
	for _, c := range s.Counts {
		counts = append(counts, ledgermetrics.Advice{Cluster: c.Cluster, Namespace: c.Namespace, Kind: string(c.Kind), State: string(c.State), Count: c.Count,
			Currency: c.Currency, Cash: c.Cash.Float(), Freed: c.Freed.Float()})
	}
	return classes, counts
}
