// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

func delivery(hash string, lines ...Line) Import {
	return Import{Source: "aws", Period: Month(2026, time.September), Hash: hash, Lines: lines}
}

func (b *Book) sum(t *testing.T) money.Nano {
	t.Helper()
	hours, _, err := b.Hours()
	if err != nil {
		t.Fatal(err)
	}
	var sum money.Nano
	for _, h := range hours {
		sum += h.Effective
	}
	return sum
}

// However often and in whichever editions a bill is imported, it counts once:
// the last edition, whole.
func TestAnImportReplacesAndNeverAdds(t *testing.T) {
	var b Book
	put := func(i Import, want Change) {
		t.Helper()
		if got, err := b.Put(i); got != want || err != nil {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	}
	second := line(func(l *Line) { l.Instance, l.Effective = "i-0bbbbbbbbbbbbbbbb", nano("1") })
	put(delivery("a", line(nil), second), Added)
	put(delivery("a", line(nil), second), Unchanged)
	if got := b.sum(t); got != nano("22.957642") {
		t.Errorf("twice the same bill: %s", got)
	}
	put(delivery("b", line(func(l *Line) { l.Effective = nano("20") })), Replaced)
	if got := b.sum(t); got != nano("20") {
		t.Errorf("after the second edition, which lacks a line of the first: %s", got)
	}
	october := delivery("c", line(func(l *Line) { l.Period = Month(2026, time.October) }))
	october.Period = Month(2026, time.October)
	put(october, Added)
	if got := b.sum(t); got != nano("41.957642") || len(b.Imports()) != 2 {
		t.Errorf("with October: %s in %d imports", got, len(b.Imports()))
	}
}

func TestImportsThatCannotBe(t *testing.T) {
	var b Book
	if _, err := b.Put(delivery("a", line(nil))); err != nil {
		t.Fatal(err)
	}
	part := Period{StartMS: at("2026-09-10T00:00:00Z"), EndMS: at("2026-09-20T00:00:00Z")}
	for want, i := range map[string]Import{
		"overlaps the import of 2026-09":                             {Source: "aws", Period: part},
		"it has no source":                                           {Period: part},
		"ends before it begins":                                      {Source: "aws"},
		`bill.csv row 1 is of source "gcp" and billing period`:       delivery("x", line(func(l *Line) { l.Source = "gcp" })),
		"2026-09-01T10:59:59Z/2026-09-01T10:00:00Z":                  delivery("x", line(func(l *Line) { l.StartMS, l.EndMS = at("2026-09-01T10:59:59Z"), at("2026-09-01T10:00:00Z") })),
		"2026-09-10T00:00:00Z/2026-09-20T00:00:00Z: it overlaps the": {Source: "aws", Period: part},
	} {
		if _, err := b.Put(i); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if got := b.sum(t); got != nano("21.957642") {
		t.Errorf("a refused import changed the sum: %s", got)
	}
}
