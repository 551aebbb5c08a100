// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/report"
)

// podRun is what a pod was in the hours from one to another.
type podRun struct {
	from, to int32
	pod      *report.PodDimensions
}

// Pods finds the dimensions of pods in the hours that begin in [from, to), as the
// last rating of each hour gave them. All of it is read here and kept in memory: a
// run of hours in which a pod stays as it was takes some hundred bytes.
func (s *Store) Pods(ctx context.Context, from, to time.Time) (report.Lookup, error) {
	runs, err := s.podRuns(ctx, hoursBetween(from, to))
	if err != nil {
		return nil, fmt.Errorf("read what pods were: %w", err)
	}
	return func(uid string, hourMS int64) (*report.PodDimensions, bool) {
		hour := hourOf(hourMS)
		of := runs[uid]
		i, ok := slices.BinarySearchFunc(of, hour, func(r podRun, hour int32) int {
			switch {
			case r.to < hour:
				return -1
			case r.from > hour:
				return 1
			}
			return 0
		})
		if !ok {
			return nil, false
		}
		return of[i].pod, true
	}, nil
}

// podRuns are the runs of hours in which each pod had lines and stayed the same.
func (s *Store) podRuns(ctx context.Context, where string) (map[string][]podRun, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	w := &walk{conn: conn, words: newWordReader(conn), store: s}
	out := map[string][]podRun{}
	numbers := map[string][]int64{}
	err = w.atOneMoment(ctx, func() error {
		// A run is hours one after another: their number less their place among the
		// pod's hours is the same.
		query := `SELECT pod_uid, pod, min(hour), max(hour) FROM (
				SELECT pod_uid, pod, hour, hour - row_number() OVER (PARTITION BY pod_uid, pod ORDER BY hour) AS run
				FROM (SELECT pod_uid, max(pod) AS pod, hour FROM ledger_line WHERE pod IS NOT NULL AND ` + where + ` GROUP BY pod_uid, hour))
			GROUP BY pod_uid, pod, run ORDER BY pod_uid, min(hour)`
		var ids []int64
		err := conn.rows(ctx, query, columnsOf("pod_uid", text, "pod", bigint, "first", integer, "last", integer), w.words.memo, func(r *row) {
			uid, id := r.text(), r.i64()
			out[uid] = append(out[uid], podRun{from: r.i32(), to: r.i32()})
			numbers[uid] = append(numbers[uid], id)
			ids = append(ids, id)
		})
		if err != nil {
			return err
		}
		return w.words.needPods(ctx, ids)
	})
	if err != nil {
		return nil, err
	}
	for uid, of := range out {
		for i := range of {
			of[i].pod = w.words.pods[numbers[uid][i]]
			if of[i].pod == nil {
				return nil, fmt.Errorf("what pod %s was, %d, is not in the journal", uid, numbers[uid][i])
			}
		}
	}
	return out, nil
}
