// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// Stay is a time in which a machine stood behind the name of a node, as
// telemetry knows it: [FromMS, ToMS), Unix milliseconds.
type Stay struct {
	Cluster, Node string
	ProviderID    string
	FromMS, ToMS  int64
}

// Bills are what imported bills say of machines, found by machine and hour, so
// that a month of a large fleet is asked as fast as a day of a small one. They
// hold the hours that they are made of, an hour or a year.
type Bills struct {
	hours map[bill.Instance][]billed // by time
	stays map[bill.Instance][]Stay   // by machine, and again by scale set
	filed []bill.Filed
}

// billed is one hour of one machine by one bill: what of it belongs to the
// machine's price.
type billed struct {
	startMS  int64
	source   string // several sources that were added up already are joined
	several  bool
	currency money.Currency
	parts    []bill.PartCost
	spanMS   int64
	lines    string
}

// NewBills makes bills of the hours of imports in force, in any order, and of the
// machines that telemetry knows in that time. Of the latter it takes whose the
// cost of an Azure scale set is, and of a machine that stood behind two names:
// the stays divide it by their time in the hour. filed names the imports; they
// give the revision that stands on costs.
func NewBills(hours iter.Seq2[*bill.Hour, error], stays []Stay, filed []bill.Filed) (*Bills, error) {
	b := &Bills{hours: map[bill.Instance][]billed{}, stays: map[bill.Instance][]Stay{}, filed: filed}
	for h, err := range hours {
		if err != nil {
			return nil, fmt.Errorf("read hours of bills: %w", err)
		}
		if one, ok := billedOf(h); ok {
			b.hours[h.Instance] = append(b.hours[h.Instance], one)
		}
	}
	for _, of := range b.hours {
		slices.SortStableFunc(of, func(x, y billed) int {
			return cmp.Or(cmp.Compare(x.startMS, y.startMS), strings.Compare(x.source, y.source), cmp.Compare(x.currency, y.currency))
		})
	}
	for _, s := range stays {
		i := bill.OfProviderID(s.ProviderID)
		if i == "" || s.FromMS >= s.ToMS {
			continue
		}
		b.stays[i] = append(b.stays[i], s)
		if set := i.Set(); set != "" {
			b.stays[set] = append(b.stays[set], s)
		}
	}
	return b, nil
}

// billedOf keeps what the price of a machine needs. An hour that has traffic and
// disks alone says nothing of the machine's price.
func billedOf(h *bill.Hour) (billed, bool) {
	out := billed{
		startMS: h.StartMS, source: strings.Join(h.Sources, " + "), several: len(h.Sources) > 1, currency: h.Currency, spanMS: h.SpanMS,
	}
	for _, p := range h.Parts {
		if p.Part.OfMachine() {
			out.parts = append(out.parts, bill.PartCost{Part: p.Part, Effective: p.Effective})
		}
	}
	out.lines = linesOf(h.Lines)
	return out, len(out.parts) > 0
}

// linesOf names the first lines of a bill that an hour comes from.
func linesOf(rows []bill.Row) string {
	const few = 3
	var names []string
	for _, r := range rows[:min(few, len(rows))] {
		names = append(names, r.String())
	}
	if more := len(rows) - few; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// at are the hours of a machine, one for each source and currency.
func (b *Bills) at(i bill.Instance, startMS int64) []billed {
	of := b.hours[i]
	from, _ := slices.BinarySearchFunc(of, startMS, func(h billed, ms int64) int { return cmp.Compare(h.startMS, ms) })
	to := from
	for to < len(of) && of[to].startMS == startMS {
		to++
	}
	return of[from:to]
}

// of is the node's charges of the hour that starts at a moment, as rows of a book
// that holds nothing else, and whether any bill has the node's machine there.
func (b *Bills) of(n *Node, startMS int64) (*Book, []*Row) {
	machine := bill.OfProviderID(n.ProviderID)
	if machine == "" {
		return nil, nil
	}
	hours, at := b.at(machine, startMS), machine
	if len(hours) == 0 {
		at = machine.Set()
		if hours = b.at(at, startMS); at == "" || len(hours) == 0 {
			return nil, nil
		}
	}
	weights, mine := b.members(n, at, startMS)
	if mine < 0 {
		return nil, nil
	}
	taken, aside := once(hours)
	book := b.book(taken, startMS)
	var rows []*Row
	for k := range taken {
		h := &taken[k]
		notes := h.notes()
		if k == 0 {
			notes = append(notes, aside...)
			notes = append(notes, shareNotes(machine, at, len(weights))...)
		}
		rows = append(rows, h.rows(n, at, weights, mine, notes)...)
	}
	return book, rows
}

// book is the source of the hours as a bill names it.
func (b *Bills) book(hours []billed, startMS int64) *Book {
	var names, revisions []string
	for i := range hours {
		if !slices.Contains(names, hours[i].source) {
			names = append(names, hours[i].source)
			revisions = append(revisions, b.revision(hours[i].source, startMS))
		}
	}
	return &Book{Name: strings.Join(names, " + "), Revision: strings.Trim(strings.Join(revisions, " + "), " +"), Grade: Billed}
}

// revision is the content of the source's import of the billing period in which
// the hour lies.
func (b *Bills) revision(source string, startMS int64) string {
	for i := range b.filed {
		if f := &b.filed[i]; f.Source == source && f.Period.StartMS <= startMS && startMS < f.Period.EndMS {
			return f.Hash
		}
	}
	return ""
}

// members are the times that the stays of a machine, or of a scale set, have in
// an hour, those of one node together, and the place of the node among them. A
// machine that nobody knows in that hour is the node's alone. -1: the hour is
// others'.
func (b *Bills) members(n *Node, at bill.Instance, startMS int64) (weights []int64, mine int) {
	type name struct{ cluster, node string }
	ms := map[name]int64{}
	for _, s := range b.stays[at] {
		in := span{s.FromMS, s.ToMS}.and(span{startMS, startMS + hourMS}).length()
		if in == 0 || bill.OfProviderID(s.ProviderID) != at && b.billsItself(s.ProviderID, startMS) {
			continue
		}
		ms[name{s.Cluster, s.Node}] += in
	}
	if len(ms) == 0 {
		return []int64{1}, 0
	}
	names := make([]name, 0, len(ms))
	for k := range ms {
		names = append(names, k)
	}
	slices.SortFunc(names, func(x, y name) int {
		return cmp.Or(strings.Compare(x.cluster, y.cluster), strings.Compare(x.node, y.node))
	})
	for _, k := range names {
		weights = append(weights, ms[k])
	}
	return weights, slices.Index(names, name{n.Cluster, n.Name})
}

// billsItself says that a bill names the machine, so that it has no part in its
// scale set's cost.
func (b *Bills) billsItself(providerID string, startMS int64) bool {
	return len(b.at(bill.OfProviderID(providerID), startMS)) > 0
}

// rows are the parts of the hour that fall to one of several members.
func (h *billed) rows(n *Node, machine bill.Instance, weights []int64, mine int, notes []string) (out []*Row) {
	for i, p := range h.parts {
		shares, err := money.ApportionInts(p.Effective, weights...) // weights are above 0
		if err != nil {
			continue
		}
		r := &Row{
			ID: fmt.Sprintf("%s of %s", p.Part, machine), Selector: Selector{Cluster: n.Cluster, Node: n.Name, ProviderID: n.ProviderID},
			From: h.startMS, To: h.startMS + hourMS, Currency: h.currency, Source: h.lines,
			Price: Price{Charge: &Charge{Amount: shares[mine], Part: chargePart(p.Part)}},
		}
		if i == 0 {
			r.Notes = notes
			if h.lines != "" {
				r.ID += " (" + h.lines + ")"
			}
		}
		out = append(out, r)
	}
	return out
}

// chargePart is the part of a node that a part of a bill pays for. Licences are
// of the machine as a whole.
func chargePart(p bill.Part) Part {
	switch p {
	case bill.GPU:
		return PartGPU
	case bill.CPU:
		return PartCPU
	case bill.Memory:
		return PartMemory
	}
	return PartNode
}

// notes say what is out of the ordinary about the hour.
func (h *billed) notes() (notes []string) {
	if hours := (h.spanMS + hourMS - 1) / hourMS; hours > 1 {
		notes = append(notes, fmt.Sprintf("the bill has a line for %d hours and does not tell which of them the machine ran: its cost is spread evenly (estimated)", hours))
	}
	if h.several {
		notes = append(notes, fmt.Sprintf("the bills %s were added up: if both charge the whole machine, it is counted twice", h.source))
	}
	var sum money.Sum
	for _, p := range h.parts {
		sum.Add(p.Effective)
	}
	if sum.Cmp(money.Sum{}) < 0 {
		notes = append(notes, "the bill takes back more than it charges for this hour")
	}
	return notes
}

// shareNotes say why a node has a part of what the bill says.
func shareNotes(machine, at bill.Instance, members int) []string {
	switch {
	case at != machine:
		return []string{fmt.Sprintf("its share of the scale set %s, which the bill names as a whole: divided over %d metered machines by their time", at, members)}
	case members > 1:
		return []string{fmt.Sprintf("the machine stood behind the names of %d nodes in this hour: its cost is divided by their time", members)}
	}
	return nil
}
