// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Options say what the dataset's provider supports.
type Options struct {
	// Supported are the applicability criteria that hold.
	Supported map[string]bool
	// Currencies are the codes of ISO 4217; without them only the form of a code
	// is checked.
	Currencies map[string]bool
	// Waived are rules that do not apply for a reason that the criteria cannot
	// say.
	Waived map[string]string
}

// Status is what became of a rule.
type Status string

// The statuses.
const (
	Passed        Status = "passed"
	Failed        Status = "failed"
	NotApplicable Status = "not applicable"   // a criterion does not hold, or the optional column is absent
	NotCheckable  Status = "not by a machine" // a dynamic rule
	Permission    Status = "permits"          // MAY: nothing can break it
	Defective     Status = "defect of the model"
)

// Result is a rule's.
type Result struct {
	Rule   *Rule
	Status Status
	// Why tells a failure, or why it was not checked.
	Why string
	// Rows is how many rows break the rule; First is the first of them, from 1.
	Rows, First int
	// Value is the value of the rule's column there.
	Value string
}

// Must says whether breaking the rule breaks FOCUS, and not only its advice.
func (r *Rule) Must() bool {
	return strings.HasPrefix(r.Validation.Keyword, "MUST")
}

// String tells a failure.
func (r Result) String() string {
	if r.Rows == 0 {
		return fmt.Sprintf("%s %s: %s %s", r.Rule.ID, r.Status, r.Rule.Validation.Text, r.Why)
	}
	return fmt.Sprintf("%s %s in %d rows, first row %d (%q): %s", r.Rule.ID, r.Status, r.Rows, r.First, r.Value, r.Rule.Validation.Text)
}

// Report is what became of all rules, by id.
type Report []Result

// Violations are the leaves that failed: rules that say MUST.
func (r Report) Violations() (out []Result) {
	for _, one := range r {
		if one.Status == Failed && one.Rule.Kind != "Composite" && one.Rule.Must() {
			out = append(out, one)
		}
	}
	return out
}

// Advice are the leaves that failed and say SHOULD or RECOMMENDED.
func (r Report) Advice() (out []Result) {
	for _, one := range r {
		if one.Status == Failed && one.Rule.Kind != "Composite" && !one.Rule.Must() {
			out = append(out, one)
		}
	}
	return out
}

type evaluation struct {
	model   *Model
	table   *Table
	options Options
	parents map[string][]*Rule
	results map[string]*Result
}

// Evaluate checks the table against every rule of the model.
func Evaluate(m *Model, t *Table, o Options) Report {
	e := &evaluation{model: m, table: t, options: o, parents: map[string][]*Rule{}, results: map[string]*Result{}}
	for _, id := range m.order {
		for _, child := range m.Rules[id].Validation.Requirement.references() {
			e.parents[child] = append(e.parents[child], m.Rules[id])
		}
	}
	var report Report
	for _, id := range m.order {
		report = append(report, *e.result(m.Rules[id]))
	}
	return report
}

// result evaluates a rule once.
func (e *evaluation) result(r *Rule) *Result {
	if done := e.results[r.ID]; done != nil {
		return done
	}
	out := &Result{Rule: r, Status: Passed}
	e.results[r.ID] = out // a rule that depends on itself through others holds
	if r.Type != "Static" {
		out.Status = NotCheckable
		return out
	}
	if why := e.options.Waived[r.ID]; why != "" {
		out.Status, out.Why = NotApplicable, why
		return out
	}
	paths := e.paths(r)
	if len(paths) == 0 {
		out.Status, out.Why = NotApplicable, e.unsupported(r)
		return out
	}
	if refs := r.Validation.Requirement.references(); len(refs) > 0 {
		e.composite(out, refs)
		return out
	}
	e.leaf(out, paths)
	return out
}

// path is a way from a root of the model to a rule: the conditions on it.
type path []*Check

// paths are the ways to the rule on which every criterion is supported.
func (e *evaluation) paths(r *Rule) (out []path) {
	for _, c := range r.Criteria {
		if !e.options.Supported[c] {
			return nil
		}
	}
	if len(e.parents[r.ID]) == 0 {
		return []path{{r.Validation.Condition}}
	}
	for _, parent := range e.parents[r.ID] {
		for _, p := range e.paths(parent) {
			out = append(out, append(slices.Clone(p), r.Validation.Condition))
		}
	}
	return out
}

func (e *evaluation) unsupported(r *Rule) string {
	var missing []string
	for at := []*Rule{r}; len(at) > 0; at = at[1:] {
		for _, c := range at[0].Criteria {
			if !e.options.Supported[c] && !slices.Contains(missing, c) {
				missing = append(missing, c)
			}
		}
		at = append(at, e.parents[at[0].ID]...)
	}
	slices.Sort(missing)
	return strings.Join(missing, ", ")
}

// composite is what its parts are: one failed, or one it depends on, it fails;
// no part checked, it is not.
func (e *evaluation) composite(out *Result, refs []string) {
	var failed []string
	seen := map[Status]bool{}
	for _, id := range slices.Concat(refs, out.Rule.Validation.Dependencies) {
		part := e.result(e.model.Rules[id])
		if slices.Contains(refs, id) {
			seen[part.Status] = true
		}
		if part.Status == Failed && part.Rule.Must() && !slices.Contains(failed, id) {
			failed = append(failed, id)
		}
	}
	switch {
	case len(failed) > 0:
		out.Status, out.Why = Failed, "because of "+strings.Join(failed, ", ")
	case seen[Passed] || seen[Failed]:
		out.Status = Passed
	default:
		out.Status = NotApplicable
		for _, s := range []Status{NotCheckable, Permission, Defective} {
			if seen[s] {
				out.Status = s
				break
			}
		}
	}
}

// leaf evaluates a rule that looks at the data itself.
func (e *evaluation) leaf(out *Result, paths []path) {
	r := out.Rule
	if why := defects[r.ID]; why != "" && e.model.Version == "1.2" {
		out.Status, out.Why = Defective, why
		return
	}
	if r.Kind == "Presence" {
		if column := r.Validation.Requirement.Column; !e.table.Has(column) {
			out.Status, out.Why = Failed, "the column is absent"
		}
		if r.Validation.Keyword == "MAY" {
			out.Status, out.Why = Permission, ""
		}
		return
	}
	for _, column := range r.Validation.Requirement.columns() {
		if !e.table.Has(column) {
			out.Status, out.Why = NotApplicable, "no column "+column
			return
		}
	}
	if r.Validation.Keyword == "MAY" {
		out.Status = Permission
		return
	}
	for _, id := range r.Validation.Dependencies {
		if dep := e.result(e.model.Rules[id]); dep.Status == NotApplicable {
			out.Status, out.Why = NotApplicable, cmp.Or(dep.Why, "as "+id)
			return
		}
	}
	if r.Validation.Requirement.Function == "CheckDistinctCount" {
		e.distinct(out, paths)
		return
	}
	for row := range e.table.Rows {
		if e.applies(paths, row) && !e.meets(r.Validation.Requirement, row) {
			e.breaks(out, row)
		}
	}
}

func (e *evaluation) applies(paths []path, row int) bool {
	return slices.ContainsFunc(paths, func(p path) bool {
		return !slices.ContainsFunc(p, func(c *Check) bool { return !e.holds(c, row) })
	})
}

func (e *evaluation) breaks(out *Result, row int) {
	out.Status = Failed
	out.Rows++
	if out.Rows == 1 {
		out.First, out.Value = row+1, e.table.at(row, out.Rule.Reference).Text
	}
}

// distinct: each value of one column goes with so many values of the other.
// Nulls of either are not counted.
func (e *evaluation) distinct(out *Result, paths []path) {
	c := out.Rule.Validation.Requirement
	with := map[string][]string{}
	for row := range e.table.Rows {
		a, b := e.table.at(row, c.A), e.table.at(row, c.B)
		if a.Null || b.Null || !e.applies(paths, row) || slices.Contains(with[a.Text], b.Text) {
			continue
		}
		with[a.Text] = append(with[a.Text], b.Text)
		if len(with[a.Text]) == c.Expected+1 {
			e.breaks(out, row)
		}
	}
}
