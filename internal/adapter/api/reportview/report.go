// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
)

// Report is a report as an aligned table.
func Report(r *v1.Report) string { return writeReport(r, (*grid).text, "") }

// ReportMarkdown is a report as Markdown.
func ReportMarkdown(r *v1.Report) string { return writeReport(r, (*grid).markdown, "## ") }

func writeReport(r *v1.Report, write func(*grid, *strings.Builder), heading string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n%s\n", heading, title(r), terms(r))
	if len(r.Sections) == 0 {
		b.WriteString("\n" + nothing(r) + "\n")
	}
	for i := range r.Sections {
		b.WriteString("\n")
		writeSection(&b, r, &r.Sections[i], write)
	}
	if len(r.Sections) > 1 {
		b.WriteString("\nCurrencies are not added.\n")
	}
	return b.String()
}

func nothing(r *v1.Report) string {
	if r.Open {
		return "No hour is open: every hour that has records was rated. gputally status says what was received."
	}
	return "Nothing was charged in this time. gputally status says what was received and rated; gputally report --open what is not booked yet."
}

func title(r *v1.Report) string {
	by := make([]string, len(r.By))
	for i, d := range r.By {
		by[i] = Plain(d)
	}
	out := "GPU cost"
	if len(by) > 0 {
		out += " by " + strings.Join(by, ", ")
	}
	if r.Month != "" {
		if r.Booked {
			return out + ", booked in " + r.Month
		}
		return out + ", " + r.Month
	}
	if r.Open {
		return out + ", not booked yet"
	}
	return out + ", " + span(r.From, r.To)
}

func span(from, to time.Time) string {
	if from.Truncate(24*time.Hour).Equal(from) && to.Truncate(24*time.Hour).Equal(to) {
		if to.Sub(from) == 24*time.Hour {
			return from.UTC().Format("2006-01-02") + " (UTC)"
		}
		return from.UTC().Format("2006-01-02") + " to " + to.Add(-time.Hour).UTC().Format("2006-01-02") + " (UTC)"
	}
	return from.UTC().Format("2006-01-02 15:04") + " to " + to.UTC().Format("2006-01-02 15:04") + " UTC"
}

// terms says what was counted.
func terms(r *v1.Report) string {
	out := "What the hours cost as is now known"
	switch {
	case r.Open:
		out = "Hours that are not booked yet, as far as their records have come; amounts still change"
	case r.Booked:
		out = "What was booked, as the statements have it"
	case r.Cost == "charged":
		out = "The first rating of each hour, without adjustments and corrections"
	}
	if r.View == "distributed" {
		out += "; platform accounts on those to whom the policy gave them"
	} else {
		out += "; platform accounts apart"
	}
	var where []string
	for _, f := range r.Where {
		is := "="
		if f.Not {
			is = "!="
		}
		where = append(where, Plain(f.By)+is+Plain(strings.Join(f.In, ",")))
	}
	if len(where) > 0 {
		out += "; only " + strings.Join(where, " and ")
	}
	return out + "."
}

func writeSection(b *strings.Builder, r *v1.Report, s *v1.Section, write func(*grid, *strings.Builder)) {
	if text := unpriced(&s.Unpriced); text != "" {
		fmt.Fprintf(b, "WITHOUT A PRICE: %s. No amount below has them; gputally price check says why.\n\n", text)
	}
	of := table{s: s, by: r.By}
	of.places = of.decimals()
	if s.Total.Lines == 0 {
		fmt.Fprintf(b, "No charge in %s is in this report. ", s.Currency)
		of.beside(b, money.Sum{})
		return
	}
	write(of.grid(), b)
	b.WriteString("\n")
	of.balance(b)
}

// unpriced is what has no price, in words; empty where all has one.
func unpriced(u *v1.Unpriced) string {
	var out []string
	for _, part := range []struct {
		ms   int64
		name string
	}{{u.GPUMS, "GPU-hours"}, {u.CPUMS, "node-hours of CPU"}, {u.MemoryMS, "node-hours of memory"}} {
		if part.ms != 0 {
			out = append(out, hours(part.ms)+" "+part.name)
		}
	}
	return strings.Join(out, ", ")
}

// table makes the rows of a section.
type table struct {
	s      *v1.Section
	by     []string
	places int
}

// decimals looks at the largest amount.
func (t *table) decimals() int {
	var largest money.Sum
	if c := t.s.Total.Cost; c != nil {
		largest = c.Total
	}
	if a := t.s.Balance.Assets; a != nil && a.Cmp(largest) > 0 {
		largest = *a
	}
	return places(largest)
}

func (t *table) grid() *grid {
	var columns []column
	for _, d := range t.by {
		columns = append(columns, left(heading(d)))
	}
	if len(t.by) == 0 {
		columns = append(columns, left(""))
	}
	cost := "COST"
	if t.s.Currency != "" {
		cost += " " + t.s.Currency
	}
	g := newGrid(append(columns, right(cost), right("OF ALL"), right("ALLOCATED GPU-H"), right("HELD GiB-H"), right("RESERVED UNUSED GPU-H"), right("IDLE & OVERHEAD"), left("HOW WELL KNOWN"))...)
	if len(t.by) > 0 {
		for i := range t.s.Rows {
			row := &t.s.Rows[i]
			g.add(append(names(row, t.by), t.cells(&row.Columns)...)...)
		}
		g.rule()
	}
	first := make([]string, max(len(t.by), 1))
	first[0] = "TOTAL"
	g.add(append(first, t.cells(&t.s.Total)...)...)
	return g
}

// heading is a dimension as a column's name.
func heading(dimension string) string {
	key, label := strings.CutPrefix(dimension, "label:")
	if label {
		return Plain(key)
	}
	return strings.ToUpper(strings.ReplaceAll(dimension, "_", " "))
}

// ofDevices are the dimensions that only lines of GPUs have, and noGPU stands for them
// on lines of CPU and memory: an empty cell looks like a fault.
var ofDevices = []string{string(report.GPU), string(report.Partition), string(report.Model), string(report.Mode)}

const noGPU = "(no GPU)"

// names are the row's values. An account that is no workload's stands in brackets
// where the first value would be.
func names(row *v1.Row, by []string) []string {
	out := make([]string, len(by))
	told := row.Account == "" || row.Class == "workload"
	for i, d := range by {
		out[i] = Plain(row.Keys[d])
		if out[i] == "" && !told {
			out[i], told = "["+Plain(row.Account)+"]", true
		} else if out[i] == "" && slices.Contains(ofDevices, d) {
			out[i] = noGPU
		}
	}
	if row.Others == 0 {
		return out
	}
	text := "(" + count(int64(row.Others), "other", "others") + ")"
	for i := range out {
		if row.Keys[by[i]] == report.Others {
			out[i], text = text, ""
		}
	}
	return out
}

func (t *table) cells(c *v1.Columns) []string {
	q := &c.Quantities
	cost, of, platform, grades := unknown, "-", "-", "-"
	if c.Cost != nil {
		cost = amount(c.Cost.Total, t.places)
		platform, grades = percent(sumOf(c.Cost.Platform), c.Cost.Total), mix(c.Cost.Grades, gradesTotal(c.Cost))
		if t.s.Total.Cost != nil {
			of = percent(c.Cost.Total, t.s.Total.Cost.Total)
		}
	}
	if c.Unpriced != nil && c.Cost != nil {
		cost = "*" + cost
	}
	return []string{cost, of, hours(q.AllocatedGPUMS), gibHours(q.HeldByteMS), hours(q.ReservedUnusedGPUMS), platform, grades}
}

// gradesTotal is what the grades divide: all but drifts.
func gradesTotal(c *v1.Cost) money.Sum { return sumOf(c.Grades) }

// balance sets the total beside what the nodes cost.
func (t *table) balance(b *strings.Builder) {
	s := t.s
	if slices.ContainsFunc(s.Rows, func(r v1.Row) bool { return r.Unpriced != nil && r.Cost != nil }) {
		b.WriteString("* Part of it has no price and is not in the amount.\n")
	}
	if s.Total.Cost == nil {
		b.WriteString("Nothing here has a price: the cost is unknown, not 0.\n")
		return
	}
	total := s.Total.Cost.Total
	if parts := platform(s.Total.Cost, t.places); parts != "" {
		fmt.Fprintf(b, "Of it platform accounts: %s.\n", parts)
	}
	t.beside(b, total)
}

// beside says what the nodes cost, and why the total is another.
func (t *table) beside(b *strings.Builder, total money.Sum) {
	s := t.s
	switch {
	case s.Balance.Assets == nil:
		fmt.Fprintf(b, "What the nodes cost is not known: the total of %s %s stands alone.\n", amount(total, t.places), s.Currency)
	case len(s.Balance.Differences) == 0:
		fmt.Fprintf(b, "The nodes cost %s %s: the total is that, exactly.\n", amount(*s.Balance.Assets, t.places), s.Currency)
	default:
		fmt.Fprintf(b, "The nodes cost %s %s. The total differs from it by:\n", amount(*s.Balance.Assets, t.places), s.Currency)
		t.differences(b)
	}
}

func (t *table) differences(b *strings.Builder) {
	g := newGrid(left(""), right(t.s.Currency), left(""))
	for _, d := range t.s.Balance.Differences {
		g.add("  "+d.Name, signed(d.Amount, t.places), d.Detail)
	}
	if len(t.s.Balance.Differences) > 1 {
		g.add("  together", signed(t.together(), t.places), "")
	}
	var text strings.Builder
	g.text(&text)
	_, rows, _ := strings.Cut(text.String(), "\n")
	b.WriteString(rows)
}

func (t *table) together() (s money.Sum) {
	for _, d := range t.s.Balance.Differences {
		s.AddSum(d.Amount)
	}
	return s
}

// signed is an amount with its sign; what rounds to nothing says that it is
// something.
func signed(s money.Sum, places int) string {
	text := amount(s, places)
	if s != (money.Sum{}) && strings.Trim(text, "-0.") == "" {
		sign := "+"
		if s.Cmp(money.Sum{}) < 0 {
			sign = "-"
		}
		return sign + "<" + text[len(text)-places-2:len(text)-1] + "1"
	}
	if s.Cmp(money.Sum{}) > 0 {
		return "+" + text
	}
	return text
}

// platform is the platform accounts of a total.
func platform(c *v1.Cost, places int) string {
	var out []string
	for _, p := range c.Platform {
		if p.Amount != (money.Sum{}) {
			out = append(out, fmt.Sprintf("%s %s (%s)", p.Name, amount(p.Amount, places), percent(p.Amount, c.Total)))
		}
	}
	return strings.Join(out, ", ")
}
