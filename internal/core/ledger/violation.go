// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Invariant names something that always holds of a journal.
type Invariant string

// The invariants, in the order in which Check looks at them.
const (
	IDTwice         Invariant = "id_twice"         // two lines have one id
	IDWrong         Invariant = "id_wrong"         // an id is not that of its entry and place
	TimeWrong       Invariant = "time_wrong"       // the piece is not within its hour, or the hour is none
	KindWrong       Invariant = "kind_wrong"       // charge, adjustment or correction, by booking and months
	PeriodWrong     Invariant = "period_wrong"     // booked before the month that is charged for
	CurrencyMissing Invariant = "currency_missing" // an amount without a currency, or the reverse
	GradesOff       Invariant = "grades_off"       // the parts by grade do not sum to the line
	ChainBroken     Invariant = "chain_broken"     // a line is missing among those of its entry
	AdjustsNothing  Invariant = "adjusts_nothing"  // a line adjusts another than the one before it
	StepWrong       Invariant = "step_wrong"       // a line cannot follow those before it
	BookingMissing  Invariant = "booking_missing"  // the bookings of an hour are not 1, 2, 3, …
	Negative        Invariant = "negative"         // a quantity or an amount is below 0 in sum
	UsedBeyondShare Invariant = "used_beyond_share"
	CurrencyMixed   Invariant = "currency_mixed" // one piece of a node stands in two currencies, or in another than its cost
	CostMissing     Invariant = "cost_missing"   // charged, and no cost says for what
	CostWrong       Invariant = "cost_wrong"     // the cost itself does not add up, or is there twice
	HourUnrated     Invariant = "hour_unrated"   // a cost, and nothing is charged for it
	SharesOff       Invariant = "shares_off"     // the shares of a slot do not sum to its time
	SlotOff         Invariant = "slot_off"       // the amounts of a slot, of CPU or of memory do not sum to its cost
	NodeOff         Invariant = "node_off"       // those of a node do not sum to its price
	BookedClosed    Invariant = "booked_closed"  // a line was booked into a month after it was closed
	PeriodGap       Invariant = "period_gap"     // closed months do not follow one another
	PeriodChanged   Invariant = "period_changed" // a closed month is not what was closed
	StatementOff    Invariant = "statement_off"  // a statement is not what was closed
	TrailBroken     Invariant = "trail_broken"   // an event of the trail is not as it was kept, or is missing
)

// SumsOff is for stores that keep sums for reports: one is not that of its lines and
// costs. Check does not know such sums.
const SumsOff Invariant = "sums_off"

// Invariants lists those that Check looks at.
func Invariants() []Invariant {
	return []Invariant{
		IDTwice, IDWrong, TimeWrong, KindWrong, PeriodWrong, CurrencyMissing, GradesOff, BookingMissing, ChainBroken,
		AdjustsNothing, StepWrong, Negative, UsedBeyondShare, CurrencyMixed, CostMissing, CostWrong, HourUnrated,
		SharesOff, SlotOff, NodeOff, BookedClosed, PeriodGap, PeriodChanged, StatementOff, TrailBroken,
	}
}

// Violation is the first thing that does not hold.
type Violation struct {
	Invariant Invariant `json:"invariant"`
	// Line is the line that shows it, nil where none does.
	Line   *Line  `json:"line,omitempty"`
	Detail string `json:"detail"`
}

// Error says what does not hold, and of which line.
func (v *Violation) Error() string {
	if v.Line == nil {
		return fmt.Sprintf("%s: %s", v.Invariant, v.Detail)
	}
	return fmt.Sprintf("%s: line %s (%s, %s, account %s): %s",
		v.Invariant, v.Line.ID, v.Line.Kind, v.Line.NodeHour, v.Line.Account, v.Detail)
}

func violation(i Invariant, l *Line, format string, args ...any) *Violation {
	return &Violation{Invariant: i, Line: l, Detail: fmt.Sprintf(format, args...)}
}

// text is an amount that may be unknown.
func text(n *money.Nano) string {
	if n == nil {
		return "an unknown amount"
	}
	return n.String()
}

// differences names what differs between two sets of facts.
func differences(a, b *Facts) string {
	var out []string
	add := func(name string, differ bool, was, is any) {
		if differ {
			out = append(out, fmt.Sprintf("%s was %v and is %v", name, was, is))
		}
	}
	add("set", a.Set != b.Set, a.Set, b.Set)
	add("place", a.NodeHour != b.NodeHour || a.Slot != b.Slot || a.Partition != b.Partition || a.Resource != b.Resource, a.NodeHour, b.NodeHour)
	add("time", a.StartMS != b.StartMS || a.DurationMS != b.DurationMS, a.DurationMS, b.DurationMS)
	add("account", a.Account != b.Account || a.Holder != b.Holder || a.EntryKind != b.EntryKind || a.From != b.From || a.Note != b.Note, a.Account, b.Account)
	add("policy", a.Policy != b.Policy, a.Policy, b.Policy)
	add("model", a.Model != b.Model || a.Profile != b.Profile, a.Model, b.Model)
	add("mode", a.Mode != b.Mode, a.Mode, b.Mode)
	add("price", a.Currency != b.Currency || a.Price != b.Price, string(a.Currency)+" "+string(a.Price), string(b.Currency)+" "+string(b.Price))
	return strings.Join(out, ", ")
}
