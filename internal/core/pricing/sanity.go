// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Doubt is a kind of thing that is often wrong in lists of prices.
type Doubt string

// The doubts. The errors behind each were seen in public lists.
const (
	DoubtNoPrice     Doubt = "no_price"          // a row without a price, or one that contradicts itself
	DoubtAbsurd      Doubt = "absurd_price"      // per GPU-hour outside of what any GPU costs
	DoubtSpot        Doubt = "spot_above_demand" // spot dearer than on demand
	DoubtModelMemory Doubt = "gpu_memory_model"  // not a size in which the model is sold
	DoubtMemorySum   Doubt = "gpu_memory_total"  // count × memory is not the total
	DoubtOld         Doubt = "out_of_date"       // not seen at its source for long
	DoubtOverlap     Doubt = "overlap"           // two rows for the same nodes at the same time
	DoubtCurrency    Doubt = "currency_missing"
	DoubtSource      Doubt = "source_missing" // nobody could check it
)

// DoubtfulRow is one doubt about one row.
type DoubtfulRow struct {
	Doubt Doubt
	Row   string // its id
	Place int    // in the book, from 0
	Says  string
}

// SanityRules are the limits of Doubts. The zero value checks neither age nor
// sources.
type SanityRules struct {
	// Now and MaxAge, milliseconds: a row in effect at Now that was last seen
	// longer ago is out of date. 0: ages are not checked.
	Now, MaxAge int64
	// NeedSource doubts rows without a source or the day it was read.
	NeedSource bool
}

// absurd are the bounds of a price per GPU-hour that make sense, by currency. A
// currency that is not here is not checked.
var absurd = map[money.Currency]struct{ low, high money.Nano }{
	"USD": {50_000_000, 40 * money.Unit},
	"EUR": {50_000_000, 40 * money.Unit},
	"GBP": {50_000_000, 40 * money.Unit},
	"CNY": {350_000_000, 290 * money.Unit},
}

// Doubts are what is doubtful in a book, in the order of its rows.
func Doubts(b *Book, rules SanityRules) []DoubtfulRow {
	d := doubter{rules: rules}
	for i := range b.Rows {
		d.row, d.place = &b.Rows[i], i
		d.check()
	}
	d.pairs(b.Rows)
	slices.SortStableFunc(d.found, func(x, y DoubtfulRow) int { return cmp.Compare(x.Place, y.Place) })
	return d.found
}

type doubter struct {
	rules SanityRules
	row   *Row
	place int
	found []DoubtfulRow
}

func (d *doubter) doubt(kind Doubt, format string, args ...any) {
	d.found = append(d.found, DoubtfulRow{Doubt: kind, Row: d.row.ID, Place: d.place, Says: fmt.Sprintf(format, args...)})
}

func (d *doubter) check() {
	r := d.row
	if r.Currency == "" {
		d.doubt(DoubtCurrency, "the price has no currency")
	} else if err := r.Check(); err != nil {
		d.doubt(DoubtNoPrice, "%v", err)
	}
	d.absurd()
	d.memory()
	if d.rules.NeedSource && (r.Source == "" || r.Retrieved == 0) {
		d.doubt(DoubtSource, "the row does not say where the price was read, or when")
	}
	if age := d.rules.Now - r.Retrieved; d.rules.MaxAge > 0 && r.Retrieved != 0 && age > d.rules.MaxAge && r.active(d.rules.Now) {
		d.doubt(DoubtOld, "last seen at its source on %s, %d days ago", day(r.Retrieved), age/(24*hourMS))
	}
}

// perGPU is the price of a GPU-hour that a row comes to.
func (r *Row) perGPU() (money.Nano, bool) {
	switch node, whole, err := r.Price.node(0); {
	case r.Price.GPU != nil && (!whole || r.Price.Host != nil):
		return *r.Price.GPU, true
	case err != nil || !whole || r.Shape.GPUs == 0:
		return 0, false
	default:
		each, err := PerHour(node, int64(r.Shape.GPUs))
		return each, err == nil
	}
}

func (d *doubter) absurd() {
	bounds, known := absurd[d.row.Currency]
	each, ok := d.row.perGPU()
	if known && ok && (each < bounds.low || each > bounds.high) {
		d.doubt(DoubtAbsurd, "%s %s per GPU-hour is outside of %s to %s: is it per month, per node, or in another currency?", each, d.row.Currency, bounds.low, bounds.high)
	}
}

func (d *doubter) memory() {
	s := d.row.Shape
	if s.GPUs > 0 && s.GPUMemoryGiB > 0 && s.GPUMemoryTotalGiB > 0 && int64(s.GPUs)*s.GPUMemoryGiB != s.GPUMemoryTotalGiB {
		d.doubt(DoubtMemorySum, "%d GPUs of %d GiB are not %d GiB", s.GPUs, s.GPUMemoryGiB, s.GPUMemoryTotalGiB)
	}
	sizes := sizesOf(s.Model)
	if s.GPUMemoryGiB == 0 || len(sizes) == 0 || slices.ContainsFunc(sizes, func(size int64) bool { return near(s.GPUMemoryGiB, size) }) {
		return
	}
	d.doubt(DoubtModelMemory, "%s is not sold with %d GiB, but with %v: is it the total, or in another unit?", s.Model, s.GPUMemoryGiB, sizes)
}

// near allows for what is usable of a card, an eighth less at most, and for GB
// in place of GiB.
func near(got, size int64) bool { return got*8 >= size*7 && got*16 <= size*17 }

func sizesOf(model string) (sizes []int64) {
	plain, longest := "-"+plainModel(model)+"-", 0
	for _, m := range modelMemory {
		if len(m.name) > longest && strings.Contains(plain, "-"+m.name+"-") {
			sizes, longest = m.sizes, len(m.name)
		}
	}
	return sizes
}

// pairs compares rows for the same nodes: with each other in time, and spot
// with on demand.
func (d *doubter) pairs(rows []Row) {
	same := map[string][]int{}
	for i := range rows {
		if rows[i].Price.Charge != nil {
			continue // lines of a bill add up
		}
		key := rows[i].nodes()
		for _, j := range same[key] {
			d.pair(rows, j, i)
		}
		same[key] = append(same[key], i)
	}
}

// pair compares two rows, the first of which stands before the second.
func (d *doubter) pair(rows []Row, first, second int) {
	a, b := &rows[first], &rows[second]
	if (span{a.From, until(a.To)}).and(span{b.From, until(b.To)}).length() == 0 {
		return
	}
	if a.Capacity == b.Capacity {
		d.row, d.place = b, second
		d.doubt(DoubtOverlap, "row %s prices the same nodes at the same time and stands before it: this row is not used then", a.ID)
		return
	}
	spot, demand, place := a, b, first
	if b.Capacity == Spot {
		spot, demand, place = b, a, second
	}
	if s, o := spot.amount(), demand.amount(); spot.Capacity == Spot && demand.Capacity == OnDemand && spot.Currency == demand.Currency && s > o {
		d.row, d.place = spot, place
		d.doubt(DoubtSpot, "spot at %s is dearer than on demand at %s (row %s)", s, o, demand.ID)
	}
}

// amount is the price that a row states first, per hour.
func (r *Row) amount() money.Nano {
	if node, whole, err := r.Price.node(max(1, r.Shape.GPUs)); whole && err == nil {
		return node
	}
	if r.Price.GPU != nil {
		return *r.Price.GPU
	}
	return 0
}

func until(to int64) int64 {
	if to == 0 {
		return forever
	}
	return to
}

// nodes is the selector as a text, how the nodes were bought left out.
func (s *Selector) nodes() string {
	var labels []string
	for k, v := range s.Labels {
		labels = append(labels, k+"="+strings.ToLower(v))
	}
	slices.Sort(labels)
	return strings.ToLower(fmt.Sprintf("%q %q %q %q %q %q %q", s.Provider, s.Region, s.Zone, s.Cluster, s.InstanceType, plainModel(s.Model), s.ProviderID)) +
		fmt.Sprintf("%q %q", s.Node, labels)
}
