// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/report"
)

// where is the condition of the lines that are in the total.
func (q *reportQuery) where(ctx context.Context) (string, error) {
	and := []string{q.sorts.which(func(s *lineSort) bool { return q.Takes(s.entryKind, s.kind) })}
	if q.Spec.Booked {
		and = append(and, fmt.Sprintf("period = %d", q.Spec.Month))
	} else {
		and = append(and, q.chargedSQL())
	}
	for i := range q.Spec.Where {
		f, err := q.filter(ctx, &q.Spec.Where[i])
		if err != nil {
			return "", err
		}
		and = append(and, f)
	}
	return strings.Join(and, " AND "), nil
}

// filter is a filter as a condition. Each value of a dimension is what
// core/report makes of a line; a contract test holds them against each other.
func (q *reportQuery) filter(ctx context.Context, f *report.Filter) (string, error) {
	takes := func(value string) bool { return slices.Contains(f.In, value) != f.Not }
	if of := sortValue(f.By); of != nil {
		return q.sorts.which(func(s *lineSort) bool { return takes(of(s)) }), nil
	}
	switch f.By {
	case report.Cluster:
		return among2("cluster", f), nil
	case report.Node:
		return among2("node", f), nil
	case report.Slot:
		return among2("slot", f), nil
	case report.GPU:
		return among2("device", f), nil
	case report.Profile:
		return among2("profile", f), nil
	case report.Partition:
		text := fmt.Sprintf("CASE WHEN device = '' THEN '' WHEN instance = %d THEN device ELSE device || '/gi' || instance || '@' || since_ms END", uint32(gpu.WholeDevice))
		return among2(text, f), nil
	case report.Model:
		return among2("CASE WHEN model = '' AND device <> '' THEN "+literal(report.Unknown)+" ELSE model END", f), nil
	case report.Mode:
		return q.byMode(takes), nil
	case report.Note:
		return q.byNote(f, takes), nil
	case report.Account:
		return not(q.sorts.accountIn(f.In), f.Not), nil
	}
	inside, err := q.ofPods(ctx, f)
	if err != nil {
		return "", err
	}
	workload := func(s *lineSort) bool { return ledger.Classes()[classOf(s)] == ledger.Workload }
	out := q.sorts.which(workload) + " AND " + inside
	if takes("") {
		out += " OR " + q.sorts.which(func(s *lineSort) bool { return !workload(s) })
	}
	return "(" + out + ")", nil
}

// among2 is the condition that an expression is among the values of a filter, or is
// not.
func among2(expression string, f *report.Filter) string {
	values := make([]string, len(f.In))
	for i, v := range f.In {
		values[i] = literal(v)
	}
	not := ""
	if f.Not {
		not = "NOT "
	}
	return "(" + expression + ") " + not + "IN (" + strings.Join(values, ", ") + ")"
}

func not(condition string, not bool) string {
	if not {
		return "NOT " + condition
	}
	return condition
}

// sortValue is the value of a dimension that the sort of a line tells, nil where it
// does not.
func sortValue(d report.Dimension) func(*lineSort) string {
	switch d {
	case report.Set:
		return func(s *lineSort) string { return s.set }
	case report.Resource:
		return func(s *lineSort) string { return string(s.resource) }
	case report.Price:
		return func(s *lineSort) string { return string(s.price) }
	case report.Split:
		return func(s *lineSort) string {
			if s.split == "" && s.currency != "" && s.entryKind != "" {
				return report.Unknown
			}
			return string(s.split)
		}
	case report.Policy:
		return func(s *lineSort) string { return s.policy }
	case report.Kind:
		return func(s *lineSort) string { return string(s.kind) }
	case report.EntryKind:
		return func(s *lineSort) string { return string(s.entryKind) }
	case report.From:
		return func(s *lineSort) string { return s.from }
	case report.Class:
		return func(s *lineSort) string { return string(ledger.Classes()[classOf(s)]) }
	}
	return nil
}

// byMode: a line of a device whose mode nobody knows is unknown.
func (q *reportQuery) byMode(takes func(string) bool) string {
	known := q.sorts.which(func(s *lineSort) bool { return s.mode != "" && takes(string(s.mode)) })
	unknown := q.sorts.which(func(s *lineSort) bool { return s.mode == "" })
	out := known
	if takes(report.Unknown) {
		out += " OR " + unknown + " AND device <> ''"
	}
	if takes("") {
		out += " OR " + unknown + " AND device = ''"
	}
	return "(" + out + ")"
}

// byNote: notes stand on the line where they are not that of the sort.
func (q *reportQuery) byNote(f *report.Filter, takes func(string) bool) string {
	return "(CASE WHEN note IS NOT NULL THEN " + among2("note", f) + " ELSE " + q.sorts.which(func(s *lineSort) bool { return takes(s.note) }) + " END)"
}

// ofPods is a filter by what only workloads have.
func (q *reportQuery) ofPods(ctx context.Context, f *report.Filter) (string, error) {
	switch f.By {
	case report.Namespace:
		return among2("CASE namespace WHEN '' THEN "+literal(report.Unknown)+" ELSE namespace END", f), nil
	case report.Pod:
		return not(q.sorts.holderIn(f.In), f.Not), nil
	}
	takes := func(p *report.PodDimensions) bool { return slices.Contains(f.In, f.By.OfPod(p)) != f.Not }
	var ids []string
	err := q.walk.store.eachPod(ctx, q.walk.conn, "true", func(id int64, p *report.PodDimensions) {
		if takes(p) {
			ids = append(ids, fmt.Sprint(id))
		}
	})
	if err != nil {
		return "", err
	}
	out := "false"
	if len(ids) > 0 {
		out = "pod IN (" + strings.Join(ids, ", ") + ")"
	}
	if takes(nil) {
		out += " OR pod IS NULL"
	}
	return "(" + out + ")", nil
}
