// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

var sortTable = table{name: "ledger_sort", columns: columnsOf(
	"id", integer, "cluster_set", text, "kind", text, "step", text, "resource", text, "entry_kind", text, "holder_kind", text,
	"account", text, "origin", text, "note", text, "policy", text, "mode", text, "currency", text, "price", text, "grade", text,
	"priced", boolean, "split", text,
)}

// lineSort is what only some hundred combinations exist of on lines.
type lineSort struct {
	set        string
	kind       ledger.Kind
	step       ledger.Step
	resource   allocation.Resource
	entryKind  allocation.Kind
	holderKind workload.Kind
	// account is that of a line that is no workload's, and hasAccount says so.
	account    string
	hasAccount bool
	from, note string
	policy     string
	mode       gpu.Mode
	currency   money.Currency
	price      pricing.Grade
	grade      gpu.Grade
	priced     bool // there is an amount
	// split is ledger.Line.Split: lines have it in their basis, sums here alone. It is
	// empty, too, on lines that an earlier program booked as differences between rules.
	split pricing.Rule
}

// sortOf is the sort of a line. The notes of drifts are their references, of which
// there is no end: they stand on the line.
func sortOf(l *ledger.Line) lineSort {
	s := lineSort{
		set: l.Set, kind: l.Kind, step: l.Step, resource: l.Resource, entryKind: l.EntryKind, holderKind: l.Holder.Kind,
		from: l.From, policy: l.Policy, mode: l.Mode, currency: l.Currency, price: l.Price, grade: l.Grade,
		priced: l.Amount != nil, split: l.Split(),
	}
	if !l.IsDrift() {
		s.note = l.Note
	}
	if l.Class() != ledger.Workload {
		s.account, s.hasAccount = l.Account, true
	}
	return s
}

// apply sets what the sort says of a line.
func (s *lineSort) apply(l *ledger.Line) {
	l.Set, l.Kind, l.Step, l.Resource, l.EntryKind, l.Holder.Kind = s.set, s.kind, s.step, s.resource, s.entryKind, s.holderKind
	l.Account, l.From, l.Note, l.Policy = s.account, s.from, s.note, s.policy
	l.Mode, l.Currency, l.Price, l.Grade = s.mode, s.currency, s.price, s.grade
}

// sorts are all sorts there are. Those of a transaction are added when it is
// committed: until then nobody else may see them.
type sorts struct {
	all     []lineSort // by id
	numbers map[lineSort]int32
}

func (s *sorts) number(of lineSort) (int32, bool) {
	n, ok := s.numbers[of]
	return n, ok
}

func (s *sorts) with(more []lineSort) *sorts {
	if len(more) == 0 {
		return s
	}
	out := &sorts{all: append(s.all[:len(s.all):len(s.all)], more...), numbers: make(map[lineSort]int32, len(s.all)+len(more))}
	for i, of := range out.all {
		out.numbers[of] = int32(i)
	}
	return out
}

// get is the sort of a number.
func (s *sorts) get(id int32) (*lineSort, error) {
	if id < 0 || int(id) >= len(s.all) {
		return nil, fmt.Errorf("the sort %d of a line is not in the journal", id)
	}
	return &s.all[id], nil
}

func writeSort(b *bulk, id int32, s *lineSort) error {
	b.i32(id)
	b.text(s.set)
	for _, v := range []string{string(s.kind), string(s.step), string(s.resource), string(s.entryKind), string(s.holderKind)} {
		b.text(v)
	}
	b.optText(s.account, s.hasAccount)
	for _, v := range []string{s.from, s.note, s.policy, string(s.mode), string(s.currency), string(s.price), string(s.grade)} {
		b.text(v)
	}
	b.boolean(s.priced)
	b.text(string(s.split))
	return b.end()
}

func readSort(r *row) (id int32, s lineSort) {
	id = r.i32()
	s = lineSort{set: r.text(), kind: ledger.Kind(r.text()), step: ledger.Step(r.text()), resource: allocation.Resource(r.text()),
		entryKind: allocation.Kind(r.text()), holderKind: workload.Kind(r.text())}
	if s.hasAccount = !r.null(); s.hasAccount {
		s.account = r.text()
	}
	s.from, s.note, s.policy, s.mode = r.text(), r.text(), r.text(), gpu.Mode(r.text())
	s.currency, s.price, s.grade = money.Currency(r.text()), pricing.Grade(r.text()), gpu.Grade(r.text())
	s.priced = r.boolean()
	s.split = pricing.Rule(r.text())
	return id, s
}

// readSorts reads all of them; ids count from 0.
func readSorts(ctx context.Context, conn *columnar) (*sorts, error) {
	out := &sorts{numbers: map[lineSort]int32{}}
	memo := newMemo()
	err := conn.rows(ctx, "SELECT "+sortTable.list()+" FROM ledger_sort ORDER BY id", sortTable.columns, memo, func(r *row) {
		id, s := readSort(r)
		if int(id) != len(out.all) {
			memo.fail(fmt.Errorf("sort %d follows %d others", id, len(out.all)))
			return
		}
		out.all = append(out.all, s)
		out.numbers[s] = id
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sortTable.name, err)
	}
	if len(out.all) > math.MaxInt32 {
		return nil, fmt.Errorf("%s has %d rows", sortTable.name, len(out.all))
	}
	return out, nil
}

// currencySQL is a line's currency as an expression of SQL.
func (s *sorts) currencySQL() string {
	var of strings.Builder
	for i := range s.all {
		fmt.Fprintf(&of, " WHEN %d THEN %s", i, literal(string(s.all[i].currency)))
	}
	if of.Len() == 0 {
		return "''"
	}
	return "CASE sort" + of.String() + " ELSE '' END"
}

// accountSQL is a line's account as an expression of SQL: see writeSort, putFacts
// and workload.Holder.Account.
func (s *sorts) accountSQL() string {
	var of strings.Builder
	for i := range s.all {
		a := &s.all[i]
		if !a.hasAccount && a.holderKind == workload.KindPod {
			continue
		}
		account := a.account
		if !a.hasAccount {
			account = workload.Holder{Kind: a.holderKind}.Account()
		}
		fmt.Fprintf(&of, " WHEN %d THEN %s", i, literal(account))
	}
	pod := "CASE pod_name WHEN '' THEN 'uid:' || pod_uid ELSE namespace || '/' || pod_name END"
	if of.Len() == 0 {
		return "coalesce(account, " + pod + ")"
	}
	return "coalesce(account, CASE sort" + of.String() + " ELSE " + pod + " END)"
}

// accountIn is the condition that a line's account is one of some, without making
// the account of each line.
func (s *sorts) accountIn(accounts []string) string {
	values := make([]string, len(accounts))
	for i, a := range accounts {
		values[i] = literal(a)
	}
	fixed := s.which(func(s *lineSort) bool { return s.hasAccount && slices.Contains(accounts, s.account) })
	return fmt.Sprintf("(CASE WHEN account IS NOT NULL THEN account IN (%s) WHEN %s THEN true WHEN %s THEN false ELSE %s END)",
		strings.Join(values, ", "), fixed, s.which(func(s *lineSort) bool { return s.hasAccount }), s.holderIn(accounts))
}

// holderIn is the condition that workload.Holder.Account of a line's holder is one of
// some.
func (s *sorts) holderIn(accounts []string) string {
	or := []string{s.which(func(s *lineSort) bool {
		return s.holderKind != workload.KindPod && slices.Contains(accounts, workload.Holder{Kind: s.holderKind}.Account())
	})}
	for _, a := range accounts {
		for i, c := range a {
			if c == '/' && i+1 < len(a) { // no name is empty
				or = append(or, fmt.Sprintf("namespace = %s AND pod_name = %s AND %s", literal(a[:i]), literal(a[i+1:]), s.ofPods()))
			}
		}
		if uid, ok := strings.CutPrefix(a, "uid:"); ok {
			or = append(or, fmt.Sprintf("pod_name = '' AND pod_uid = %s AND %s", literal(uid), s.ofPods()))
		}
	}
	return "(" + strings.Join(or, " OR ") + ")"
}

func (s *sorts) ofPods() string {
	return s.which(func(s *lineSort) bool { return s.holderKind == workload.KindPod })
}
