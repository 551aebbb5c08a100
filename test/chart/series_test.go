// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// samples are series with a value each minute, for Prometheus's engine to ask.
type samples struct {
	series []promql.Series
	end    time.Time
}

// begin is when series begin. It is no round time, so that time() is not either.
var begin = time.Date(2026, 11, 3, 10, 7, 13, 0, time.UTC)

// parseSeries reads series as promtool's unit tests write them: 'up{job="a"} 1+0x10'.
func parseSeries(t *testing.T, lines []string) *samples {
	t.Helper()
	s := &samples{end: begin}
	for _, line := range lines {
		metric, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		one := promql.Series{Metric: metric}
		for i, v := range values {
			at := begin.Add(time.Duration(i) * time.Minute)
			if !v.Omitted {
				one.Floats = append(one.Floats, promql.FPoint{T: at.UnixMilli(), F: v.Value})
			}
			if at.After(s.end) {
				s.end = at
			}
		}
		s.series = append(s.series, one)
	}
	return s
}

// Querier asks all of it.
func (s *samples) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, want ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, one := range s.series {
			if matches(one.Metric, want) {
				found = append(found, promql.NewStorageSeries(one))
			}
		}
		return &seriesSet{SeriesSet: storage.EmptySeriesSet(), found: found}
	}}, nil
}

func matches(metric labels.Labels, want []*labels.Matcher) bool {
	for _, m := range want {
		if !m.Matches(metric.Get(m.Name)) {
			return false
		}
	}
	return true
}

// query evaluates an expression at the end of the series.
func (s *samples) query(t *testing.T, expr string) promql.Vector {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true})
	q, err := engine.NewInstantQuery(context.Background(), s, nil, expr, s.end)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	v, err := q.Exec(context.Background()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// seriesSet iterates over series.
type seriesSet struct {
	storage.SeriesSet // an empty one: it has no errors and no warnings
	found             []storage.Series
	at                int
}

func (s *seriesSet) Next() bool         { s.at++; return s.at <= len(s.found) }
func (s *seriesSet) At() storage.Series { return s.found[s.at-1] }
