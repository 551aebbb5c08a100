// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

// exactPlaces is with how many decimal places hourly prices are shown.
const exactPlaces = 6

// Nodes lists nodes with what they cost in the hour.
func Nodes(n *v1.Nodes) string {
	if len(n.Nodes) == 0 {
		return "No node was reported at " + clock(n.At) + ".\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Nodes at %s\n\n", clock(n.At))
	g := newGrid(left("CLUSTER"), left("NODE"), left("INSTANCE TYPE"), left("GPUS"), right("COST OF AN HOUR"), left(""), left("FROM"))
	for i := range n.Nodes {
		node := &n.Nodes[i]
		hourly, currency, from := unknown, "", ""
		if c := node.Cost; c != nil && c.Priced && c.Basis != nil {
			hourly, currency, from = amount(nano(c.Basis.Hourly), exactPlaces), c.Currency, source(c.Basis)
		} else if c != nil {
			from = Plain(c.Reason)
		}
		g.add(Plain(node.Cluster), Plain(node.Name), Plain(node.InstanceType), gpus(node), hourly, currency, from)
	}
	g.text(&b)
	return b.String()
}

// gpus counts the cards by model.
func gpus(n *v1.Node) string {
	counts := map[string]int{}
	var order []string
	for _, s := range n.Slots {
		model := s.Model
		if model == "" {
			model = "GPU of unknown model"
		}
		if counts[model] == 0 {
			order = append(order, model)
		}
		counts[model]++
	}
	var out []string
	for _, m := range order {
		out = append(out, fmt.Sprintf("%d × %s", counts[m], Plain(m)))
	}
	return orNone(strings.Join(out, ", "))
}

func source(b *v1.Basis) string {
	out := Plain(b.Source)
	if b.Row != "" {
		out += ", row " + Plain(b.Row)
	}
	return out + " (" + b.Grade + ")"
}

// NodePrice says what a node costs and why.
func NodePrice(p *v1.NodePrice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Node %s at %s\n", nodeName(p.Node.Cluster, p.Node.Name), clock(p.At))
	pairs(&b, nodeRows(&p.Node))
	for i := range p.Pieces {
		b.WriteString("\n")
		piece(&b, &p.Pieces[i], len(p.Pieces) > 1)
	}
	if len(p.Pieces) == 0 {
		b.WriteString("\nIt did not exist in this hour, as far as is known: it costs nothing.\n")
	}
	b.WriteString("\nAsked, the strongest first:\n")
	g := newGrid(left("  BOOK"), left("GRADE"), left("ROWS"), left("ANSWER"))
	for _, a := range p.Asked {
		name := "  " + Plain(a.Book)
		if a.Used {
			name = "> " + Plain(a.Book)
		}
		g.add(name, a.Grade, orDash(Plain(strings.Join(a.Rows, ", "))), Plain(a.Why))
	}
	g.text(&b)
	return b.String()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func nodeRows(n *v1.Node) [][2]string {
	cpu, memory := unknown, unknown
	if n.CPUMilli > 0 {
		cpu = decimals(float64(n.CPUMilli)/1000, 0) + " CPUs"
	}
	if n.MemoryBytes > 0 {
		memory = bytes(int64(n.MemoryBytes))
	}
	var where []string
	for _, part := range []string{n.Provider, n.Region, n.Zone, n.InstanceType, n.Capacity} {
		if part != "" {
			where = append(where, Plain(part))
		}
	}
	return [][2]string{
		{"  what", orUnknown(strings.Join(where, ", "))}, {"  provider id", orUnknown(Plain(n.ProviderID))},
		{"  GPUs", gpus(n)}, {"  host", cpu + ", " + memory + " of memory"},
	}
}

func orUnknown(text string) string {
	if text == "" {
		return unknown
	}
	return text
}

// piece says what a piece of the hour costs.
func piece(b *strings.Builder, c *v1.NodeCost, several bool) {
	when := "The hour"
	if several {
		when = fmt.Sprintf("From %s, for %s minutes", clock(c.Start), decimals(float64(c.DurationMS)/60_000, 1))
	}
	if !c.Priced || c.Total == nil {
		fmt.Fprintf(b, "%s has no price: %s\n", when, Plain(c.Reason))
		return
	}
	fmt.Fprintf(b, "%s costs %s %s", when, c.Total, c.Currency)
	if c.Basis != nil {
		fmt.Fprintf(b, ", from %s; %s %s an hour\n", source(c.Basis), c.Basis.Hourly, c.Currency)
	} else {
		b.WriteString("\n")
	}
	var gpus money.Sum
	for _, s := range c.Slots {
		gpus.Add(s.Cost)
	}
	split := ""
	if c.Basis != nil {
		split = ", split by " + Plain(c.Basis.Split)
	}
	fmt.Fprintf(b, "  %s %s, CPU %s, memory %s%s\n", count(int64(len(c.Slots)), "GPU", "GPUs"), gpus, c.CPU, c.Memory, split)
	if c.Basis != nil {
		for _, n := range c.Basis.Notes {
			fmt.Fprintf(b, "  note: %s\n", Plain(n))
		}
	}
}

// PriceComparison is a node's price under every rule, side by side.
func PriceComparison(c *v1.PriceComparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Node %s at %s: %s %s an hour", nodeName(c.Node.Cluster, c.Node.Name), clock(c.At), c.Hourly, c.Currency)
	if c.Basis != nil {
		b.WriteString(", from " + source(c.Basis))
	}
	fmt.Fprintf(&b, "\n%s\n\n", gpus(&c.Node))
	total := nano(c.Hourly)
	g := newGrid(left("  RULE"), right("GPUS "+c.Currency), right("OF ALL"), right("CPU"), right("MEMORY"), right("ONE GPU"), left("NOTES"))
	for _, r := range c.Rules {
		name := "  " + r.Rule
		if r.InUse {
			name = "> " + r.Rule
		}
		notes := r.Notes
		if r.Used != r.Rule {
			notes = append([]string{"split by " + r.Used}, notes...)
		}
		one := "-"
		if n := len(c.Node.Slots); n > 0 {
			one = decimals(r.GPUs.Float()/float64(n), 4)
		}
		g.add(name, amount(nano(r.GPUs), exactPlaces), percent(nano(r.GPUs), total), amount(nano(r.CPU), exactPlaces), amount(nano(r.Memory), exactPlaces), one, Plain(strings.Join(notes, "; ")))
	}
	g.text(&b)
	b.WriteString("\n> is the rule in force. The price of the node is the same under each; what its GPUs, CPU and memory are charged is not.\n")
	return b.String()
}

// PriceCheck is what is missing or doubtful about prices.
func PriceCheck(c *v1.PriceCheck) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Prices of %s, %s, %s\n", count(int64(c.Nodes), "node", "nodes"), count(int64(c.Hours), "hour of nodes", "hours of nodes"), span(c.From, c.To))
	gaps(&b, "WITHOUT A PRICE", c.Unpriced)
	gaps(&b, "Priced by something less exact than a row of their own", c.Fallback)
	doubts(&b, c.Doubts)
	if len(c.Unpriced)+len(c.Fallback)+len(c.Doubts) == 0 {
		b.WriteString("Every hour has a price of its own, and no row is doubtful.\n")
	}
	return b.String()
}

func gaps(b *strings.Builder, title string, list []v1.PriceGap) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n" + title + "\n")
	g := newGrid(left("NODE"), left("INSTANCE TYPE"), right("HOURS"), left("WHEN"), left("WHY"))
	for _, x := range list {
		why := Plain(x.Reason)
		if x.Book != "" {
			why += " (" + Plain(x.Book) + ", row " + Plain(x.Row) + ")"
		}
		g.add(nodeName(x.Cluster, x.Node), orUnknown(Plain(x.InstanceType)), whole(int64(x.Hours)), hourSpan(x.First, x.Last), why)
	}
	g.text(b)
}

// few is how many doubts of one kind are told one by one.
const few = 5

// doubts tells rows that price something one by one, and others by their kind
// where there are many.
func doubts(b *strings.Builder, list []v1.BookDoubt) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\nDoubtful rows of the books\n")
	type kind struct{ book, doubt string }
	idle := map[kind]int{}
	for _, d := range list {
		if d.Hours == 0 {
			idle[kind{d.Book, d.Doubt}]++
		}
	}
	g := newGrid(left("BOOK"), left("DOUBT"), left("ROW"), right("HOURS"), left("WHY"))
	for _, used := range []bool{true, false} {
		for _, d := range list {
			k := kind{d.Book, d.Doubt}
			switch n := idle[k]; {
			case used != (d.Hours > 0), !used && n < 0: // another time, or told already
			case !used && n > few:
				g.add(Plain(d.Book), d.Doubt, whole(int64(n))+" rows", "0", "such as "+Plain(d.Row)+": "+Plain(d.Says))
				idle[k] = -1
			default:
				g.add(Plain(d.Book), d.Doubt, Plain(d.Row), whole(int64(d.Hours)), Plain(d.Says))
			}
		}
	}
	g.text(b)
}
