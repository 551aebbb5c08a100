// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
)

// Bills are the imports in force.
type Bills struct {
	Bills []Bill `json:"bills" doc:"By source and period."`
}

// Bill is an import. It stands until the same source files the same period again.
type Bill struct {
	Source string    `json:"source"`
	Period string    `json:"period" example:"2026-11" doc:"A month, or START/END."`
	Hash   string    `json:"hash" doc:"Of the content."`
	Files  []string  `json:"files"`
	Lines  int64     `json:"lines"`
	At     time.Time `json:"at" doc:"When it was imported."`
	By     string    `json:"by,omitempty"`
	Totals []BillSum `json:"totals"`
}

// BillSum is the sum of the lines of one category that went to one place.
type BillSum struct {
	Category string `json:"category" doc:"Usage, Purchase, Tax, Credit, Adjustment, Support"`
	Where    string `json:"where" enum:"hours,apart,no_machine,repeated" doc:"hours: machines' hours; apart: never spread; no_machine: of no machine; repeated: told once more, no money of its own."`
	Currency string `json:"currency"`
	Lines    int64  `json:"lines"`
	Amount   string `json:"amount"`
}

func billSumOf(s *bill.FiledSum) BillSum {
	return BillSum{string(s.Category), string(s.Where), string(s.Currency), s.Lines, s.Amount}
}

// BillsOf makes the shape of imports.
func BillsOf(filed []bill.Filed) Bills {
	return Bills{Bills: list(filed, func(f *bill.Filed) Bill {
		return Bill{f.Source, f.Period.String(), f.Hash, orEmpty(f.Files), f.Lines, start(f.AtMS), f.By, list(f.Totals, billSumOf)}
	})}
}

// Imported is what came of importing a bill.
type Imported struct {
	Source   string           `json:"source"`
	Format   string           `json:"format"`
	Hash     string           `json:"hash" doc:"Of the content, whatever the order of the files."`
	Rows     int64            `json:"rows"`
	Lines    int64            `json:"lines"`
	Machines int64            `json:"machine_lines" doc:"Lines that pay for a machine."`
	Repeated int64            `json:"repeated_lines" doc:"A provider's split cost lines: told once more, counted nowhere."`
	From     time.Time        `json:"from,omitzero" doc:"The span of all charge periods."`
	To       time.Time        `json:"to,omitzero"`
	Periods  []ImportedPeriod `json:"periods"`
	Totals   []BillSum        `json:"totals"`
	LeftOut  []LeftOut        `json:"left_out"`
	Notes    []string         `json:"notes"`
	HoursDue int              `json:"hours_due" doc:"Hours of nodes that are rated anew because of it."`
}

// ImportedPeriod is a billing period of a bill.
type ImportedPeriod struct {
	Period string      `json:"period" example:"2026-11"`
	Change string      `json:"change" enum:"added,replaced,unchanged"`
	Sums   []PeriodSum `json:"sums"`
}

// PeriodSum is the sums of a period in one currency.
type PeriodSum struct {
	Currency  string    `json:"currency"`
	Lines     int64     `json:"lines"`
	Effective money.Sum `json:"effective" doc:"The amortised cost."`
	Billed    money.Sum `json:"billed"`
}

// LeftOut are rows that were not taken.
type LeftOut struct {
	Reason string `json:"reason"`
	Rows   int64  `json:"rows"`
}

// ImportedOf makes the shape of an import.
func ImportedOf(i *inquiry.Imported) Imported {
	return Imported{
		Source: i.Source, Format: i.Format, Hash: i.Hash, Rows: i.Rows, Lines: i.Lines, Machines: i.Machines, Repeated: i.Repeated,
		From: at(i.Charges.StartMS), To: at(i.Charges.EndMS), Totals: list(i.Totals, billSumOf), Notes: orEmpty(i.Notes), HoursDue: i.HoursDue,
		LeftOut: list(i.LeftOut, func(l *inquiry.LeftOut) LeftOut { return LeftOut(*l) }),
		Periods: list(i.Periods, func(p *inquiry.ImportedPeriod) ImportedPeriod {
			return ImportedPeriod{p.Period.String(), string(p.Change), list(p.Sums, func(s *inquiry.BillSum) PeriodSum {
				return PeriodSum{string(s.Currency), s.Lines, s.Effective, s.Billed}
			})}
		}),
	}
}

// Reconciliation sets a month's bills beside what was metered.
type Reconciliation struct {
	Month         string `json:"month" example:"2026-11"`
	Matched       Bucket `json:"matched" doc:"On a bill, and metered."`
	CostOnly      Bucket `json:"cost_only" doc:"On a bill, not metered: cost without telemetry."`
	TelemetryOnly Bucket `json:"telemetry_only" doc:"Metered, on no bill: telemetry without cost."`
}

// Bucket is hours of machines.
type Bucket struct {
	Machines int            `json:"machines"`
	Hours    int64          `json:"hours"`
	Amounts  []Amount       `json:"amounts" doc:"One for each currency."`
	Largest  []MachineHours `json:"largest" doc:"Some of the machines, those that cost most first."`
}

// Amount is an exact sum in a currency.
type Amount struct {
	Currency string    `json:"currency"`
	Amount   money.Sum `json:"amount"`
}

// MachineHours are hours of one machine.
type MachineHours struct {
	Machine      string    `json:"machine" doc:"As the bill or Kubernetes names it."`
	InstanceType string    `json:"instance_type,omitempty"`
	Cluster      string    `json:"cluster,omitempty"`
	Node         string    `json:"node,omitempty"`
	Hours        int64     `json:"hours"`
	Amounts      []Amount  `json:"amounts"`
	First        time.Time `json:"first"`
	Last         time.Time `json:"last" doc:"The last of these hours."`
}

// ReconciliationOf makes the shape of a reconciliation.
func ReconciliationOf(r *inquiry.Reconciliation) Reconciliation {
	return Reconciliation{r.Month.String(), bucketOf(&r.Matched), bucketOf(&r.CostOnly), bucketOf(&r.TelemetryOnly)}
}

func bucketOf(b *inquiry.Bucket) Bucket {
	return Bucket{b.Machines, b.Hours, list(b.Amounts, amountOf), list(b.Largest, func(m *inquiry.MachineHours) MachineHours {
		return MachineHours{string(m.Instance), m.InstanceType, m.Cluster, m.Node, m.Hours, list(m.Amounts, amountOf), start(m.FirstMS), start(m.LastMS)}
	})}
}

func amountOf(a *inquiry.Amount) Amount { return Amount{string(a.Currency), a.Amount} }
