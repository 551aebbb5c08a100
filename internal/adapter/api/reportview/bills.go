// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Bills lists the imports in force.
func Bills(bills *v1.Bills) string {
	if len(bills.Bills) == 0 {
		return "No bill was imported. gputally bill import FILE --source ID imports one.\n"
	}
	var b strings.Builder
	g := newGrid(left("SOURCE"), left("PERIOD"), right("LINES"), left("OF MACHINES"), left("APART"), left("IMPORTED"), left("FILES"))
	for i := range bills.Bills {
		x := &bills.Bills[i]
		g.add(Plain(x.Source), x.Period, whole(x.Lines), orDash(sums(x.Totals, "hours")), orDash(sums(x.Totals, "apart", "no_machine")), by(clock(x.At), x.By), Plain(strings.Join(x.Files, ", ")))
	}
	g.text(&b)
	return b.String()
}

func by(when, who string) string {
	if who == "" {
		return when
	}
	return when + " by " + Plain(who)
}

// sums are the totals of some places, by category.
func sums(totals []v1.BillSum, where ...string) string {
	var out []string
	for _, t := range totals {
		for _, w := range where {
			if t.Where == w {
				name := ""
				if w != "hours" {
					name = strings.ToLower(t.Category) + " "
				}
				out = append(out, name+exact(t.Amount)+" "+t.Currency)
			}
		}
	}
	return strings.Join(out, ", ")
}

// Imported is what came of importing a bill.
func Imported(i *v1.Imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s from %s: %s, %s, %s of machines\n", Plain(i.Format), Plain(i.Source), count(i.Rows, "row", "rows"), count(i.Lines, "line", "lines"), whole(i.Machines))
	for _, p := range i.Periods {
		fmt.Fprintf(&b, "\n%s: %s\n", p.Period, change(p.Change))
		for _, s := range p.Sums {
			fmt.Fprintf(&b, "  %s %s amortised, %s billed, %s\n", exact(s.Effective.String()), s.Currency, exact(s.Billed.String()), count(s.Lines, "line", "lines"))
		}
	}
	if len(i.Totals) > 0 {
		b.WriteString("\n")
		g := newGrid(left("CATEGORY"), left("WHERE IT GOES"), right("AMOUNT"), left(""), right("LINES"))
		for _, t := range i.Totals {
			g.add(t.Category, goes(t.Where), exact(t.Amount), t.Currency, whole(t.Lines))
		}
		g.text(&b)
	}
	if i.Repeated > 0 {
		fmt.Fprintf(&b, "\n%s of split cost tell money once more and count nowhere.\n", count(i.Repeated, "line", "lines"))
	}
	for _, l := range i.LeftOut {
		fmt.Fprintf(&b, "\nLeft out: %s: %s\n", count(l.Rows, "row", "rows"), Plain(l.Reason))
	}
	for _, n := range i.Notes {
		fmt.Fprintf(&b, "Note: %s\n", Plain(n))
	}
	fmt.Fprintf(&b, "\n%s rated anew because of it.\n", count(int64(i.HoursDue), "hour of a node is", "hours of nodes are"))
	return b.String()
}

func change(c string) string {
	switch c {
	case "added":
		return "added"
	case "replaced":
		return "in place of the import of before"
	case "unchanged":
		return "the same content as before: nothing changed"
	}
	return c
}

func goes(where string) string {
	switch where {
	case "hours":
		return "hours of machines"
	case "apart":
		return "apart, never spread"
	case "no_machine":
		return "of no machine"
	case "repeated":
		return "told once more"
	}
	return where
}

// Reconciliation sets a month's bills beside what was metered.
func Reconciliation(r *v1.Reconciliation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Bills of %s beside what was metered\n\n", r.Month)
	g := newGrid(left(""), right("MACHINES"), right("HOURS"), left("AMOUNT"))
	for _, x := range []struct {
		name string
		of   *v1.Bucket
	}{{"billed and metered", &r.Matched}, {"cost without telemetry", &r.CostOnly}, {"telemetry without cost", &r.TelemetryOnly}} {
		g.add(x.name, whole(int64(x.of.Machines)), whole(x.of.Hours), orDash(amounts(x.of.Amounts)))
	}
	g.text(&b)
	machines(&b, "Cost without telemetry: no agent ran there, or it names the machine otherwise", &r.CostOnly)
	machines(&b, "Telemetry without cost: a price is missing, or the bill is not complete yet", &r.TelemetryOnly)
	return b.String()
}

func amounts(in []v1.Amount) string {
	var out []string
	for _, a := range in {
		out = append(out, exact(a.Amount.String())+" "+a.Currency)
	}
	return strings.Join(out, ", ")
}

func machines(b *strings.Builder, title string, of *v1.Bucket) {
	if len(of.Largest) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	g := newGrid(left("MACHINE"), left("TYPE"), left("NODE"), right("HOURS"), left("AMOUNT"), left("WHEN"))
	for i := range of.Largest {
		m := &of.Largest[i]
		node := ""
		if m.Node != "" {
			node = nodeName(m.Cluster, m.Node)
		}
		g.add(Plain(m.Machine), Plain(m.InstanceType), orDash(node), whole(m.Hours), orDash(amounts(m.Amounts)), hourSpan(m.First, m.Last))
	}
	g.text(b)
	if more := of.Machines - len(of.Largest); more > 0 {
		fmt.Fprintf(b, "and %s more\n", whole(int64(more)))
	}
}
