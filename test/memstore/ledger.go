// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/adapter/billimport"
	"github.com/gputally/gputally/internal/adapter/focus"
	"github.com/gputally/gputally/internal/adapter/ledgerfile"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// Ledger is the service of app/billing on a store in memory, with the records of
// a small fleet rated and booked.
type Ledger struct {
	*billing.Service
	Store *Store
	// Adviser answers from it, as of whatever day is asked for.
	Adviser *advising.Service
}

// Start and End are the time of the fleet's records.
var (
	Start = time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC)
	End   = Start.Add(6 * time.Hour)
)

// Open makes a ledger of six hours of three nodes, as it stands at now. The node
// aws-1 is listed in USD, gcp-1 too but from the third hour on only, rack-1 in EUR.
func Open(ctx context.Context, now time.Time) (*Ledger, error) {
	store := New()
	batches, err := records()
	if err != nil {
		return nil, err
	}
	store.Append(batches...)
	clock := func() time.Time { return now }
	shelf, err := billing.NewShelf(ctx, store, priceList{}, nil, clock)
	if err != nil {
		return nil, err
	}
	rater := billing.NewRater(store, shelf, billing.RaterConfig{Now: clock})
	for {
		n, _, err := store.Backlog(ctx, now)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if err := rater.Round(ctx); err != nil {
			return nil, err
		}
		if left, _, _ := store.Backlog(ctx, now); left >= n {
			return nil, fmt.Errorf("%d hours are not rated: %+v", left, rater.Status())
		}
	}
	recorder := advising.NewRecorder(store, advising.RecorderConfig{Now: clock})
	if err := recorder.Round(ctx); err != nil {
		return nil, err
	}
	adviser := advising.NewService(store, advising.ServiceConfig{Now: clock})
	return &Ledger{Store: store, Adviser: adviser, Service: billing.NewService(store, shelf, rater, billing.ServiceConfig{
		Version: "v1-test", Labels: []string{"project", "team"}, Read: readBill, Write: writers{}, Now: clock,
		Bytes: func() int64 { return 3 << 20 },
		Backup: func(_ context.Context, name string) (inquiry.BackupMade, error) {
			return inquiry.BackupMade{Dir: "/backups/" + name, Bytes: 3 << 20, TookMS: 1500}, nil
		},
	})}, nil
}

// priceList is the prices of the fleet.
type priceList struct{}

// Load gives the book.
func (priceList) Load() (billing.Loaded, error) {
	usd, eur, gcp := 5*money.Unit+672*money.Unit/1000, 4*money.Unit+money.Unit/3, 853*money.Unit/1000
	seen := Start.AddDate(0, -1, 0).UnixMilli()
	split := pricing.DefaultPolicy()
	split.References = append(split.References, pricing.Reference{Name: "the rack's own", Currency: "EUR", VCPU: money.Unit / 50, GiB: money.Unit / 400})
	return billing.Loaded{
		Revision: "r1", Split: split, Policy: allocation.Policy{},
		Books: []*pricing.Book{{Name: "prices.yaml", Revision: "r1", Grade: pricing.Listed, Rows: []pricing.Row{
			{ID: "aws", Selector: pricing.Selector{InstanceType: "g5.12xlarge"}, Currency: "USD", Price: pricing.Price{Node: &usd}, Source: "the contract", Retrieved: seen},
			{ID: "gcp", Selector: pricing.Selector{Node: "gcp-1"}, From: Start.Add(3 * time.Hour).UnixMilli(), Currency: "USD", Price: pricing.Price{Node: &gcp}, Source: "the contract", Retrieved: seen},
			{ID: "rack", Selector: pricing.Selector{Node: "rack-1"}, Currency: "EUR", Price: pricing.Price{Node: &eur}, Source: "accounting", Retrieved: seen},
		}}},
		Files: map[string][]byte{"prices.yaml": []byte("# made by the test\n")},
	}, nil
}

// readBill reads the files of a delivery.
func readBill(d inquiry.Delivery, line func(bill.Line) error) (inquiry.Imported, error) {
	var inputs []billimport.Input
	for _, f := range d.Files {
		inputs = append(inputs, billimport.Input{Name: f.Name, Data: f.Data, Size: f.Size})
	}
	sum, err := billimport.Read(billimport.Options{Source: d.Source, Periods: d.Periods}, inputs, line)
	if err != nil {
		return inquiry.Imported{}, &inquiry.Wrong{Field: "files", Why: err.Error()}
	}
	out := inquiry.Imported{Source: sum.Source, Format: sum.Format, Hash: sum.Hash, Rows: sum.Rows, Lines: sum.Lines, Machines: sum.Machines, Charges: sum.Charges, Notes: sum.Notes}
	for _, p := range sum.Periods {
		ip := inquiry.ImportedPeriod{Period: p.Period}
		for _, s := range p.Sums {
			ip.Sums = append(ip.Sums, inquiry.BillSum(s))
		}
		out.Periods = append(out.Periods, ip)
	}
	return out, nil
}

// writers write exports.
type writers struct{}

func (writers) Lines(w io.Writer, f inquiry.ExportFormat, lines iter.Seq2[*ledger.Line, error], pods report.Lookup) (inquiry.Exported, error) {
	n, err := ledgerfile.Lines(w, string(f), lines, pods)
	return inquiry.Exported{Rows: n}, err
}

func (writers) Usage(w io.Writer, f inquiry.ExportFormat, batches iter.Seq2[usage.Batch, error]) (inquiry.Exported, error) {
	n, err := ledgerfile.Usage(w, string(f), batches)
	return inquiry.Exported{Rows: n}, err
}

func (writers) FOCUS(w io.Writer, _ inquiry.ExportFormat, in billing.FOCUSInput) (inquiry.Exported, error) {
	out, err := focus.NewCSV(w)
	if err != nil {
		return inquiry.Exported{}, err
	}
	sum, err := focus.Export(out, focus.Books{Lines: in.Lines, Hour: in.Hour, Rated: in.Hours, Pods: in.Pods})
	if err == nil {
		err = out.Close()
	}
	return inquiry.Exported{Rows: sum.Rows, Notes: []string{fmt.Sprintf("%d lines without a price are left out", sum.UnpricedLines)}}, err
}
