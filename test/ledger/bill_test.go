// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/billimport"
	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/test/history"
)

// readBill reads the files of a delivery as the server does.
func readBill(d inquiry.Delivery, line func(bill.Line) error) (inquiry.Imported, error) {
	var inputs []billimport.Input
	for _, f := range d.Files {
		inputs = append(inputs, billimport.Input{Name: f.Name, Data: f.Data, Size: f.Size})
	}
	sum, err := billimport.Read(billimport.Options{Source: d.Source, Periods: d.Periods}, inputs, line)
	if err != nil {
		return inquiry.Imported{}, err
	}
	out := inquiry.Imported{Source: sum.Source, Format: sum.Format, Hash: sum.Hash, Rows: sum.Rows, Lines: sum.Lines, Machines: sum.Machines, Charges: sum.Charges}
	for _, p := range sum.Periods {
		out.Periods = append(out.Periods, inquiry.ImportedPeriod{Period: p.Period})
	}
	return out, nil
}

// billOf is a bill in FOCUS: a machine at a price for each hour of a time.
func billOf(instance, cost string, from time.Time, hours int) string {
	const head = "BillingCurrency,BillingPeriodEnd,BillingPeriodStart,ChargeCategory,ChargePeriodEnd,ChargePeriodStart,EffectiveCost,ListCost,ProviderName,ResourceId,ServiceCategory,ServiceName,ChargeDescription,PricingUnit,RegionId\n"
	var b strings.Builder
	b.WriteString(head)
	for h := range hours {
		at := from.Add(time.Duration(h) * time.Hour)
		fmt.Fprintf(&b, "USD,2026-12-01,2026-11-01,Usage,%s,%s,%s,%s,AWS,%s,Compute,Amazon Elastic Compute Cloud,p4d.24xlarge Instance Hour,Hours,us-east-1\n",
			at.Add(time.Hour).Format(time.RFC3339), at.Format(time.RFC3339), cost, "21.957642", instance)
	}
	return b.String()
}

// deliverBill imports a bill.
func (b *books) deliverBill(text string) inquiry.Imported {
	b.t.Helper()
	got, err := b.service.ImportBill(b.t.Context(), inquiry.Delivery{Source: "aws-payer", By: "test",
		Files: []inquiry.DeliveredFile{{Name: "focus.csv", Data: strings.NewReader(text), Size: int64(len(text))}}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.rate()
	return got
}

// TestBill: a bill of one machine for ten hours moves these hours, to what the bill
// says, and no others. Reading it twice changes nothing; its next edition, with one
// hour less and another price, takes its place.
func TestBill(t *testing.T) {
	const instance = "i-0a3f19c27be5d4861"
	b, _ := few(t, nil)
	from := time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC)
	before := b.lines(ledger.Query{})
	got := b.deliverBill(billOf(instance, "15.25", from, 10))
	if got.HoursDue != 10 || got.Machines != 10 {
		t.Errorf("%d hours of nodes are rated anew, %d lines are of machines, want 10 and 10", got.HoursDue, got.Machines)
	}
	after := b.lines(ledger.Query{})
	onlyIn(t, added(before, after), history.NodeAWS, from, from.Add(10*time.Hour))
	b.cost(after, from, 10, "152.50", pricing.Billed)
	b.sound()

	if again := b.deliverBill(billOf(instance, "15.25", from, 10)); again.HoursDue != 0 {
		t.Errorf("the same bill again has %d hours rated anew", again.HoursDue)
	}
	if now := b.lines(ledger.Query{}); len(now) != len(after) {
		t.Errorf("the same bill again booked %d lines", len(now)-len(after))
	}

	b.deliverBill(billOf(instance, "15.50", from, 9))
	now := b.lines(ledger.Query{})
	b.cost(now, from, 9, "139.50", pricing.Billed)
	b.cost(now, from.Add(9*time.Hour), 1, "21.957642", pricing.Listed)
	b.sound()
}

// cost holds what the AWS node's lines of some hours come to.
func (b *books) cost(lines []ledger.Line, from time.Time, hours int, want string, grade pricing.Grade) {
	b.t.Helper()
	var sum, other money.Sum
	for i := range lines {
		l := &lines[i]
		if l.Node != history.NodeAWS || l.HourMS < from.UnixMilli() || l.HourMS >= from.Add(time.Duration(hours)*time.Hour).UnixMilli() {
			continue
		}
		if l.Price == grade {
			sum.Add(*l.Amount)
		} else {
			other.Add(*l.Amount)
		}
	}
	if n := nano(b.t, want); sum.String() != n.String() || other != (money.Sum{}) {
		b.t.Errorf("%d hours from %s come to %s by a %s price and %s by another, want %s and nothing", hours, from, sum.String(), grade, other.String(), n)
	}
}
