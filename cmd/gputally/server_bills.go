// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/adapter/billimport"
	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// readBill reads the files of a delivery.
func readBill(d inquiry.Delivery, line func(bill.Line) error) (inquiry.Imported, error) {
	var inputs []billimport.Input
	for _, f := range d.Files {
		inputs = append(inputs, billimport.Input{Name: f.Name, Data: f.Data, Size: f.Size})
	}
	sum, err := billimport.Read(billimport.Options{Source: d.Source, Periods: d.Periods}, inputs, line)
	if err != nil {
		return inquiry.Imported{}, unreadable(err)
	}
	out := inquiry.Imported{
		Source: sum.Source, Format: sum.Format, Hash: sum.Hash, Rows: sum.Rows, Lines: sum.Lines, Machines: sum.Machines,
		Repeated: sum.Repeated, Charges: sum.Charges, Notes: sum.Notes,
	}
	for _, p := range sum.Periods {
		ip := inquiry.ImportedPeriod{Period: p.Period}
		for _, s := range p.Sums {
			ip.Sums = append(ip.Sums, inquiry.BillSum{Currency: s.Currency, Lines: s.Lines, Effective: s.Effective, Billed: s.Billed})
		}
		out.Periods = append(out.Periods, ip)
	}
	for _, l := range sum.LeftOut {
		out.LeftOut = append(out.LeftOut, inquiry.LeftOut{Reason: l.Reason, Rows: l.Rows})
	}
	for _, column := range slices.Sorted(maps.Keys(sum.Rounded)) {
		r := sum.Rounded[column]
		out.Notes = append(out.Notes, fmt.Sprintf("column %s: %d amounts have more than nine decimal places and were rounded, the first is %s in %s", column, r.Cells, r.Value, r.First))
	}
	return out, nil
}

// unreadable says what of the files cannot be read. Other errors are passed on.
func unreadable(err error) error {
	var of *billimport.Unreadable
	if errors.As(err, &of) {
		return &inquiry.Wrong{Field: "files", Why: err.Error()}
	}
	return err
}
