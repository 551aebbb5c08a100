// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Evidence is what a charge is explained from.
type Evidence struct {
	// Lines are the ledger's of the node-hour; lines of others are passed over.
	Lines []ledger.Line
	// Hour is what the node cost and what was recorded, and Policy how it is
	// divided.
	Hour   allocation.Hour
	Policy allocation.Policy
}

// Explain walks the steps of one entry, by its id. It divides the hour again
// and sets what that comes to beside what was booked.
func Explain(entry string, ev Evidence) (Trace, error) {
	x := explainer{entry: entry, ev: ev}
	if err := x.gather(); err != nil {
		return Trace{}, fmt.Errorf("explain entry %s: %w", entry, err)
	}
	if err := x.walk(); err != nil {
		return Trace{}, fmt.Errorf("explain entry %s: %w", entry, err)
	}
	return x.trace, nil
}

// explainer fills a trace.
type explainer struct {
	entry string
	ev    Evidence
	lines []ledger.Line
	// now is the entry as the hour comes to now, nil where it has none.
	now     *allocation.Entry
	remarks []allocation.Remark
	// about is what the first eight steps are about: the entry, or, of a shared
	// one, the platform account's that it was taken from.
	about allocation.Entry
	trace Trace
}

// gather finds the entry in the lines and in the hour as it is now.
func (x *explainer) gather() error {
	for _, l := range x.ev.Lines {
		if l.Entry == x.entry {
			x.lines = append(x.lines, l)
		}
	}
	slices.SortFunc(x.lines, func(a, b ledger.Line) int { return a.Compare(&b) })
	result, err := allocation.Allocate(x.ev.Hour, x.ev.Policy)
	if err != nil {
		return err
	}
	x.remarks = result.Remarks
	if i := slices.IndexFunc(result.Entries, func(e allocation.Entry) bool { return e.ID == x.entry }); i >= 0 {
		x.now = &result.Entries[i]
	}
	switch {
	case x.now == nil && len(x.lines) == 0:
		return fmt.Errorf("it is neither in the %d lines given nor in what the hour comes to", len(x.ev.Lines))
	case len(x.lines) > 0 && x.lines[0].IsDrift():
		return fmt.Errorf("it is a drift on account %s: no sample led to it; its lines say why it was booked", x.lines[0].Account)
	}
	return x.subject(result.Entries)
}

// subject says what the steps are about.
func (x *explainer) subject(entries []allocation.Entry) error {
	standing, err := ledger.Net(x.lines)
	if err != nil {
		return err
	}
	x.trace.Booked.Lines = x.lines
	switch {
	case len(standing) > 0:
		x.trace.Booked.Standing = &standing[0]
		x.about = standing[0]
	case x.now != nil:
		x.about = *x.now
	}
	if n := len(x.lines); n > 0 {
		x.trace.Subject = x.lines[n-1].Facts
		if x.about.ID == "" { // taken back: explain what was
			x.about = entryOf(&x.trace.Subject)
		}
	} else {
		x.trace.Subject = factsOf(x.now)
	}
	if x.about.Kind == allocation.Shared {
		x.shared(entries)
	}
	return nil
}

// shared turns to the platform account's entry that a shared one comes from.
func (x *explainer) shared(entries []allocation.Entry) {
	for i := range entries {
		e := &entries[i]
		if e.Kind == allocation.Platform && e.Account == x.about.From && e.Resource == x.about.Resource && e.Slot == x.about.Slot &&
			e.Partition == x.about.Partition && e.StartMS == x.about.StartMS && (e.Note == x.about.Note || e.Holder.Unit == x.about.Note) {
			x.trace.Source, x.about = e, *e
			return
		}
	}
}

// entryOf is an entry of which only the facts are known.
func entryOf(f *ledger.Facts) allocation.Entry {
	return allocation.Entry{
		ID: f.Entry, Cluster: f.Cluster, Node: f.Node, HourMS: f.HourMS, StartMS: f.StartMS, DurationMS: f.DurationMS, Resource: f.Resource,
		Slot: f.Slot, Partition: f.Partition, Kind: f.EntryKind, Account: f.Account, From: f.From, Note: f.Note, Holder: f.Holder, Policy: f.Policy,
	}
}

// factsOf is the facts of an entry that was never booked.
func factsOf(e *allocation.Entry) ledger.Facts {
	f := ledger.Facts{
		Entry: e.ID, NodeHour: ledger.NodeHour{Cluster: e.Cluster, Node: e.Node, HourMS: e.HourMS}, StartMS: e.StartMS, DurationMS: e.DurationMS,
		Resource: e.Resource, Slot: e.Slot, Partition: e.Partition, EntryKind: e.Kind, Account: e.Account, From: e.From, Note: e.Note,
		Holder: e.Holder, Policy: e.Policy, Model: e.Model, Profile: e.Profile, Mode: e.Mode, Currency: e.Currency,
	}
	if e.Basis != nil {
		f.Price = e.Basis.Grade
	}
	return f
}

// walk fills the steps.
func (x *explainer) walk() error {
	x.records()
	x.journal()
	x.price()
	if err := x.allocate(); err != nil {
		return err
	}
	x.trace.Booked.Agrees = x.agrees()
	return nil
}

func (x *explainer) journal() {
	x.trace.Journal.Digest = ledger.DigestRecords(x.ev.Hour.Batches)
	if n := len(x.lines); n > 0 {
		x.trace.Journal.Booked = x.lines[n-1].Revision.Records
	}
}

// price finds the cost of the piece and of the part that was divided.
func (x *explainer) price() {
	costs := x.ev.Hour.Costs
	i := slices.IndexFunc(costs, func(c pricing.NodeCost) bool { return c.StartMS == x.about.StartMS })
	if i < 0 {
		return
	}
	c := &costs[i]
	x.trace.Price.Cost = *c
	if !c.Priced {
		return
	}
	switch x.about.Resource {
	case allocation.ResourceCPU:
		x.trace.Price.Part = &c.CPU
	case allocation.ResourceMemory:
		x.trace.Price.Part = &c.Memory
	default:
		for k := range c.Slots {
			if c.Slots[k].Slot == x.about.Slot {
				x.trace.Price.Part = &c.Slots[k].Cost
			}
		}
	}
}

// allocate takes allocation's own account of the entry.
func (x *explainer) allocate() error {
	step := &x.trace.Allocate
	step.Policy, step.Remarks = x.ev.Policy.Name(), x.remarks
	if x.now != nil {
		step.Amount, step.Moved = x.now.Amount, x.now.Moved
	}
	lines, err := allocation.Explain(x.ev.Hour, x.ev.Policy)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(lines, func(l allocation.Line) bool { return l.Entry.ID == x.about.ID }); i >= 0 {
		step.Line = &lines[i]
	}
	return nil
}

// agrees compares what was booked with what the hour comes to now.
func (x *explainer) agrees() bool {
	was, is := x.trace.Booked.Standing, x.now
	if was == nil || is == nil {
		return was == nil && is == nil
	}
	return sameMoney(was.Amount, is.Amount) && sameMoney(was.Moved, is.Moved) && was.Currency == is.Currency && was.ShareMS == is.ShareMS
}

func sameMoney(a, b *money.Nano) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return *a == *b
}
