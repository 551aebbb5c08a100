// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
)

func sortedSums(of map[ledger.Month]map[ledger.Scope]*ledger.MonthSum) (out []ledger.MonthSum) {
	for _, scopes := range of {
		for _, sum := range scopes {
			out = append(out, *sum)
		}
	}
	slices.SortFunc(out, func(a, b ledger.MonthSum) int {
		return cmp.Or(strings.Compare(a.Set, b.Set), strings.Compare(string(a.Currency), string(b.Currency)), cmp.Compare(a.Month, b.Month))
	})
	return out
}

// which is the condition of lines whose sort meets one.
func (s *sorts) which(wanted func(*lineSort) bool) string {
	var ids []string
	for i := range s.all {
		if wanted(&s.all[i]) {
			ids = append(ids, fmt.Sprint(i))
		}
	}
	if len(ids) == 0 {
		return "false"
	}
	return "sort IN (" + strings.Join(ids, ", ") + ")"
}

// payerLines are the lines of some payers, one after another, or some hours of one.
type payerLines struct {
	class      int // its place among ledger.Classes
	namespaces []string
	first      string // accounts
	last       string
	hours      string // "" for all
}

// statementLines walks the lines of a month as Close and Verify take them, in the
// order of level.Compare, some payers at a time.
func (s *Store) statementLines(ctx context.Context, scope ledger.Scope, m ledger.Month, level ledger.Level) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		if err := s.walkStatements(ctx, scope, m, level, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (s *Store) walkStatements(ctx context.Context, scope ledger.Scope, m ledger.Month, level ledger.Level, yield func(*ledger.Line, error) bool) error {
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	known := s.sorts()
	p := &payers{
		walk: &walk{conn: conn, words: newWordReader(conn), store: s}, known: known, level: level,
		where: fmt.Sprintf("period = %d AND %s", m, known.which(func(s *lineSort) bool {
			return s.set == scope.Set && (s.currency == "" || s.currency == scope.Currency)
		})),
	}
	parts, err := p.parts(ctx)
	if err != nil {
		return err
	}
	for _, part := range parts {
		lines, err := p.walk.lines(ctx, p.condition(&part))
		if err != nil {
			return err
		}
		slices.SortFunc(lines, level.Compare)
		for _, l := range lines {
			if !yield(l, nil) {
				return nil
			}
		}
	}
	return nil
}

// payers finds out in which parts a month's lines are read.
type payers struct {
	walk  *walk
	known *sorts
	level ledger.Level
	where string
}

// classOf is the class of lines of a sort, as its place among ledger.Classes.
func classOf(s *lineSort) int {
	l := ledger.Line{Facts: ledger.Facts{EntryKind: s.entryKind}}
	l.Holder.Kind = s.holderKind
	return slices.Index(ledger.Classes(), l.Class())
}

// accountSQL is whose statement a line stands on: see ledger.Level.PayerOf.
func (p *payers) accountSQL() string {
	account := p.known.accountSQL()
	if p.level != ledger.ByNamespace {
		return account
	}
	workloads := p.known.which(func(s *lineSort) bool { return ledger.Classes()[classOf(s)] == ledger.Workload })
	return fmt.Sprintf("CASE WHEN %s AND namespace <> '' THEN namespace ELSE %s END", workloads, account)
}

func (p *payers) classSQL() string {
	var of strings.Builder
	for i := range p.known.all {
		fmt.Fprintf(&of, " WHEN %d THEN %d", i, classOf(&p.known.all[i]))
	}
	if of.Len() == 0 {
		return "-1"
	}
	return "CASE sort" + of.String() + " ELSE -1 END"
}

// condition is that of a part's lines. Whole columns come first: texts that have to
// be put together are compared in few rows then.
func (p *payers) condition(part *payerLines) string {
	and := []string{p.where, p.known.which(func(s *lineSort) bool { return classOf(s) == part.class })}
	if part.namespaces != nil {
		var names []string
		for _, n := range part.namespaces {
			names = append(names, literal(n))
		}
		and = append(and, "namespace IN ("+strings.Join(names, ", ")+")")
	}
	and = append(and, fmt.Sprintf("(%s) BETWEEN %s AND %s", p.accountSQL(), literal(part.first), literal(part.last)))
	if part.hours != "" {
		and = append(and, part.hours)
	}
	return strings.Join(and, " AND ")
}

// parts cuts the month's lines, by payer in their order, into parts of about
// linesAtOnce. A payer with more than that is cut by hours.
func (p *payers) parts(ctx context.Context) (out []payerLines, err error) {
	var large []int // in out
	rows := linesAtOnce
	query := fmt.Sprintf("SELECT %s AS class, %s AS payer, namespace, count(*) FROM ledger_line WHERE %s GROUP BY ALL ORDER BY class, payer, namespace",
		p.classSQL(), p.accountSQL(), p.where)
	want := columnsOf("class", integer, "payer", text, "namespace", text, "rows", bigint)
	err = p.walk.conn.rows(ctx, query, want, p.walk.words.memo, func(r *row) {
		class, account, namespace, n := int(r.i32()), r.text(), r.text(), r.i64()
		if k := len(out) - 1; k < 0 || out[k].class != class || rows+n > linesAtOnce && out[k].last != account {
			out, rows = append(out, payerLines{class: class, first: account}), 0
		}
		k := len(out) - 1
		out[k].last, rows = account, rows+n
		if !slices.Contains(out[k].namespaces, namespace) {
			out[k].namespaces = append(out[k].namespaces, namespace)
		}
		if rows > linesAtOnce && (len(large) == 0 || large[len(large)-1] != k) {
			large = append(large, k)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Backward(large) {
		cut, err := p.cut(ctx, out[k])
		if err != nil {
			return nil, err
		}
		out = slices.Replace(out, k, k+1, cut...)
	}
	return out, nil
}

// cut cuts the lines of one payer by hours, in which they follow one another.
func (p *payers) cut(ctx context.Context, part payerLines) (out []payerLines, err error) {
	if part.first != part.last {
		return nil, errors.New("a part of a month's lines has too many payers")
	}
	rows, from, to := int64(0), int32(0), int32(0)
	end := func() {
		if rows > 0 {
			next := part
			next.hours = fmt.Sprintf("hour BETWEEN %d AND %d", from, to)
			out = append(out, next)
		}
	}
	query := fmt.Sprintf("SELECT hour, count(*) FROM ledger_line WHERE %s GROUP BY hour ORDER BY hour", p.condition(&part))
	err = p.walk.conn.rows(ctx, query, columnsOf("hour", integer, "rows", bigint), p.walk.words.memo, func(r *row) {
		hour, n := r.i32(), r.i64()
		if rows+n > linesAtOnce {
			end()
			rows, from = 0, hour
		}
		if rows == 0 {
			from = hour
		}
		rows, to = rows+n, hour
	})
	end()
	return out, err
}
