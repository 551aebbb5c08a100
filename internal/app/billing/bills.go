// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// ImportBill reads a delivery and files it, in place of what the same source
// filed for its periods, and puts the hours that cost something else now on the
// list of those to be rated.
func (s *Service) ImportBill(ctx context.Context, d inquiry.Delivery) (inquiry.Imported, error) {
	if s.cfg.Read == nil {
		return inquiry.Imported{}, &inquiry.Refused{Code: "bills_off", Why: "this server reads no bills"}
	}
	of := map[bill.Period]*filing{}
	out, err := s.cfg.Read(d, func(l bill.Line) error {
		f := of[l.Period]
		if f == nil {
			f = &filing{}
			of[l.Period] = f
		}
		f.lines++
		return f.hours.Add(&l)
	})
	if err != nil {
		return out, err
	}
	for i := range out.Periods {
		p := &out.Periods[i]
		if f := of[p.Period]; f != nil {
			if p.Change, err = s.file(ctx, d, out.Hash, p.Period, f); err != nil {
				return out, err
			}
			out.Totals = append(out.Totals, f.sums...)
		}
	}
	if !slices.ContainsFunc(out.Periods, func(p inquiry.ImportedPeriod) bool { return p.Change != bill.Unchanged }) {
		return out, nil
	}
	if _, err := s.rules.Revision(ctx); err != nil { // takes the bill in
		return out, fmt.Errorf("the bill is filed; its hours will be rated later: %w", err)
	}
	changed, err := s.rater.repriced(ctx, time.UnixMilli(out.Charges.StartMS).UTC().Truncate(time.Hour), time.UnixMilli(out.Charges.EndMS).UTC().Add(time.Hour))
	if err == nil {
		err = s.store.Ask(ctx, changed)
	}
	if err != nil {
		return out, fmt.Errorf("the bill is filed; its hours will be rated later: %w", err)
	}
	out.HoursDue = len(changed)
	s.rater.Wake()
	return out, nil
}

// filing is one billing period of a delivery.
type filing struct {
	hours bill.Hours
	lines int64
	sums  []bill.FiledSum
}

func (s *Service) file(ctx context.Context, d inquiry.Delivery, hash string, period bill.Period, f *filing) (bill.Change, error) {
	hours, totals, err := f.hours.Result()
	if err != nil {
		return "", err
	}
	for _, t := range totals {
		f.sums = append(f.sums, bill.FiledSum{Total: t, Amount: t.Effective.String()})
	}
	filed := bill.Filed{
		Source: d.Source, Period: period, Hash: hash, Lines: f.lines, AtMS: s.cfg.Now().UnixMilli(), By: d.By, Totals: f.sums,
	}
	for _, file := range d.Files {
		filed.Files = append(filed.Files, file.Name)
	}
	return s.store.File(ctx, filed, hours)
}

// Reconcile sets a month's bills beside what was metered.
func (s *Service) Reconcile(ctx context.Context, m ledger.Month) (inquiry.Reconciliation, error) {
	out := inquiry.Reconciliation{Month: m}
	from, to := time.UnixMilli(m.StartMS()).UTC(), time.UnixMilli(m.EndMS()).UTC()
	var hours []bill.Hour
	for h, err := range s.store.BillHours(ctx, from, to) {
		if err != nil {
			return out, err
		}
		hours = append(hours, *h)
	}
	metered, nodes, err := s.metered(ctx, from, to)
	if err != nil {
		return out, err
	}
	rec, err := bill.Reconcile(hours, metered)
	if err != nil {
		return out, err
	}
	out.Matched = billBucket(rec.Both, nodes)
	out.CostOnly = billBucket(rec.CostOnly, nodes)
	out.TelemetryOnly = meteredBucket(rec.TelemetryOnly, nodes)
	return out, nil
}

// meteredNode is the node that a machine was.
type meteredNode struct{ cluster, node, instanceType string }

// metered is for how long telemetry knew each machine in each hour.
func (s *Service) metered(ctx context.Context, from, to time.Time) ([]bill.Metered, map[bill.Instance]meteredNode, error) {
	var out []bill.Metered
	nodes := map[bill.Instance]meteredNode{}
	for h, err := range s.store.Rated(ctx, from, to, "") {
		if err != nil {
			return nil, nil, err
		}
		for i := range h.Nodes {
			p := &h.Nodes[i]
			if id := bill.OfProviderID(p.Node.ProviderID); id != "" {
				out = append(out, bill.Metered{Instance: id, StartMS: h.HourMS, MeteredMS: p.ToMS - p.FromMS})
				nodes[id] = meteredNode{h.Cluster, h.Node, p.Node.InstanceType}
			}
		}
	}
	return out, nodes, nil
}

// largest is how many machines of a bucket are named.
const largest = 20

func billBucket(hours []bill.Hour, nodes map[bill.Instance]meteredNode) inquiry.Bucket {
	b := newBucket(nodes)
	for i := range hours {
		h := &hours[i]
		b.add(h.Instance, h.InstanceType, h.StartMS, h.Currency, h.Effective)
	}
	return b.result()
}

func meteredBucket(hours []bill.Metered, nodes map[bill.Instance]meteredNode) inquiry.Bucket {
	b := newBucket(nodes)
	for _, h := range hours {
		b.add(h.Instance, "", h.StartMS, "", 0)
	}
	return b.result()
}

// bucket adds hours of machines up.
type bucket struct {
	nodes    map[bill.Instance]meteredNode
	machines map[bill.Instance]*inquiry.MachineHours
	amounts  []inquiry.Amount
	hours    int64
}

func newBucket(nodes map[bill.Instance]meteredNode) *bucket {
	return &bucket{nodes: nodes, machines: map[bill.Instance]*inquiry.MachineHours{}}
}

func (b *bucket) add(id bill.Instance, instanceType string, ms int64, c money.Currency, n money.Nano) {
	m := b.machines[id]
	if m == nil {
		of := b.nodes[id]
		m = &inquiry.MachineHours{Instance: id, InstanceType: cmp.Or(instanceType, of.instanceType), Cluster: of.cluster, Node: of.node, FirstMS: ms, LastMS: ms}
		b.machines[id] = m
	}
	m.Hours++
	b.hours++
	m.FirstMS, m.LastMS = min(m.FirstMS, ms), max(m.LastMS, ms)
	if c != "" {
		m.Amounts = addAmount(m.Amounts, c, n)
		b.amounts = addAmount(b.amounts, c, n)
	}
}

func addAmount(to []inquiry.Amount, c money.Currency, n money.Nano) []inquiry.Amount {
	i, there := slices.BinarySearchFunc(to, c, func(a inquiry.Amount, c money.Currency) int { return strings.Compare(string(a.Currency), string(c)) })
	if !there {
		to = slices.Insert(to, i, inquiry.Amount{Currency: c})
	}
	to[i].Amount.Add(n)
	return to
}

func (b *bucket) result() inquiry.Bucket {
	out := inquiry.Bucket{Machines: len(b.machines), Hours: b.hours, Amounts: b.amounts}
	for _, m := range b.machines {
		out.Largest = append(out.Largest, *m)
	}
	slices.SortFunc(out.Largest, func(x, y inquiry.MachineHours) int {
		return cmp.Or(compareAmounts(y.Amounts, x.Amounts), cmp.Compare(y.Hours, x.Hours), strings.Compare(string(x.Instance), string(y.Instance)))
	})
	out.Largest = out.Largest[:min(largest, len(out.Largest))]
	return out
}

// compareAmounts compares in the first currency that both have.
func compareAmounts(a, b []inquiry.Amount) int {
	for _, x := range a {
		for _, y := range b {
			if x.Currency == y.Currency {
				return x.Amount.Cmp(y.Amount)
			}
		}
	}
	return cmp.Compare(len(a), len(b))
}
