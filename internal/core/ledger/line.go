// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Kind is what a line is to those who pay.
type Kind string

// The kinds of line.
const (
	// Charge: the first rating of an hour.
	Charge Kind = "charge"
	// Adjustment: what a later rating changed, while the month was open.
	Adjustment Kind = "adjustment"
	// Correction: what concerns a closed month; it is booked in the open one
	// and keeps its charge period (FOCUS ChargeClass Correction).
	Correction Kind = "correction"
)

// Step is what a line does to the sum of its entry.
type Step string

// The steps. The lines of an entry are book, any number of changes, and perhaps
// reverse; after that they may begin again.
const (
	// Booked: the whole of an entry, where nothing of it stood.
	Booked Step = "book"
	// Changed: a difference.
	Changed Step = "change"
	// Reversed: everything since the last book, taken back.
	Reversed Step = "reverse"
)

// Line is one booking. It is never changed and never deleted. Its numbers are
// differences: what an entry is now is the sum of its lines.
type Line struct {
	// ID is made from the entry and the line's place among the entry's lines.
	// So two raters that start from the same journal cannot both add to it: a
	// store refuses the second.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	Step Step   `json:"step"`
	// Seq counts the entry's lines from 1; Adjusts is the id of the one before,
	// empty for the first.
	Seq     int    `json:"seq"`
	Adjusts string `json:"adjusts,omitempty"`
	// Booking counts the ratings of the node-hour that changed anything, from
	// 1; of a drift, its bookings.
	Booking int `json:"booking"`
	// Period is the month in which the line is booked.
	Period Month `json:"period"`
	Facts
	// Amount is nil where there is no price: unknown, not free.
	Amount *money.Nano `json:"amount"`
	Moved  *money.Nano `json:"moved,omitempty"`
	Quantities
	// Grade is the worst of the entry as it now stands; Grades are this line's
	// numbers by grade.
	Grade  gpu.Grade   `json:"grade,omitempty"`
	Grades []GradePart `json:"grades,omitempty"`
	// Basis is where the price came from in the rating that booked the line. A
	// later rating that comes to the same numbers under the same rule of splitting
	// books nothing.
	Basis    *pricing.Basis `json:"basis,omitempty"`
	Revision Revision       `json:"revision"`
}

// Revision says what a rating was made from: what caused a line.
type Revision struct {
	// Records is the digest of the usage records (DigestRecords), Prices the
	// revision of the price books, Policy the policy's id, Bill the id of the
	// bill's import.
	Records string `json:"records,omitempty"`
	Prices  string `json:"prices,omitempty"`
	Policy  string `json:"policy,omitempty"`
	Bill    string `json:"bill,omitempty"`
	// AtMS is when it was made, Unix milliseconds.
	AtMS int64 `json:"at_ms"`
	// By and Reason are of what a person did.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Split is the rule by which the node's price was split into GPUs, CPU and memory in
// the rating that booked the line; empty where there was no price to split, or where
// the rule was not recorded. It is a fact as those of Facts are: what was booked under
// another rule is taken back whole, so that sums by rule are what each priced.
func (l *Line) Split() pricing.Rule { return splitOf(l.Basis) }

func splitOf(b *pricing.Basis) pricing.Rule {
	if b == nil {
		return ""
	}
	return pricing.Rule(b.Split)
}

// Compare orders lines by time, place, account and entry, those of one entry as
// they were booked.
func (l *Line) Compare(o *Line) int {
	return cmp.Or(l.Facts.compare(&o.Facts), cmp.Compare(l.Seq, o.Seq), cmp.Compare(l.ID, o.ID))
}

// inChain orders lines by entry, and those of one entry as they were booked.
func (l *Line) inChain(o *Line) int {
	return cmp.Or(cmp.Compare(l.Entry, o.Entry), cmp.Compare(l.Seq, o.Seq), cmp.Compare(l.ID, o.ID))
}

// ChargeMonth is the month charged for.
func (l *Line) ChargeMonth() Month { return MonthOf(l.StartMS) }

// kind is what the line is by its months and its place.
func (l *Line) kind() Kind {
	switch {
	case l.Period != l.ChargeMonth():
		return Correction
	case l.Booking == 1 && l.Step == Booked && !l.IsDrift():
		return Charge
	}
	return Adjustment
}

// numbers is the line's numbers; it fails on a grade that is none.
func (l *Line) numbers() (n numbers, err error) {
	n.Quantities = l.Quantities
	if l.Amount != nil {
		n.amount = *l.Amount
	}
	if l.Moved != nil {
		n.moved = *l.Moved
	}
	for _, p := range l.Grades {
		i := p.Grade.Rank()
		if i < 0 {
			return n, fmt.Errorf("line %s has the grade %q; grades are %v", l.ID, p.Grade, gradeOrder)
		}
		n.grades[i] = gradeNumbers{p.ShareMS, p.Amount, p.Moved}
	}
	return n, nil
}

// put sets the line's numbers.
func (l *Line) put(n *numbers) {
	l.Quantities, l.Grades = n.Quantities, n.parts()
	l.Amount, l.Moved = n.money(&l.Facts)
}

// money is the amounts as a line or an entry with such facts has them.
func (n *numbers) money(f *Facts) (amount, moved *money.Nano) {
	if f.Priced() {
		amount = new(n.amount)
	}
	if n.moved != 0 {
		moved = new(n.moved)
	}
	return amount, moved
}

// idOf is the id of the line at a place among an entry's lines.
func idOf(entry string, seq int) string { return digestID(entry, strconv.Itoa(seq)) }

// digestID is 128 bits of a hash over fields.
func digestID(fields ...string) string {
	var b []byte
	for _, f := range fields {
		b = append(strconv.AppendInt(b, int64(len(f)), 10), ':')
		b = append(b, f...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }
