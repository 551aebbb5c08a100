// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Charge is what a line is of.
type Charge struct {
	Entry      string    `json:"entry" doc:"The id of the entry."`
	Set        string    `json:"set,omitempty" doc:"The set of clusters whose months it belongs to."`
	Cluster    string    `json:"cluster,omitempty"`
	Node       string    `json:"node"`
	Start      time.Time `json:"start" doc:"The beginning of the time charged for."`
	DurationMS int64     `json:"duration_ms"`
	Resource   string    `json:"resource,omitempty" enum:"gpu,cpu,memory" doc:"Left out for a drift, which is of none."`
	Slot       string    `json:"slot,omitempty" doc:"The paid place of the GPU."`
	GPU        string    `json:"gpu,omitempty" doc:"The UUID of the card."`
	Partition  string    `json:"partition,omitempty" doc:"The card or the MIG instance."`
	Model      string    `json:"model,omitempty"`
	Profile    string    `json:"profile,omitempty" doc:"Of a MIG instance."`
	EntryKind  string    `json:"entry_kind,omitempty" enum:"direct,leak,platform,shared"`
	Class      string    `json:"class" enum:"workload,owner,platform,reconciliation"`
	Account    string    `json:"account"`
	From       string    `json:"from,omitempty" doc:"Of a shared entry: the platform account that it was taken from."`
	Note       string    `json:"note,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Pod        string    `json:"pod,omitempty"`
	PodUID     string    `json:"pod_uid,omitempty"`
	Unit       string    `json:"unit,omitempty" doc:"Of a process of the host."`
	Policy     string    `json:"policy,omitempty"`
	Currency   string    `json:"currency,omitempty" doc:"Left out where no price is known."`
	Price      string    `json:"price,omitempty" enum:"listed,billed"`
}

// ChargeOf makes the shape of what a line is of.
func ChargeOf(f *ledger.Facts) Charge {
	out := Charge{
		Entry: f.Entry, Set: f.Set, Cluster: f.Cluster, Node: f.Node, Start: start(f.StartMS), DurationMS: f.DurationMS,
		Resource: string(f.Resource), Slot: f.Slot, GPU: string(f.Partition.Device), Model: f.Model, Profile: f.Profile,
		EntryKind: string(f.EntryKind), Class: string(f.Class()), Account: f.Account, From: f.From, Note: f.Note,
		Namespace: f.Holder.Namespace, Pod: f.Holder.Pod, PodUID: f.Holder.PodUID, Unit: f.Holder.Unit,
		Policy: f.Policy, Currency: string(f.Currency), Price: string(f.Price),
	}
	if f.Partition.Device != "" {
		out.Partition = f.Partition.String()
	}
	return out
}

// Line is one booking. Its numbers are differences: what an entry is now is the
// sum of its lines.
type Line struct {
	ID      string `json:"id"`
	Kind    string `json:"kind" enum:"charge,adjustment,correction"`
	Step    string `json:"step" enum:"book,change,reverse" doc:"What the line does to the sum of its entry."`
	Seq     int    `json:"seq" doc:"Counts the lines of the entry."`
	Adjusts string `json:"adjusts,omitempty" doc:"The line before of the same entry."`
	Booking int    `json:"booking" doc:"Counts the ratings of the node's hour that changed anything."`
	Month   string `json:"booked_month" example:"2026-11" doc:"The month in which it is booked."`
	Charge
	Amount *money.Nano `json:"amount" nullable:"true" doc:"null: no price is known."`
	Moved  *money.Nano `json:"moved,omitempty" doc:"What of a platform account was passed on."`

	ShareMS             int64       `json:"share_ms" doc:"Share of the resource × time."`
	UsedMS              int64       `json:"used_ms,omitempty"`
	UnusedMS            int64       `json:"reserved_unused_ms,omitempty"`
	ByteMS              ledger.Wide `json:"byte_ms,omitzero" doc:"Memory held × time."`
	PresentMS           int64       `json:"present_ms,omitempty"`
	GrantedMS           int64       `json:"granted_ms,omitempty"`
	CPUNS               int64       `json:"cpu_ns,omitempty"`
	CPURequestMilliMS   int64       `json:"cpu_request_milli_ms,omitempty"`
	MemoryRequestByteMS ledger.Wide `json:"memory_request_byte_ms,omitzero"`

	Grade    string      `json:"grade,omitempty" doc:"The worst of the entry as it now stands."`
	Grades   []GradePart `json:"grades" doc:"The line's numbers by grade."`
	Basis    *Basis      `json:"basis,omitempty" doc:"Where the price came from."`
	Revision Revision    `json:"revision" doc:"What the rating was made from."`
}

// GradePart is the part of a line that is of one grade.
type GradePart struct {
	Grade   string     `json:"grade"`
	ShareMS int64      `json:"share_ms"`
	Amount  money.Nano `json:"amount"`
}

// Basis says where a price comes from and how it was split.
type Basis struct {
	Grade    string     `json:"grade" enum:"listed,billed"`
	Source   string     `json:"source,omitempty" doc:"The bill, book or list."`
	Row      string     `json:"row,omitempty"`
	Revision string     `json:"revision,omitempty"`
	Hourly   money.Nano `json:"hourly" doc:"The price of the node for a whole hour."`
	Split    string     `json:"split,omitempty" doc:"The rule that split it."`
	Notes    []string   `json:"notes,omitempty"`
}

// BasisOf makes the shape of a basis; nil where there is no price.
func BasisOf(b *pricing.Basis) *Basis {
	if b == nil || b.Grade == "" {
		return nil
	}
	return &Basis{Grade: string(b.Grade), Source: b.Source, Row: b.Row, Revision: b.Revision, Hourly: b.Hourly, Split: b.Split, Notes: b.Notes}
}

// Revision says what a rating was made from.
type Revision struct {
	Records string    `json:"records,omitempty" doc:"The digest of the usage records."`
	Prices  string    `json:"prices,omitempty"`
	Policy  string    `json:"policy,omitempty"`
	Bill    string    `json:"bill,omitempty"`
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// LineOf makes the shape of a line.
func LineOf(l *ledger.Line) Line {
	r := &l.Revision
	return Line{
		ID: l.ID, Kind: string(l.Kind), Step: string(l.Step), Seq: l.Seq, Adjusts: l.Adjusts, Booking: l.Booking, Month: l.Period.String(),
		Charge: ChargeOf(&l.Facts), Amount: l.Amount, Moved: l.Moved,
		ShareMS: l.ShareMS, UsedMS: l.UsedMS, UnusedMS: l.UnusedMS, ByteMS: l.ByteMS, PresentMS: l.PresentMS, GrantedMS: l.GrantedMS,
		CPUNS: l.CPUNanos, CPURequestMilliMS: l.CPURequestMilliMS, MemoryRequestByteMS: l.RequestByteMS, Grade: string(l.Grade),
		Grades: list(l.Grades, func(p *ledger.GradePart) GradePart {
			return GradePart{Grade: string(p.Grade), ShareMS: p.ShareMS, Amount: p.Amount}
		}),
		Basis:    BasisOf(l.Basis),
		Revision: Revision{Records: r.Records, Prices: r.Prices, Policy: r.Policy, Bill: r.Bill, At: start(r.AtMS), By: r.By, Reason: r.Reason},
	}
}

// LinePage is some lines.
type LinePage struct {
	Lines []Line `json:"lines" doc:"By time, node, resource and account."`
	Next  string `json:"next,omitempty" doc:"The cursor of the next page; left out on the last."`
}

// Event is one record of the audit trail.
type Event struct {
	Seq      uint64    `json:"seq"`
	At       time.Time `json:"at"`
	By       string    `json:"by"`
	Action   string    `json:"action" doc:"rate, drift, close, force, price, policy, bill, verify"`
	Subject  string    `json:"subject"`
	Detail   string    `json:"detail,omitempty"`
	Digest   string    `json:"digest,omitempty"`
	Previous string    `json:"previous,omitempty" doc:"The hash of the event before."`
	SHA256   string    `json:"sha256"`
}

// EventOf makes the shape of an event.
func EventOf(e *ledger.Event) Event {
	return Event{Seq: e.Seq, At: start(e.AtMS), By: e.By, Action: string(e.Action), Subject: e.Subject, Detail: e.Detail,
		Digest: e.Digest, Previous: e.Previous, SHA256: e.SHA256}
}

// EventPage is some events.
type EventPage struct {
	Events []Event `json:"events" doc:"In order of their numbers."`
	Next   string  `json:"next,omitempty" doc:"The cursor of the next page; left out on the last."`
}
