// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"math/big"
	"strconv"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// Explanation is how charges came about.
type Explanation struct {
	Entries int     `json:"entries" doc:"How many charges there are; the traces may be fewer."`
	Traces  []Trace `json:"traces" doc:"Those that cost most come first."`
}

// Trace is how one charge came about, in nine steps.
type Trace struct {
	Charge Charge  `json:"charge"`
	Source *Charge `json:"source,omitempty" doc:"Of a shared charge: the platform account's that it was taken from. The steps up to the eighth are about that."`
	Text   string  `json:"text" doc:"All of it in plain words."`

	Sample    SampleStep    `json:"sample" doc:"1. What was looked at, how often."`
	Attribute AttributeStep `json:"attribute" doc:"2. Who it was, and what the scheduler had given."`
	Integrate IntegrateStep `json:"integrate" doc:"3. What the samples came to over time."`
	Spool     SpoolStep     `json:"spool" doc:"4. How the records were kept on the node."`
	Ship      ShipStep      `json:"ship" doc:"5. How often batches arrived, and how often they count."`
	Journal   JournalStep   `json:"journal" doc:"6. The records beside those of the last booking."`
	Price     PriceStep     `json:"price" doc:"7. What the node cost."`
	Allocate  AllocateStep  `json:"allocate" doc:"8. How that was divided."`
	Booked    BookedStep    `json:"booked" doc:"9. What the ledger has."`
}

// SampleStep is what was looked at.
type SampleStep struct {
	Modes         []string `json:"modes" doc:"How the card was shared, as evidence said."`
	IntervalsMS   []int64  `json:"intervals_ms" doc:"The sampling intervals that were set."`
	MeasuredMS    int64    `json:"measured_ms"`
	UnmeasuredMS  int64    `json:"unmeasured_ms" doc:"Time without a reading."`
	UnavailableMS int64    `json:"unavailable_ms" doc:"Time without a working card."`
	MissingMS     int64    `json:"missing_ms" doc:"Time of which no record tells."`
	Reasons       []string `json:"reasons"`
}

// AttributeStep is who it was.
type AttributeStep struct {
	Holder          string        `json:"holder" doc:"Empty for a platform account."`
	Leak            bool          `json:"leak"`
	Grants          []GrantTime   `json:"grants"`
	OtherGrants     int           `json:"other_grants" doc:"How many other pods had a grant."`
	GrantsUnknownMS int64         `json:"grants_unknown_ms"`
	Findings        []FindingTime `json:"findings"`
}

// GrantTime is a grant and how long it stood.
type GrantTime struct {
	Source    string `json:"source"`
	Resource  string `json:"resource,omitempty"`
	Claim     string `json:"claim,omitempty"`
	Mode      string `json:"mode"`
	Replicas  int64  `json:"replicas,omitempty"`
	Reserved  string `json:"reserved" example:"1/4" doc:"What it keeps from others, of the partition."`
	GrantedMS int64  `json:"granted_ms"`
}

// FindingTime is a finding and how long it stood.
type FindingTime struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Detail   string `json:"detail"`
	ForMS    int64  `json:"for_ms"`
}

// IntegrateStep is what the samples came to.
type IntegrateStep struct {
	Windows             int         `json:"windows"`
	PresentMS           int64       `json:"present_ms"`
	KnownMS             int64       `json:"known_ms" doc:"Time with a holding of known size."`
	ByteMS              usage.Total `json:"byte_ms"`
	PeakBytes           uint64      `json:"peak_bytes"`
	CapacityByteMS      usage.Total `json:"capacity_byte_ms" doc:"= reserved + held + unattributed + free"`
	ReservedByteMS      usage.Total `json:"reserved_byte_ms" doc:"The driver's."`
	HeldByteMS          usage.Total `json:"held_byte_ms"`
	UnattributedByteMS  usage.Total `json:"unattributed_byte_ms"`
	FreeByteMS          usage.Total `json:"free_byte_ms"`
	CPUNS               uint64      `json:"cpu_ns"`
	CPURequestMilliMS   int64       `json:"cpu_request_milli_ms"`
	MemoryRequestByteMS usage.Total `json:"memory_request_byte_ms"`
}

// SpoolStep is how the records were kept.
type SpoolStep struct {
	Batches []BatchRun `json:"batches"`
	Gaps    []Gap      `json:"gaps"`
}

// BatchRun is batches of one agent process whose numbers follow one another.
type BatchRun struct {
	Agent string `json:"agent"`
	Boot  string `json:"boot"`
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// Gap is time without records.
type Gap struct {
	Start      time.Time `json:"start"`
	DurationMS int64     `json:"duration_ms"`
	Reason     string    `json:"reason"`
}

// ShipStep counts batches.
type ShipStep struct {
	Arrived int `json:"arrived"`
	Counted int `json:"counted"`
}

// JournalStep compares digests of the records.
type JournalStep struct {
	Digest string `json:"digest"`
	Booked string `json:"booked,omitempty" doc:"Of the last booking."`
}

// PriceStep is what the node cost.
type PriceStep struct {
	NodeCost
	Part *money.Nano `json:"part" nullable:"true" doc:"Of the slot, of the CPU or of the memory; null: no price, or in no slot that is paid for."`
}

// AllocateStep is how the part was divided. Weights are milliseconds as exact
// fractions.
type AllocateStep struct {
	Policy    string      `json:"policy"`
	Held      string      `json:"held,omitempty" example:"10/3" doc:"Share that was in use × time."`
	Reserved  string      `json:"reserved,omitempty" doc:"Share that grants kept from everyone else × time."`
	ForHeld   string      `json:"for_held,omitempty" doc:"Given for what was held …"`
	ForUnused string      `json:"for_unused,omitempty" doc:"… for what was kept unused …"`
	ForOther  string      `json:"for_other,omitempty" doc:"… and for neither. The three sum to the weight."`
	Weight    string      `json:"weight,omitempty"`
	OfMS      int64       `json:"of_ms,omitempty" doc:"The whole: the time of the slot in the piece."`
	Amount    *money.Nano `json:"amount" nullable:"true" doc:"What the hour comes to now, after platform accounts were passed on."`
	Moved     *money.Nano `json:"moved,omitempty" doc:"What was passed on of it."`
	Remarks   []string    `json:"remarks"`
}

// BookedStep is what the ledger has.
type BookedStep struct {
	Lines    []Line      `json:"lines" doc:"In the order of booking."`
	Standing *money.Nano `json:"standing" nullable:"true" doc:"What they sum to; null: nothing stands, or it has no price."`
	Agrees   bool        `json:"agrees" doc:"The hour as it is now comes to what was booked. false: a new rating is due."`
}

// NodeCost is what a node cost in a piece of an hour.
type NodeCost struct {
	Start       time.Time   `json:"start"`
	DurationMS  int64       `json:"duration_ms"`
	Priced      bool        `json:"priced" doc:"false: the amounts are unknown."`
	Reason      string      `json:"reason,omitempty" doc:"Why there is no price."`
	Currency    string      `json:"currency,omitempty"`
	Total       *money.Nano `json:"total" nullable:"true" doc:"= slots + cpu + memory; null: no price."`
	Slots       []SlotCost  `json:"slots"`
	CPU         *money.Nano `json:"cpu" nullable:"true"`
	Memory      *money.Nano `json:"memory" nullable:"true"`
	CPUMilli    int64       `json:"cpu_milli" doc:"CPUs of the node, in thousandths."`
	MemoryBytes uint64      `json:"memory_bytes"`
	Basis       *Basis      `json:"basis,omitempty"`
}

// SlotCost is the part of one GPU slot.
type SlotCost struct {
	Slot string     `json:"slot"`
	Cost money.Nano `json:"cost"`
}

// NodeCostOf makes the shape of a cost.
func NodeCostOf(c *pricing.NodeCost) NodeCost {
	out := NodeCost{
		Start: start(c.StartMS), DurationMS: c.DurationMS, Priced: c.Priced, Reason: c.Reason, Currency: string(c.Currency),
		Slots: []SlotCost{}, CPUMilli: c.CPUMilli, MemoryBytes: c.MemoryBytes,
	}
	if c.Priced {
		out.Total, out.CPU, out.Memory, out.Basis = &c.Total, &c.CPU, &c.Memory, BasisOf(&c.Basis)
		out.Slots = list(c.Slots, func(s *pricing.SlotCost) SlotCost { return SlotCost(*s) })
	}
	return out
}

// ExplanationOf makes the shape of an explanation.
func ExplanationOf(e *inquiry.Explanation) Explanation {
	return Explanation{Entries: e.Entries, Traces: list(e.Traces, TraceOf)}
}

// TraceOf makes the shape of a trace.
func TraceOf(t *report.Trace) Trace {
	out := Trace{
		Charge: ChargeOf(&t.Subject), Text: t.Text(), Sample: sampleOf(&t.Sample), Attribute: attributeOf(&t.Attribute),
		Integrate: integrateOf(&t.Integrate), Spool: spoolOf(&t.Spool), Ship: ShipStep(t.Ship), Journal: JournalStep(t.Journal),
		Price: PriceStep{NodeCostOf(&t.Price.Cost), t.Price.Part}, Allocate: allocateOf(&t.Allocate), Booked: bookedOf(&t.Booked),
	}
	if t.Source != nil {
		s := entryOf(t.Source)
		out.Source = &s
	}
	return out
}

// entryOf is an entry of allocation as what is charged.
func entryOf(e *allocation.Entry) Charge {
	out := Charge{
		Entry: e.ID, Cluster: e.Cluster, Node: e.Node, Start: start(e.StartMS), DurationMS: e.DurationMS, Resource: string(e.Resource),
		Slot: e.Slot, GPU: string(e.Partition.Device), Model: e.Model, Profile: e.Profile, EntryKind: string(e.Kind), Class: "platform",
		Account: e.Account, From: e.From, Note: e.Note, Policy: e.Policy, Currency: string(e.Currency), Unit: e.Holder.Unit,
	}
	if e.Partition.Device != "" {
		out.Partition = e.Partition.String()
	}
	if e.Basis != nil {
		out.Price = string(e.Basis.Grade)
	}
	return out
}

func sampleOf(s *report.SampleStep) SampleStep {
	return SampleStep{
		Modes: list(s.Modes, func(m *gpu.Mode) string { return string(*m) }), IntervalsMS: orEmpty(s.IntervalsMS), MeasuredMS: s.MeasuredMS,
		UnmeasuredMS: s.UnmeasuredMS, UnavailableMS: s.UnavailableMS, MissingMS: s.MissingMS, Reasons: orEmpty(s.Reasons),
	}
}

func attributeOf(a *report.AttributeStep) AttributeStep {
	out := AttributeStep{Leak: a.Leak, OtherGrants: a.OtherGrants, GrantsUnknownMS: a.GrantsUnknownMS}
	switch {
	case a.Holder.Kind == "":
	case a.Holder.Unit != "":
		out.Holder = a.Holder.Unit
	default:
		out.Holder = a.Holder.Account()
	}
	out.Grants = list(a.Grants, func(g *report.GrantTime) GrantTime {
		return GrantTime{Source: g.Source, Resource: g.Resource, Claim: g.Claim, Mode: string(g.Mode), Replicas: g.Replicas,
			Reserved: ratioText(g.Reserved), GrantedMS: g.GrantedMS}
	})
	out.Findings = list(a.Findings, func(f *report.FindingTime) FindingTime {
		return FindingTime{Kind: string(f.Kind), Severity: string(f.Severity), Detail: f.Detail, ForMS: f.ForMS}
	})
	return out
}

func ratioText(r gpu.Ratio) string {
	if r.IsZero() {
		return "0"
	}
	return strconv.FormatInt(int64(r.Num), 10) + "/" + strconv.FormatInt(int64(r.Den), 10)
}

func integrateOf(s *report.IntegrateStep) IntegrateStep {
	return IntegrateStep{
		Windows: s.Windows, PresentMS: s.PresentMS, KnownMS: s.KnownMS, ByteMS: s.ByteMS, PeakBytes: s.PeakBytes,
		CapacityByteMS: s.CapacityByteMS, ReservedByteMS: s.ReservedByteMS, HeldByteMS: s.HeldByteMS,
		UnattributedByteMS: s.UnattributedByteMS, FreeByteMS: s.FreeByteMS, CPUNS: s.CPUNanos,
		CPURequestMilliMS: s.CPURequestMilliMS, MemoryRequestByteMS: s.MemoryRequestByteMS,
	}
}

func spoolOf(s *report.SpoolStep) SpoolStep {
	return SpoolStep{
		Batches: list(s.Runs, func(r *report.BatchRun) BatchRun { return BatchRun(*r) }),
		Gaps: list(s.Gaps, func(g *usage.Gap) Gap {
			return Gap{Start: start(g.StartMS), DurationMS: g.DurationMS, Reason: g.Reason}
		}),
	}
}

func allocateOf(a *report.AllocateStep) AllocateStep {
	out := AllocateStep{
		Policy: a.Policy, Amount: a.Amount, Moved: a.Moved,
		Remarks: list(a.Remarks, func(r *allocation.Remark) string { return string(r.Kind) + ": " + r.Detail }),
	}
	if l := a.Line; l != nil {
		out.Held, out.Reserved, out.ForHeld, out.ForUnused = ratText(l.Held), ratText(l.Reserved), ratText(l.ForHeld), ratText(l.ForUnused)
		out.ForOther, out.Weight, out.OfMS = ratText(l.ForOther), ratText(l.Weight), l.Of
	}
	return out
}

func ratText(r *big.Rat) string {
	if r == nil {
		return ""
	}
	return r.RatString()
}

func bookedOf(b *report.BookedStep) BookedStep {
	out := BookedStep{Lines: list(b.Lines, LineOf), Agrees: b.Agrees}
	if b.Standing != nil {
		out.Standing = b.Standing.Amount
	}
	return out
}
