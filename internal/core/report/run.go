// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"iter"
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Input is what a report is made from.
type Input struct {
	// Lines are the ledger's, in any order. Lines of other times may be among
	// them. For a booked month they are those booked in it and those that charge
	// for it, else those that charge for the hours. A line is not kept beyond
	// its turn.
	Lines iter.Seq2[*ledger.Line, error]
	// Costs are what the nodes cost in these hours, in any order. Nil: nobody
	// knows, and the total stands alone.
	Costs iter.Seq2[*pricing.NodeCost, error]
	// Pods finds workloads and labels of pods; nil where they are not known.
	Pods Lookup
}

// Report is the answer.
type Report struct {
	Spec Spec
	// Sections are one for each currency, in order of their codes. What has no
	// price stands in the section of the only currency, or, where there are
	// several or none, in a first one without a currency.
	Sections []Section
}

// Section is the rows of one currency.
type Section struct {
	Currency money.Currency
	Rows     []Row
	// Total is the sum of the rows.
	Total   Columns
	Balance Balance
}

// Row is one combination of values.
type Row struct {
	// Keys are the values of Spec.By, in its order. A value is empty where the
	// dimension is of workloads alone and the row is not of one.
	Keys []string
	// Class and Account say of a row that is not of workloads what it is of: an
	// owner that the policy names, a platform account, reconciliation. They are
	// set where Spec.By has a dimension that such a row has no value of.
	Class   ledger.Class
	Account string
	// Others is how many combinations are added up in this row, 0 for one.
	Others int
	Columns
}

// Run makes a report. Errors of the input are returned as they are; a setting
// that cannot be is an *Invalid.
func Run(spec Spec, in Input) (Report, error) {
	if err := spec.Check(in.Pods != nil); err != nil {
		return Report{}, err
	}
	r := newRunner(spec, in.Costs != nil, false, in.Pods)
	for l, err := range in.Lines {
		if err != nil {
			return Report{}, fmt.Errorf("report: read lines: %w", err)
		}
		r.line(l)
	}
	if in.Costs != nil {
		for c, err := range in.Costs {
			if err != nil {
				return Report{}, fmt.Errorf("report: read what the nodes cost: %w", err)
			}
			r.books.cost(c)
		}
	}
	return Report{Spec: spec, Sections: r.sections()}, nil
}

// runner adds lines up.
type runner struct {
	spec     Spec
	view     View
	from, to int64
	values   *values
	// layout: which dimensions are of time, and whether rows of workloads, and
	// of accounts that are none, are told apart beside the dimensions.
	time, who []int
	class     bool
	account   bool
	groups    map[string]*group
	key       []byte
	row       []string
	books     *books
	tally     Tally
}

// group is what becomes a row.
type group struct {
	currency money.Currency
	keys     []string
	class    ledger.Class
	account  string
	whoKey   string
	sums
}

// newRunner begins a report. costs: what the nodes cost is known. given: pods are
// given with the lines, and not looked up.
func newRunner(spec Spec, costs, given bool, pods Lookup) *runner {
	r := &runner{
		spec: spec, view: spec.view(), values: newValues(pods), groups: map[string]*group{}, row: make([]string, len(spec.By)),
	}
	r.values.given = given
	r.from, r.to = spec.between()
	for i, d := range spec.By {
		if d.isTime() {
			r.time = append(r.time, i)
		} else {
			r.who = append(r.who, i)
		}
		r.account = r.account || d.ofPod()
		r.class = r.class || d.ofPod() || d == Account || d == Class
	}
	r.books = &books{
		from: r.from, to: r.to, known: costs, hours: map[bookKey]*bookHour{}, assets: map[money.Currency]*asset{},
	}
	return r
}

// line takes one line.
func (r *runner) line(l *ledger.Line) {
	charged := r.from <= l.StartMS && l.StartMS < r.to
	booked := !r.spec.Booked || l.Period == r.spec.Month
	if !charged && !(r.spec.Booked && booked) || r.view == Apart && l.EntryKind == allocation.Shared {
		return
	}
	class := l.Class()
	why := included
	switch {
	case !booked:
		why = elsewhere
	case r.spec.cost() == Charged && l.Kind != ledger.Charge:
		why = notCharges
	case !r.wanted(l, class):
		why = filtered
	}
	r.books.line(l, charged, why, r.view)
	if why == included {
		r.tally.of(l, r.view)
		r.group(l, class).add(l, class, &r.tally)
	}
}

func (r *runner) wanted(l *ledger.Line, class ledger.Class) bool {
	for i := range r.spec.Where {
		f := &r.spec.Where[i]
		if slices.Contains(f.In, r.values.of(l, class, f.By)) == f.Not {
			return false
		}
	}
	return true
}

// group finds the row of a line.
func (r *runner) group(l *ledger.Line, class ledger.Class) *group {
	account := ""
	if r.account && class != ledger.Workload {
		account = l.Account
	}
	b := appendField(r.key[:0], string(l.Currency))
	if r.class {
		b = appendField(b, string(class))
	}
	b = appendField(b, account)
	for i, d := range r.spec.By {
		r.row[i] = r.values.of(l, class, d)
		b = appendField(b, r.row[i])
	}
	r.key = b
	g := r.groups[string(b)]
	if g == nil {
		g = &group{currency: l.Currency, keys: slices.Clone(r.row), account: account}
		if r.class {
			g.class = class
		}
		r.groups[string(b)] = g
	}
	return g
}

// appendField adds a text to a key so that no two lists of texts give one key.
func appendField(b []byte, text string) []byte {
	n := len(text)
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), text...)
}
