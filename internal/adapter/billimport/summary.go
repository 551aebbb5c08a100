// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// Summary says what was read, so that a person can compare it with the
// provider's own figures.
type Summary struct {
	Source string
	Format string
	// Hash is of the delivery's content, whatever the order of its files.
	Hash  string
	Files []File
	Rows  int64
	Lines int64
	// Periods and Categories have their sums per currency.
	Periods    []PeriodSum
	Categories []CategorySum
	// Charges is the span of all charge periods.
	Charges bill.Period
	// Repeated are a provider's split-cost lines, not in any sum.
	Repeated int64
	// Machines is how many lines pay for a machine.
	Machines int64
	LeftOut  []LeftOut
	// Rounded are the columns with amounts of more than nine decimal places, by
	// their names.
	Rounded map[string]*Rounded
	Notes   []string

	sums    map[sumKey]*Sums
	leftOut map[string]int64
}

// File is one file of the delivery.
type File struct {
	Name   string
	SHA256 string
	Rows   int64
}

// Sums are sums in one currency.
type Sums struct {
	Currency  money.Currency
	Lines     int64
	Effective money.Sum
	Billed    money.Sum
}

// PeriodSum is a billing period's sums.
type PeriodSum struct {
	Period bill.Period
	Sums   []Sums
}

// CategorySum is a category's sums.
type CategorySum struct {
	Category bill.Category
	Sums     []Sums
}

// LeftOut are rows that were not taken, and why.
type LeftOut struct {
	Reason string
	Rows   int64
}

// Rounded are the amounts of one column that were rounded to nine places.
type Rounded struct {
	Column string
	Cells  int64
	First  bill.Row
	Value  string
}

type sumKey struct {
	period   bill.Period
	category bill.Category
	currency money.Currency
}

func newSummary(source string) *Summary {
	return &Summary{Source: source, Rounded: map[string]*Rounded{}, sums: map[sumKey]*Sums{}, leftOut: map[string]int64{}}
}

func (s *Summary) file(name, hash string) *File {
	s.Files = append(s.Files, File{Name: name, SHA256: hash})
	return &s.Files[len(s.Files)-1]
}

func (s *Summary) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(s.Notes, n) {
			s.Notes = append(s.Notes, n)
		}
	}
}

func (s *Summary) leaveOut(reason string) { s.leftOut[reason]++ }

func (s *Summary) add(l *bill.Line) {
	s.Lines++
	if l.SplitOf != "" {
		s.Repeated++
		return
	}
	if l.Instance != "" {
		s.Machines++
	}
	if s.Charges == (bill.Period{}) {
		s.Charges = bill.Period{StartMS: l.StartMS, EndMS: l.EndMS}
	}
	s.Charges.StartMS, s.Charges.EndMS = min(s.Charges.StartMS, l.StartMS), max(s.Charges.EndMS, l.EndMS)
	k := sumKey{l.Period, l.Category, l.Currency}
	sum := s.sums[k]
	if sum == nil {
		sum = &Sums{Currency: l.Currency}
		s.sums[k] = sum
	}
	sum.Lines++
	sum.Effective.Add(l.Effective)
	if l.Billed != nil {
		sum.Billed.Add(*l.Billed)
	}
}

// close builds the parts that reports show.
func (s *Summary) close() {
	var hashes []string
	for _, f := range s.Files {
		s.Rows += f.Rows
		hashes = append(hashes, f.SHA256)
	}
	slices.Sort(hashes)
	s.Hash = hashes[0]
	if len(hashes) > 1 {
		sum := sha256.Sum256([]byte(strings.Join(hashes, "\n")))
		s.Hash = hex.EncodeToString(sum[:])
	}
	for _, p := range slices.SortedFunc(maps.Keys(s.groups(func(k sumKey) bill.Period { return k.period })), func(a, b bill.Period) int { return cmp.Compare(a.StartMS, b.StartMS) }) {
		s.Periods = append(s.Periods, PeriodSum{p, s.of(func(k sumKey) bool { return k.period == p })})
	}
	for _, c := range bill.Categories() {
		if sums := s.of(func(k sumKey) bool { return k.category == c }); len(sums) > 0 {
			s.Categories = append(s.Categories, CategorySum{c, sums})
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(s.leftOut)) {
		s.LeftOut = append(s.LeftOut, LeftOut{reason, s.leftOut[reason]})
	}
}

func (s *Summary) groups(by func(sumKey) bill.Period) map[bill.Period]bool {
	out := map[bill.Period]bool{}
	for k := range s.sums {
		out[by(k)] = true
	}
	return out
}

// of sums what fits, per currency.
func (s *Summary) of(fits func(sumKey) bool) []Sums {
	by := map[money.Currency]Sums{}
	for k, sum := range s.sums {
		if !fits(k) {
			continue
		}
		all := by[k.currency]
		all.Currency = k.currency
		all.Lines += sum.Lines
		all.Effective.AddSum(sum.Effective)
		all.Billed.AddSum(sum.Billed)
		by[k.currency] = all
	}
	return slices.SortedFunc(maps.Values(by), func(a, b Sums) int { return cmp.Compare(a.Currency, b.Currency) })
}

// Totals are the sums of all lines, per currency.
func (s *Summary) Totals() []Sums { return s.of(func(sumKey) bool { return true }) }

func (s *Summary) periods() string {
	var out []string
	for _, p := range s.Periods {
		var lines int64
		for _, sum := range p.Sums {
			lines += sum.Lines
		}
		out = append(out, fmt.Sprintf("%s: %d lines", p.Period, lines))
	}
	return strings.Join(out, ", ")
}

// String is the summary for people.
func (s *Summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "source %s, %s, %d rows in %d files, content %.12s\n", s.Source, s.Format, s.Rows, len(s.Files), s.Hash)
	if s.Lines > s.Repeated {
		fmt.Fprintf(&b, "charges from %s to %s; %d lines, %d of them name a machine\n", day(s.Charges.StartMS), day(s.Charges.EndMS), s.Lines, s.Machines)
	}
	for _, p := range s.Periods {
		for _, sum := range p.Sums {
			fmt.Fprintf(&b, "  billed in %-8s %8d lines  effective %s  billed %s %s\n", p.Period, sum.Lines, sum.Effective, sum.Billed, sum.Currency)
		}
	}
	for _, c := range s.Categories {
		for _, sum := range c.Sums {
			fmt.Fprintf(&b, "  %-18s %8d lines  effective %s  billed %s %s\n", c.Category, sum.Lines, sum.Effective, sum.Billed, sum.Currency)
		}
	}
	if s.Repeated > 0 {
		fmt.Fprintf(&b, "  %d split-cost lines repeat their machines' cost and are in no sum\n", s.Repeated)
	}
	for _, l := range s.LeftOut {
		fmt.Fprintf(&b, "  %d rows left out: %s\n", l.Rows, l.Reason)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Rounded)) {
		r := s.Rounded[name]
		fmt.Fprintf(&b, "  %d amounts of %s had more than nine decimal places and were rounded, first %s at %s\n", r.Cells, r.Column, r.Value, r.First)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	return b.String()
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04Z") }
