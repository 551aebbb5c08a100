// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/bill"
)

// once is what counts of an hour that several sources bill. They add up where
// each tells parts of its own, such as a provider's machine and a reseller's
// licence. A source whose part another one tells already, in the order of their
// names, is left aside, with a note: two bills of one machine are one cost told
// twice, not twice the cost.
func once(hours []billed) (taken []billed, aside []string) {
	if len(hours) == 1 {
		return hours, nil
	}
	for i := range hours {
		h := &hours[i]
		at := slices.IndexFunc(taken, func(t billed) bool { return t.source != h.source && t.tells(h) })
		if at < 0 {
			taken = append(taken, *h)
			continue
		}
		aside = append(aside, fmt.Sprintf("two bills charge this machine: that of %s counts, that of %s (%s %s) is left aside", taken[at].source, h.source, h.sum(), h.currency))
	}
	return taken, aside
}

// tells says whether two bills pay for one and the same part of a machine.
func (h *billed) tells(o *billed) bool {
	for _, a := range h.parts {
		for _, b := range o.parts {
			if a.Part == b.Part || contains(a.Part, b.Part) || contains(b.Part, a.Part) {
				return true
			}
		}
	}
	return false
}

// contains: what is sold whole contains what others sell in parts. A licence is
// beside the machine.
func contains(whole, part bill.Part) bool {
	return whole == bill.Whole && (part == bill.GPU || part == bill.CPU || part == bill.Memory)
}

func (h *billed) sum() string {
	sum := h.parts[0].Effective
	for _, p := range h.parts[1:] {
		sum += p.Effective
	}
	return sum.String()
}

// Doubts about bills.
const (
	DoubtBilledTwice    Doubt = "billed_twice"    // two sources charge for the same part of a machine
	DoubtBillCurrencies Doubt = "bill_currencies" // a machine's charges are in two currencies
)

// Doubts are what is doubtful in the bills, one for each machine and kind, in
// order of the machines.
func (b *Bills) Doubts() (out []DoubtfulRow) {
	for _, machine := range slices.Sorted(maps.Keys(b.hours)) {
		twice, mixed := &doubtHours{}, &doubtHours{}
		of := b.hours[machine]
		for len(of) > 0 {
			n := 1
			for n < len(of) && of[n].startMS == of[0].startMS {
				n++
			}
			twice.look(of[:n], sourcesTwice)
			mixed.look(of[:n], currenciesOf)
			of = of[n:]
		}
		out = twice.doubt(out, DoubtBilledTwice, machine, "%s charge for the same machine in %d hours from %s on: only the first counts; remove one of the imports, or import the bill under one source")
		out = mixed.doubt(out, DoubtBillCurrencies, machine, "charges in %s stand side by side in %d hours from %s on: they cannot be added, and the bill does not price these hours")
	}
	for i := range out {
		out[i].Place = i
	}
	return out
}

// doubtHours counts the hours of a machine in which something is doubtful.
type doubtHours struct {
	names []string
	hours int
	first int64
}

func (d *doubtHours) look(hours []billed, find func([]billed) []string) {
	names := find(hours)
	if len(names) == 0 {
		return
	}
	if d.hours++; d.hours == 1 {
		d.first = hours[0].startMS
	}
	for _, name := range names {
		if !slices.Contains(d.names, name) {
			d.names = append(d.names, name)
		}
	}
}

func (d *doubtHours) doubt(out []DoubtfulRow, kind Doubt, machine bill.Instance, says string) []DoubtfulRow {
	if d.hours == 0 {
		return out
	}
	return append(out, DoubtfulRow{Doubt: kind, Row: string(machine), Says: fmt.Sprintf(says, strings.Join(d.names, " and "), d.hours, day(d.first))})
}

// sourcesTwice are the sources of an hour if two of them tell the same.
func sourcesTwice(hours []billed) (names []string) {
	_, aside := once(hours)
	for i := range hours {
		if len(aside) > 0 || hours[i].several {
			names = append(names, hours[i].source)
		}
	}
	return names
}

// currenciesOf are the currencies of what counts in an hour, if there are two.
func currenciesOf(hours []billed) (names []string) {
	taken, _ := once(hours)
	for i := range taken {
		if c := string(taken[i].currency); !slices.Contains(names, c) {
			names = append(names, c)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return names
}
