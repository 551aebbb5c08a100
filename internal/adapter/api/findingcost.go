// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"maps"
	"slices"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
)

// costOf says which lines of the ledger a finding is paid in, or why that is not told.
func costOf(kind attribution.FindingKind) (of, unknown string) {
	switch kind {
	case attribution.UnallocatedUse:
		return "leak", ""
	case attribution.OverLimit:
		return "holder", ""
	case attribution.ExternalProcess:
		return "host", ""
	case attribution.OrphanedMemory, attribution.OutsideInstances:
		return "unattributed", ""
	case attribution.DeviceUnavailable:
		return "unavailable", ""
	case attribution.DeviceUnmeasured:
		return "unmeasured", ""
	case attribution.DoubleOwner, attribution.ClaimWithoutPod, attribution.AllocatedNotVisible:
		return "", "not_apart"
	default:
		return "", "no_money"
	}
}

// hourKey is how reports write an hour.
const hourKey = "2006-01-02T15Z"

// payer is where a report has the money of a finding: an account's on a GPU, and, of
// a leak, only what was not given.
type payer struct {
	device, account string
	leak            bool
}

// paid is what the ledger has, by hour.
type paid struct {
	of    map[payer]map[int64][]v1.FindingAmount
	gaps  map[payer]map[int64]bool  // hours with time without a price
	rated map[string]map[int64]bool // hours of which a GPU has any line
	in    map[string]money.Currency // of a GPU
}

func payerOf(f *v1.Finding, of string) payer {
	p := payer{device: string(f.Device), account: of}
	if of == "leak" || of == "holder" {
		p.account, p.leak = f.Account, of == "leak"
	}
	return p
}

// findingCosts sets what findings have cost: one report answers for all of them.
func (h *handler) findingCosts(ctx context.Context, list []v1.Finding) error {
	devices := map[string]bool{}
	var from, to int64
	for i := range list {
		f := &list[i]
		of, unknown := costOf(f.Kind)
		if of != "" && f.Device == "" {
			of, unknown = "", "not_apart"
		}
		f.Cost = &v1.FindingCost{Of: of, Unknown: unknown}
		if of == "" {
			continue
		}
		first, end := stood(f)
		if len(devices) == 0 || first < from {
			from = first
		}
		to = max(to, end)
		devices[string(f.Device)] = true
	}
	if len(devices) == 0 {
		return nil
	}
	r, err := h.Books.Report(ctx, report.Spec{FromMS: from, ToMS: to, By: []report.Dimension{report.Hour, report.GPU, report.Account, report.EntryKind},
		Where: []report.Filter{{By: report.GPU, In: slices.Sorted(maps.Keys(devices))}}})
	if err != nil {
		return err
	}
	p := paidOf(&r)
	for i := range list {
		if f := &list[i]; f.Cost.Of != "" {
			p.settle(f)
		}
	}
	return nil
}

// stood are the whole hours in which a finding stood.
func stood(f *v1.Finding) (from, to int64) {
	from, to = f.First.UnixMilli(), f.Last.UnixMilli()
	return from - from%hourMS, to + (hourMS-to%hourMS)%hourMS
}

func paidOf(r *report.Report) paid {
	p := paid{of: map[payer]map[int64][]v1.FindingAmount{}, gaps: map[payer]map[int64]bool{}, rated: map[string]map[int64]bool{}, in: map[string]money.Currency{}}
	for i := range r.Sections {
		s := &r.Sections[i]
		for j := range s.Rows {
			p.take(s.Currency, &s.Rows[j])
		}
	}
	return p
}

func (p *paid) take(currency money.Currency, row *report.Row) {
	at, err := time.Parse(hourKey, row.Keys[0])
	if err != nil {
		return // charges without an hour are of no finding
	}
	hour, device := at.UnixMilli(), row.Keys[1]
	seen(p.rated, device, hour)
	if row.Cost != nil {
		p.in[device] = currency
	}
	k := payer{device: device, account: row.Keys[2]}
	p.add(k, hour, currency, row)
	if row.Keys[3] == "leak" {
		k.leak = true
		p.add(k, hour, currency, row)
	}
}

func seen[K comparable](in map[K]map[int64]bool, k K, hour int64) {
	if in[k] == nil {
		in[k] = map[int64]bool{}
	}
	in[k][hour] = true
}

func (p *paid) add(k payer, hour int64, currency money.Currency, row *report.Row) {
	if row.Cost == nil || row.Unpriced.GPUMS > 0 {
		seen(p.gaps, k, hour)
		return
	}
	if p.of[k] == nil {
		p.of[k] = map[int64][]v1.FindingAmount{}
	}
	p.of[k][hour] = append(p.of[k][hour], v1.FindingAmount{Currency: string(currency), Amount: row.Cost.GPU})
}

// settle adds up the hours of a finding. One of them without a price makes the sum
// unknown: a part of it would pass for all.
func (p *paid) settle(f *v1.Finding) {
	from, to := stood(f)
	k, sums, rated := payerOf(f, f.Cost.Of), map[string]money.Sum{}, int64(0)
	for hour := from; hour < to; hour += hourMS {
		if p.rated[k.device][hour] {
			rated = hour + hourMS
		}
		if p.gaps[k][hour] {
			f.Cost.Of, f.Cost.Unknown = "", "no_price"
			return
		}
		for _, a := range p.of[k][hour] {
			sum := sums[a.Currency]
			sum.AddSum(a.Amount)
			sums[a.Currency] = sum
		}
	}
	switch currency, priced := p.in[k.device]; {
	case rated == 0:
		f.Cost.Of, f.Cost.Unknown = "", "not_rated"
		return
	case !priced:
		f.Cost.Of, f.Cost.Unknown = "", "no_price"
		return
	case len(sums) == 0:
		sums[string(currency)] = money.Sum{} // its hours are rated, and nothing is booked for it
	}
	until := time.UnixMilli(rated).UTC()
	f.Cost.Until = &until
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		f.Cost.Amounts = append(f.Cost.Amounts, v1.FindingAmount{Currency: currency, Amount: sums[currency]})
	}
}
