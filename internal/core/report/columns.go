// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Columns are what a row adds up. All of it sums over rows.
type Columns struct {
	// Cost is nil where nothing in the row has a price: unknown, not 0.
	Cost *Cost
	// Unpriced is what has no price, share × time.
	Unpriced Unpriced
	Quantities
	Lines int
}

// Unpriced is share × time without a price, in milliseconds: of GPUs, and of
// nodes' CPU and memory.
type Unpriced struct {
	GPUMS, CPUMS, MemoryMS int64
}

// Quantities stand beside the cost. Times are GPUs × milliseconds.
type Quantities struct {
	// GPUMS is all of the row's share of GPUs × time, platform accounts' too.
	GPUMS int64
	// AllocatedMS is what workloads were charged for: UsedMS for memory they
	// held, UnusedMS for memory they kept from others and did not hold, and the
	// rest while nobody measured. LeakedMS is what of it nobody gave them.
	AllocatedMS, UsedMS, UnusedMS, LeakedMS int64
	// PresentMS and GrantedMS are times in which pods held something, or had a
	// grant, on each partition.
	PresentMS, GrantedMS int64
	// HeldByteMS is GPU memory × time that workloads held, byte-milliseconds.
	HeldByteMS ledger.Wide
	// Of workloads' CPU and memory of the nodes. A fleet of some thousand CPUs fills
	// 64 bits with the nanoseconds of a month.
	CPUNanos          ledger.Wide
	CPURequestMilliMS ledger.Wide
	MemoryByteMS      ledger.Wide
	RequestByteMS     ledger.Wide
}

// Hours is milliseconds as hours, for display.
func Hours(ms int64) float64 { return float64(ms) / hourMS }

// GiBHours is byte-milliseconds as GiB × hours, for display.
func GiBHours(w ledger.Wide) float64 { return w.Float() / (1 << 30) / hourMS }

// Cost is money, all of one currency.
type Cost struct {
	Total money.Sum
	// GPU, CPU and Memory sum to Total, with drifts, which are for no resource.
	GPU, CPU, Memory money.Sum
	// Charged, Adjusted and Corrected sum to Total.
	Charged, Adjusted, Corrected money.Sum
	// Platform is what of Total is platform accounts' own or, in the view
	// distributed, was taken over from them, in their fixed order.
	Platform []Part
	// Grades are Total by how well the use was known, Prices by where the price
	// came from; each sums to Total, but for drifts, which no sample tells of.
	Grades, Prices []Part
}

// Part is a named part of an amount.
type Part struct {
	Name   string
	Amount money.Sum
}

// Of is the part's fraction of a total, for display; false where that is 0.
func (p Part) Of(total money.Sum) (float64, bool) {
	if total == (money.Sum{}) {
		return 0, false
	}
	return p.Amount.Float() / total.Float(), true
}

var (
	platforms = allocation.PlatformAccounts()
	grades    = gpu.Grades()
	prices    = []pricing.Grade{pricing.Listed, pricing.Billed}
)

// sums adds lines up.
type sums struct {
	total      money.Sum
	byResource [3]money.Sum
	byKind     [3]money.Sum
	byPlatform [7]money.Sum
	byGrade    [gpu.GradeCount]money.Sum
	byPrice    [2]money.Sum
	// priced is how many lines have a price, pricedMS their share × time.
	priced   int
	pricedMS int64
	unpriced [3]int64
	Quantities
	lines int
}

// add adds lines that are alike, with their amounts as the view has them.
func (s *sums) add(l *ledger.Line, class ledger.Class, t *Tally) {
	s.lines += t.Lines
	at := resourceOrder(l.Resource)
	if t.Priced {
		s.priced += t.Lines
		s.pricedMS += t.ShareMS
		s.pay(l, at, t)
	} else if at >= 0 {
		s.unpriced[at] += t.ShareMS
	}
	s.count(l, class, t)
}

// amount is what the line comes to in the view, times the sign: apart, a
// platform account has what it passed on, too.
func amount(l *ledger.Line, view View, sign money.Nano) (sum money.Sum) {
	sum.Add(sign * *l.Amount)
	if view == Apart && l.Moved != nil {
		sum.Add(sign * *l.Moved)
	}
	return sum
}

func (s *sums) pay(l *ledger.Line, at int, t *Tally) {
	s.total.AddSum(t.Amount)
	if at >= 0 {
		s.byResource[at].AddSum(t.Amount)
	}
	s.byKind[kindOrder(l.Kind)].AddSum(t.Amount)
	for i := range prices {
		if prices[i] == l.Price {
			s.byPrice[i].AddSum(t.Amount)
		}
	}
	account := l.From
	if l.EntryKind == allocation.Platform {
		account = l.Account
	}
	if account != "" {
		for i := range platforms {
			if platforms[i] == account {
				s.byPlatform[i].AddSum(t.Amount)
			}
		}
	}
	addAll(s.byGrade[:], t.Grades[:])
}

func (s *sums) count(l *ledger.Line, class ledger.Class, t *Tally) {
	of := class == ledger.Workload
	switch l.Resource {
	case allocation.ResourceGPU:
		s.GPUMS += t.ShareMS
		if of {
			s.AllocatedMS += t.ShareMS
			s.UsedMS += t.UsedMS
			s.UnusedMS += t.UnusedMS
			s.PresentMS += t.PresentMS
			s.GrantedMS += t.GrantedMS
			s.HeldByteMS.Add(t.ByteMS)
		}
		if l.EntryKind == allocation.Leak {
			s.LeakedMS += t.ShareMS
		}
	case allocation.ResourceCPU:
		s.CPUNanos.Add(t.CPUNanos)
		s.CPURequestMilliMS.Add(t.CPURequestMilliMS)
	case allocation.ResourceMemory:
		s.MemoryByteMS.Add(t.ByteMS)
		s.RequestByteMS.Add(t.RequestByteMS)
	}
}

func (s *sums) plus(o *sums) {
	s.total.AddSum(o.total)
	addAll(s.byResource[:], o.byResource[:])
	addAll(s.byKind[:], o.byKind[:])
	addAll(s.byPlatform[:], o.byPlatform[:])
	addAll(s.byGrade[:], o.byGrade[:])
	addAll(s.byPrice[:], o.byPrice[:])
	s.priced += o.priced
	s.pricedMS += o.pricedMS
	for i, ms := range o.unpriced {
		s.unpriced[i] += ms
	}
	s.Quantities.plus(&o.Quantities)
	s.lines += o.lines
}

func addAll(to, from []money.Sum) {
	for i := range from {
		to[i].AddSum(from[i])
	}
}

func (q *Quantities) plus(o *Quantities) {
	q.GPUMS += o.GPUMS
	q.AllocatedMS += o.AllocatedMS
	q.UsedMS += o.UsedMS
	q.UnusedMS += o.UnusedMS
	q.LeakedMS += o.LeakedMS
	q.PresentMS += o.PresentMS
	q.GrantedMS += o.GrantedMS
	q.HeldByteMS.Add(o.HeldByteMS)
	q.CPUNanos.Add(o.CPUNanos)
	q.CPURequestMilliMS.Add(o.CPURequestMilliMS)
	q.MemoryByteMS.Add(o.MemoryByteMS)
	q.RequestByteMS.Add(o.RequestByteMS)
}

// nothing says that the row has nothing to say, such as one whose charges were
// all taken back.
func (s *sums) nothing() bool {
	return s.total == (money.Sum{}) && s.unpriced == [3]int64{} && s.Quantities == (Quantities{}) && s.pricedMS == 0
}

// columns is the sums as a row shows them.
func (s *sums) columns() Columns {
	c := Columns{Unpriced: Unpriced{s.unpriced[0], s.unpriced[1], s.unpriced[2]}, Quantities: s.Quantities, Lines: s.lines}
	// A price of nothing (no money, no time) says nothing about what beside it
	// has no price.
	if s.total != (money.Sum{}) || s.pricedMS != 0 || s.priced > 0 && s.unpriced == [3]int64{} {
		c.Cost = s.cost()
	}
	return c
}

func (s *sums) cost() *Cost {
	return &Cost{
		Total: s.total, GPU: s.byResource[0], CPU: s.byResource[1], Memory: s.byResource[2],
		Charged: s.byKind[0], Adjusted: s.byKind[1], Corrected: s.byKind[2],
		Platform: partsOf(platforms, s.byPlatform[:]), Grades: partsOf(grades[:], s.byGrade[:]), Prices: partsOf(prices, s.byPrice[:]),
	}
}

func partsOf[T ~string](names []T, amounts []money.Sum) (out []Part) {
	for i, name := range names {
		if amounts[i] != (money.Sum{}) {
			out = append(out, Part{string(name), amounts[i]})
		}
	}
	return out
}

func resourceOrder(r allocation.Resource) int {
	switch r {
	case allocation.ResourceGPU:
		return 0
	case allocation.ResourceCPU:
		return 1
	case allocation.ResourceMemory:
		return 2
	}
	return -1
}

func kindOrder(k ledger.Kind) int {
	switch k {
	case ledger.Charge:
		return 0
	case ledger.Adjustment:
		return 1
	}
	return 2
}
