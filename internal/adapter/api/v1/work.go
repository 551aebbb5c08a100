// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

// Progress is how far long work is. Lines with it come before the last one.
type Progress struct {
	Stage string    `json:"stage"`
	At    time.Time `json:"at,omitzero" doc:"The hour that was reached."`
	Done  int64     `json:"done"`
	Total int64     `json:"total,omitempty" doc:"Left out: not known."`
}

// ProgressOf makes the shape of a progress.
func ProgressOf(p *inquiry.Progress) Progress { return Progress{p.Stage, at(p.AtMS), p.Done, p.Total} }

// Checked is what a check of the ledger looked at and found.
type Checked struct {
	Hours     int64      `json:"hours" doc:"Hours of nodes."`
	Lines     int64      `json:"lines"`
	Costs     int64      `json:"costs"`
	Months    int        `json:"months" doc:"Closed months."`
	Violation *Violation `json:"violation" doc:"The first thing that does not hold; null: all does."`
}

// Violation is something that should always hold, and does not.
type Violation struct {
	_         struct{} `nullable:"true"`
	Invariant string   `json:"invariant"`
	Detail    string   `json:"detail"`
	Line      *Line    `json:"line,omitempty" doc:"The line that shows it."`
}

// CheckedOf makes the shape of a check.
func CheckedOf(c *inquiry.Checked) Checked {
	return Checked{c.Hours, c.Lines, c.Costs, c.Months, violationOf(c.Violation)}
}

func violationOf(v *ledger.Violation) *Violation {
	if v == nil {
		return nil
	}
	out := &Violation{Invariant: string(v.Invariant), Detail: v.Detail}
	if v.Line != nil {
		l := LineOf(v.Line)
		out.Line = &l
	}
	return out
}

// Verified are closed months that were made again.
type Verified struct {
	Months []VerifiedMonth `json:"months"`
}

// VerifiedMonth is one of them.
type VerifiedMonth struct {
	Month
	Violation *Violation `json:"violation" doc:"What differs first; null: nothing."`
}

// VerifiedOf makes the shape of verified months.
func VerifiedOf(months []inquiry.Verified) Verified {
	return Verified{Months: list(months, func(v *inquiry.Verified) VerifiedMonth {
		return VerifiedMonth{closedOf(&v.Closed), violationOf(v.Violation)}
	})}
}

// WhatIfRequest asks what a report would have been.
type WhatIfRequest struct {
	_        struct{}      `additionalProperties:"false"`
	Report   ReportRequest `json:"report"`
	Variants []Variant     `json:"variants" minItems:"1" maxItems:"8"`
}

// ReportRequest says what is to be reported: a month, or from and to.
type ReportRequest struct {
	_     struct{}  `additionalProperties:"false"`
	From  time.Time `json:"from,omitzero" doc:"A whole hour of UTC."`
	To    time.Time `json:"to,omitzero"`
	Month string    `json:"month,omitempty" pattern:"^[0-9]{4}-[0-9]{2}$" example:"2026-11"`
	By    []string  `json:"by,omitempty" maxItems:"8"`
	Where []Filter  `json:"where,omitempty" maxItems:"32"`
	View  string    `json:"view,omitempty" enum:"apart,distributed"`
	Top   int       `json:"top,omitempty" minimum:"0"`
}

// Variant is another way to divide cost. What is left out is as it is in force.
type Variant struct {
	_      struct{} `additionalProperties:"false"`
	Name   string   `json:"name" minLength:"1" maxLength:"80"`
	Policy *Policy  `json:"policy,omitempty"`
	Split  string   `json:"split,omitempty" doc:"The rule by which a node's one price is split." enum:"aws-scad,opencost,residual,fixed-ratio,gpu-rate,all-gpu"`
}

// WhatIf is a report as it was booked and as variants would have it.
type WhatIf struct {
	Booked   Report          `json:"booked"`
	Variants []VariantReport `json:"variants"`
	Hours    int64           `json:"hours" doc:"Hours of nodes that were divided again."`
	Missing  int64           `json:"missing_hours" doc:"Of these, how many have no records any more and are in no variant."`
}

// VariantReport is what a variant would have come to.
type VariantReport struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Split  string `json:"split"`
	Report Report `json:"report"`
}

// WhatIfOf makes the shape of a what-if.
func WhatIfOf(w *inquiry.WhatIf) WhatIf {
	return WhatIf{ReportOf(&w.Booked), list(w.Variants, func(v *inquiry.VariantReport) VariantReport {
		out := VariantReport{Name: v.Name, Split: string(v.Split), Report: ReportOf(&v.Report)}
		if v.Policy != nil {
			out.Policy = v.Policy.Name()
		}
		return out
	}), w.Hours, w.Missing}
}

// Step is one line of an answer that comes bit by bit (application/x-ndjson): any
// number of lines with progress, then one with the result or with the problem.
type Step[T any] struct {
	Progress *Progress `json:"progress,omitempty"`
	Result   *T        `json:"result,omitempty"`
	Problem  *Problem  `json:"problem,omitempty"`
}

// BackupRequest asks for a copy of the store.
type BackupRequest struct {
	_    struct{} `additionalProperties:"false"`
	Name string   `json:"name,omitempty" maxLength:"200" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" doc:"Of a new directory below the one that the server has for backups; left out: the time."`
}

// Backup is a copy of the store.
type Backup struct {
	Dir    string `json:"dir"`
	Bytes  int64  `json:"bytes"`
	TookMS int64  `json:"took_ms"`
}

// BackupOf makes the shape of a backup.
func BackupOf(b *inquiry.BackupMade) Backup { return Backup(*b) }
