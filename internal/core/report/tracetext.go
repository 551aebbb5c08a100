// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// Text is the trace in plain words.
func (t *Trace) Text() string {
	var b strings.Builder
	f := &t.Subject
	fmt.Fprintf(&b, "%s, %s: %s from %s\n", f.Account, f.Resource, seconds(f.DurationMS), clock(f.StartMS))
	if t.Source != nil {
		fmt.Fprintf(&b, "It is a part of the platform account %s that the policy passed on. Steps 1 to 8 are about that.\n", t.Source.Account)
	}
	for i, step := range []struct {
		name  string
		lines []string
	}{
		{"Sample", t.Sample.text(f.Resource)}, {"Attribute", t.Attribute.text(t.Sample.Partition.String())}, {"Integrate", t.Integrate.text(f.Resource)},
		{"Spool", t.Spool.text()}, {"Ship", t.Ship.text()}, {"Journal", t.Journal.text()}, {"Price", t.Price.text()},
		{"Allocate", t.Allocate.text()}, {"Ledger", t.Booked.text(t.Allocate.Amount, string(t.Price.Cost.Currency))},
	} {
		fmt.Fprintf(&b, "%d. %s. %s\n", i+1, step.name, strings.Join(step.lines, "\n   "))
	}
	return b.String()
}

func (s *SampleStep) text(of allocation.Resource) (out []string) {
	what := "The node's CPU and memory were"
	if of == allocation.ResourceGPU {
		what = fmt.Sprintf("%s (%s) was", orWord(s.Partition.String(), s.Partition.Device != ""), orWord(s.Model, true))
	}
	if len(s.IntervalsMS) == 0 {
		return []string{"No record tells of this time."}
	}
	var every []string
	for _, ms := range s.IntervalsMS {
		every = append(every, seconds(ms))
	}
	line := fmt.Sprintf("%s read every %s: for %s it answered", what, strings.Join(every, " or "), seconds(s.MeasuredMS))
	if s.UnmeasuredMS+s.UnavailableMS > 0 {
		line += fmt.Sprintf(", for %s nobody knows, for %s there was no working card", seconds(s.UnmeasuredMS), seconds(s.UnavailableMS))
	}
	if len(s.Reasons) > 0 {
		line += " (" + strings.Join(s.Reasons, "; ") + ")"
	}
	out = append(out, line+".")
	if s.MissingMS > 0 {
		out = append(out, fmt.Sprintf("For %s there is no record.", seconds(s.MissingMS)))
	}
	if len(s.Modes) > 0 {
		var modes []string
		for _, m := range s.Modes {
			modes = append(modes, string(m))
		}
		out = append(out, "Sharing mode: "+strings.Join(modes, ", ")+".")
	}
	return out
}

// orWord is a text, or that it is unknown.
func orWord(text string, known bool) string {
	if text == "" || !known {
		return "unknown"
	}
	return text
}

func (a *AttributeStep) text(partition string) (out []string) {
	switch {
	case a.Holder.Kind == "":
		out = append(out, "Nobody's in particular: a platform account.")
	case a.Leak:
		out = append(out, fmt.Sprintf("%s (%s) held memory here and had no grant: a leak.", a.Holder.Account(), a.Holder.PodKey()))
	case a.Holder.Unit != "":
		out = append(out, fmt.Sprintf("A process of the host: %s.", a.Holder.Unit))
	default:
		out = append(out, fmt.Sprintf("%s (%s).", a.Holder.Account(), a.Holder.PodKey()))
	}
	for _, g := range a.Grants {
		keeps := "keeps nothing from others"
		if !g.Reserved.IsZero() {
			keeps = fmt.Sprintf("keeps %d/%d of it from others", g.Reserved.Num, g.Reserved.Den)
		}
		out = append(out, fmt.Sprintf("A grant from %s (%s, %s) stood for %s and %s.", g.Source, orWord(g.Resource, true), g.Mode, seconds(g.GrantedMS), keeps))
	}
	if a.OtherGrants > 0 {
		out = append(out, number(a.OtherGrants, "other pod", "other pods")+" had a grant on it.")
	}
	if a.GrantsUnknownMS > 0 {
		out = append(out, fmt.Sprintf("For %s nobody could tell who had grants.", seconds(a.GrantsUnknownMS)))
	}
	for _, f := range a.Findings {
		out = append(out, f.text(partition))
	}
	return out
}

// text names the partition where it is another than the one charged for.
func (f *FindingTime) text(partition string) string {
	kind := string(f.Kind)
	if f.Partition != "" && f.Partition != partition {
		kind += " on " + f.Partition
	}
	text := fmt.Sprintf("Finding %s for %s: %s", kind, seconds(f.ForMS), f.Detail)
	if len(f.Victims) > 0 {
		text += "; it was given to " + strings.Join(f.Victims, ", ")
	}
	return text
}

func (s *IntegrateStep) text(of allocation.Resource) []string {
	switch of {
	case allocation.ResourceCPU:
		return []string{fmt.Sprintf("In %s it used %s and had asked for %.3f; in each the greater counts.",
			number(s.Windows, "window", "windows"), s.orUnread(s.CPUNanos == 0, fmt.Sprintf("%.3f CPU-hours", float64(s.CPUNanos)/1e9/3600)), float64(s.CPURequestMilliMS)/1000/hourMS)}
	case allocation.ResourceMemory:
		return []string{fmt.Sprintf("In %s it used %s of memory and had asked for %s; in each the greater counts.",
			number(s.Windows, "window", "windows"), s.orUnread(true, gibHours(s.ByteMS)), gibHours(s.MemoryRequestByteMS))}
	}
	return []string{
		fmt.Sprintf("In %s it was there for %s and held %s, at most %.2f GiB at once.", number(s.Windows, "window", "windows"), seconds(s.PresentMS), gibHours(s.ByteMS), float64(s.PeakBytes)/(1<<30)),
		fmt.Sprintf("The whole: %s = %s driver + %s holders + %s unattributed + %s free.", gibHours(s.CapacityByteMS), gibHours(s.ReservedByteMS), gibHours(s.HeldByteMS), gibHours(s.UnattributedByteMS), gibHours(s.FreeByteMS)),
	}
}

func (s *SpoolStep) text() (out []string) {
	for _, r := range s.Runs {
		out = append(out, fmt.Sprintf("Batches %d to %d of agent %s, boot %s.", r.First, r.Last, r.Agent, r.Boot))
	}
	for _, g := range s.Gaps {
		out = append(out, fmt.Sprintf("A gap of %s from %s: %s.", seconds(g.DurationMS), clock(g.StartMS), g.Reason))
	}
	if len(out) == 0 {
		out = append(out, "No batch.")
	}
	return out
}

func (s *ShipStep) text() []string {
	return []string{fmt.Sprintf("%s arrived, %d count: each once.", number(s.Arrived, "batch", "batches"), s.Counted)}
}

func (s *JournalStep) text() []string {
	line := fmt.Sprintf("The records have the digest %.12s…", s.Digest)
	switch {
	case s.Booked == "":
		line += "; the booking kept none."
	case s.Booked == s.Digest:
		line += ", as when it was booked."
	default:
		line += fmt.Sprintf("; when it was booked it was %.12s…: the records are others now.", s.Booked)
	}
	return []string{line}
}

func (s *PriceStep) text() (out []string) {
	c := &s.Cost
	switch {
	case c.Node == "":
		return []string{"No cost of this time is known."}
	case !c.Priced:
		return []string{fmt.Sprintf("Node %s has no price (%s): the amount is unknown.", c.Node, orWord(c.Reason, true))}
	}
	b := &c.Basis
	out = append(out, fmt.Sprintf("Node %s cost %s %s in %s: %s an hour, %s, from %s, row %s, revision %s.",
		c.Node, c.Total, c.Currency, seconds(c.DurationMS), b.Hourly, b.Grade, orWord(b.Source, true), orWord(b.Row, true), orWord(b.Revision, true)))
	var slots []string
	for _, slot := range c.Slots {
		slots = append(slots, fmt.Sprintf("%s %s", slot.Slot, slot.Cost))
	}
	out = append(out, fmt.Sprintf("Split by %s: GPU slots %s; CPU %s; memory %s.", orWord(b.Split, true), strings.Join(slots, ", "), c.CPU, c.Memory))
	if s.Part == nil {
		out = append(out, "The device is in no slot that is paid for: it has no amount.")
	}
	return append(out, b.Notes...)
}

func (s *AllocateStep) text() (out []string) {
	l := s.Line
	if l == nil {
		return []string{fmt.Sprintf("Policy %s: the hour as it is now has no such entry.", s.Policy)}
	}
	of := float64(max(l.Of, 1))
	percent := func(r *big.Rat) string {
		f, _ := r.Float64()
		return fmt.Sprintf("%.4f %%", 100*f/of)
	}
	out = append(out,
		fmt.Sprintf("Policy %s. Asked for: %s in use; reserved %s, of which unused %s.", s.Policy, percent(l.Held), percent(l.Reserved), percent(l.Unused)),
		fmt.Sprintf("Given: %s for use, %s for what was kept unused, %s for neither = %s of %s.", percent(l.ForHeld), percent(l.ForUnused), percent(l.ForOther), percent(l.Weight), seconds(l.Of)))
	if l.Cost != nil && l.Exact != nil {
		exact := new(big.Rat).Quo(l.Exact, big.NewRat(int64(money.Unit), 1))
		out = append(out, fmt.Sprintf("%s × %s = %s, in whole billionths %s.", l.Cost, percent(l.Weight), exact.FloatString(12), orPrice(l.Entry.Amount)))
	}
	if s.Moved != nil {
		out = append(out, fmt.Sprintf("The policy passed %s of it on: %s is left.", s.Moved, orPrice(s.Amount)))
	}
	for _, r := range s.Remarks {
		out = append(out, "Remark: "+r.Detail)
	}
	return out
}

// splits says whether lines were priced under different rules of splitting: then each
// names its own, else step 7 has said it.
func (s *BookedStep) splits() bool {
	var first *ledger.Line
	for i := range s.Lines {
		switch l := &s.Lines[i]; {
		case !l.Priced():
		case first == nil:
			first = l
		case l.Split() != first.Split():
			return true
		}
	}
	return false
}

func (s *BookedStep) text(now *money.Nano, currency string) (out []string) {
	splits := s.splits()
	for i := range s.Lines {
		l := &s.Lines[i]
		line := fmt.Sprintf("%s booked in %s at %s: %s", l.Kind, l.Period, clock(l.Revision.AtMS), orPrice(l.Amount))
		if l.Priced() {
			line += " " + string(l.Currency)
			if splits {
				line += ", split by " + orWord(string(l.Split()), true)
			}
		}
		if l.Revision.Reason != "" {
			line += " (" + l.Revision.Reason + ")"
		}
		out = append(out, line+".")
	}
	switch {
	case len(s.Lines) == 0:
		return append(out, fmt.Sprintf("Not booked yet: the hour comes to %s %s.", orPrice(now), currency))
	case s.Standing == nil:
		out = append(out, "All of it was taken back: nothing stands.")
	default:
		out = append(out, fmt.Sprintf("That is %s in sum.", orPrice(s.Standing.Amount)))
	}
	if s.Agrees {
		return append(out, "The hour, divided again, comes to the same.")
	}
	return append(out, fmt.Sprintf("The hour as it is now comes to %s: rate it again.", orPrice(now)))
}

// orPrice is an amount, or that there is none.
func orPrice(n *money.Nano) string {
	if n == nil {
		return "no known amount"
	}
	return n.String()
}

// seconds is a time in words, such as 59m 30s.
func seconds(ms int64) string {
	var parts []string
	for _, u := range []struct {
		ms   int64
		name string
	}{{hourMS, "h"}, {60_000, "m"}, {1000, "s"}, {1, "ms"}} {
		if n := ms / u.ms; n > 0 {
			parts = append(parts, fmt.Sprint(n, u.name))
			ms %= u.ms
		}
	}
	if len(parts) == 0 {
		return "0s"
	}
	return strings.Join(parts, " ")
}

func gibHours(t usage.Total) string {
	return fmt.Sprintf("%.3f GiB·h", t.ByteSeconds()/3600/(1<<30))
}

// number is a count with its noun.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// orUnread is a figure, or that it is unknown: of a pod that was never read only
// the requests are.
func (s *IntegrateStep) orUnread(none bool, figure string) string {
	if none && s.PresentMS == 0 {
		return "an unknown amount"
	}
	return figure
}
