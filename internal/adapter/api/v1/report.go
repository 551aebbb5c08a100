// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
)

// Report is sums of charges over a time.
type Report struct {
	From   time.Time `json:"from" doc:"The first hour."`
	To     time.Time `json:"to" doc:"The end of the last hour."`
	Month  string    `json:"month,omitempty" example:"2026-11" doc:"The month, where one was asked for."`
	Booked bool      `json:"booked" doc:"true: what was booked in the month, as its statements have it; false: what its hours cost as is now known."`
	Open   bool      `json:"open,omitempty" doc:"true: hours that are not booked yet, as far as their records have come. What is booked for them may be something else."`
	By     []string  `json:"by" doc:"The dimensions of the rows."`
	Where  []Filter  `json:"where" doc:"Which charges were counted."`
	Cost   string    `json:"cost" enum:"net,charged" doc:"net: everything booked; charged: only the first rating of each hour."`
	View   string    `json:"view" enum:"apart,distributed" doc:"apart: platform accounts (idle, overhead, …) on their own; distributed: on those to whom the policy gave them."`
	Top    int       `json:"top" doc:"How many rows of workloads were kept; the others are one row. 0: all."`
	// Sections are one for each currency: currencies are never added.
	Sections []Section `json:"sections" doc:"One for each currency, in order of the codes: currencies are never added. What has no price is in the section of the only currency, or in a first one without a currency."`
}

// Filter keeps charges by one dimension.
type Filter struct {
	By  string   `json:"by" example:"namespace"`
	In  []string `json:"in" minItems:"1"`
	Not bool     `json:"not,omitempty" doc:"true: charges with none of these values."`
}

// Section is the rows of one currency. Unpriced stands first: it is not in any
// amount below.
type Section struct {
	Currency string   `json:"currency" example:"USD" doc:"ISO 4217; empty: nothing here has a price."`
	Unpriced Unpriced `json:"unpriced" doc:"What has no price, of the total: in no amount below."`
	Total    Columns  `json:"total" doc:"The sum of the rows."`
	Balance  Balance  `json:"balance" doc:"The total beside what the nodes cost."`
	Rows     []Row    `json:"rows"`
}

// Unpriced is time without a price.
type Unpriced struct {
	GPUMS    int64 `json:"gpu_ms" doc:"GPUs × milliseconds."`
	CPUMS    int64 `json:"cpu_ms" doc:"Shares of nodes' CPU × milliseconds."`
	MemoryMS int64 `json:"memory_ms" doc:"Shares of nodes' memory × milliseconds."`
}

// Balance sets a total beside what the nodes cost.
type Balance struct {
	Assets      *money.Sum   `json:"assets" nullable:"true" doc:"What the nodes cost in the time; null: not known. total − assets is the sum of the differences."`
	Differences []Difference `json:"differences" doc:"Why the total is another than the assets: each by what it adds."`
}

// Difference is a named part of total − assets.
type Difference struct {
	Name   string    `json:"name" doc:"reconciliation, corrections of other months, booked in other months, adjustments and corrections left out, filtered out, not rated yet, out of balance"`
	Amount money.Sum `json:"amount"`
	Detail string    `json:"detail,omitempty"`
}

// Row is one combination of values.
type Row struct {
	Keys    map[string]string `json:"keys" doc:"The value of each dimension. Empty: only workloads have one, and this is none."`
	Class   string            `json:"class,omitempty" enum:"workload,owner,platform,reconciliation" doc:"What the row is of, where a dimension has no value for it."`
	Account string            `json:"account,omitempty" doc:"Of a row that is of no workload: the account."`
	Others  int               `json:"others,omitempty" doc:"How many combinations are added up in this row; left out for one."`
	Columns
}

// Columns are sums.
type Columns struct {
	Cost *Cost `json:"cost" doc:"null: nothing in it has a price. Unknown, not free."`
	// Unpriced is left out where all has a price.
	Unpriced   *Unpriced  `json:"unpriced,omitempty" doc:"What in it has no price; left out where all has one."`
	Quantities Quantities `json:"quantities"`
	Lines      int        `json:"lines" doc:"How many lines of the ledger."`
}

// Cost is money of the section's currency.
type Cost struct {
	_         struct{}  `nullable:"true"`
	Total     money.Sum `json:"total"`
	GPU       money.Sum `json:"gpu" doc:"gpu + cpu + memory = total, drifts apart."`
	CPU       money.Sum `json:"cpu"`
	Memory    money.Sum `json:"memory"`
	Charged   money.Sum `json:"charged" doc:"charged + adjusted + corrected = total."`
	Adjusted  money.Sum `json:"adjusted"`
	Corrected money.Sum `json:"corrected"`
	Platform  []Part    `json:"platform" doc:"What of the total is platform accounts' own, or was taken over from them."`
	Grades    []Part    `json:"grades" doc:"The total by how well the use is known."`
	Prices    []Part    `json:"prices" doc:"The total by where the price came from: listed, billed."`
}

// Part is a named part of an amount.
type Part struct {
	Name   string    `json:"name"`
	Amount money.Sum `json:"amount"`
}

// Quantities are what stands beside the cost.
type Quantities struct {
	GPUMS               int64       `json:"gpu_ms" doc:"GPUs × milliseconds, platform accounts' too."`
	AllocatedGPUMS      int64       `json:"allocated_gpu_ms" doc:"What workloads were charged for."`
	UsedGPUMS           int64       `json:"used_gpu_ms" doc:"Of that: for memory they held."`
	ReservedUnusedGPUMS int64       `json:"reserved_unused_gpu_ms" doc:"Of that: for memory they kept from others and did not hold."`
	LeakedGPUMS         int64       `json:"leaked_gpu_ms" doc:"Of that: what nobody had given them."`
	PresentMS           int64       `json:"present_ms" doc:"Time in which pods held something, on each partition."`
	GrantedMS           int64       `json:"granted_ms" doc:"Time in which pods had a grant, on each partition."`
	HeldByteMS          ledger.Wide `json:"held_byte_ms" doc:"GPU memory × time that workloads held."`
	CPUNS               ledger.Wide `json:"cpu_ns" doc:"CPU time of workloads, in nanoseconds."`
	CPURequestMilliMS   ledger.Wide `json:"cpu_request_milli_ms" doc:"Thousandths of CPUs asked for × milliseconds."`
	MemoryByteMS        ledger.Wide `json:"memory_byte_ms" doc:"Memory of the nodes × time that workloads used."`
	MemoryRequestByteMS ledger.Wide `json:"memory_request_byte_ms"`
}

// ReportOf makes the shape of a report.
func ReportOf(r *report.Report) Report {
	from, to := r.Spec.FromMS, r.Spec.ToMS
	out := Report{
		Booked: r.Spec.Booked, Open: r.Spec.Open, By: []string{}, Cost: string(r.Spec.Cost), View: string(r.Spec.View), Top: r.Spec.Top,
		Where: list(r.Spec.Where, func(f *report.Filter) Filter { return Filter{By: string(f.By), In: f.In, Not: f.Not} }),
	}
	if r.Spec.Month != 0 {
		from, to, out.Month = r.Spec.Month.StartMS(), r.Spec.Month.EndMS(), r.Spec.Month.String()
	}
	out.From, out.To = start(from), start(to)
	if out.Cost == "" {
		out.Cost = string(report.Net)
	}
	if out.View == "" {
		out.View = string(report.Apart)
	}
	for _, d := range r.Spec.By {
		out.By = append(out.By, string(d))
	}
	out.Sections = list(r.Sections, func(s *report.Section) Section { return sectionOf(s, out.By) })
	return out
}

func sectionOf(s *report.Section, by []string) Section {
	return Section{
		Currency: string(s.Currency), Unpriced: Unpriced(s.Total.Unpriced), Total: columnsOf(&s.Total),
		Balance: Balance{
			Assets:      s.Balance.Assets,
			Differences: list(s.Balance.Differences, func(d *report.Difference) Difference { return Difference(*d) }),
		},
		Rows: list(s.Rows, func(r *report.Row) Row {
			row := Row{Keys: map[string]string{}, Class: string(r.Class), Account: r.Account, Others: r.Others, Columns: columnsOf(&r.Columns)}
			for i, d := range by {
				row.Keys[d] = r.Keys[i]
			}
			return row
		}),
	}
}

func columnsOf(c *report.Columns) Columns {
	q := &c.Quantities
	out := Columns{
		Lines: c.Lines,
		Quantities: Quantities{
			GPUMS: q.GPUMS, AllocatedGPUMS: q.AllocatedMS, UsedGPUMS: q.UsedMS, ReservedUnusedGPUMS: q.UnusedMS, LeakedGPUMS: q.LeakedMS,
			PresentMS: q.PresentMS, GrantedMS: q.GrantedMS, HeldByteMS: q.HeldByteMS, CPUNS: q.CPUNanos,
			CPURequestMilliMS: q.CPURequestMilliMS, MemoryByteMS: q.MemoryByteMS, MemoryRequestByteMS: q.RequestByteMS,
		},
	}
	if c.Unpriced != (report.Unpriced{}) {
		u := Unpriced(c.Unpriced)
		out.Unpriced = &u
	}
	if k := c.Cost; k != nil {
		out.Cost = &Cost{
			Total: k.Total, GPU: k.GPU, CPU: k.CPU, Memory: k.Memory, Charged: k.Charged, Adjusted: k.Adjusted, Corrected: k.Corrected,
			Platform: parts(k.Platform), Grades: parts(k.Grades), Prices: parts(k.Prices),
		}
	}
	return out
}

func parts(in []report.Part) []Part {
	return list(in, func(p *report.Part) Part { return Part(*p) })
}
