// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// The four corrections to a closed billing period of FOCUS: what was charged for
// May 2025 was closed on 8 June, and is found wrong on 5 July, while June is
// open. The figures are those of its examples.

var (
	mayHour  = NodeHour{"c", "n", at("2025-05-01 00:00")}
	closedOn = at("2025-06-08 00:00")
	foundOn  = at("2025-07-05 00:00")
)

// booked is what a correction says of itself.
type booked struct {
	Account string
	Step    Step
	Kind    Kind
	Period  string
	Amount  string
	ShareMS int64
	Adjusts bool // it adjusts a line
}

func summary(lines []Line) (out []booked) {
	for _, l := range lines {
		out = append(out, booked{l.Account, l.Step, l.Kind, l.Period.String(), text(l.Amount), l.ShareMS, l.Adjusts != ""})
	}
	return out
}

// may is the hour on 1 May, with parts of one slot by weight.
func may(cost money.Nano, parts ...partOf) *hour {
	h := &hour{NodeHour: mayHour, currency: "USD", price: pricing.Listed, policy: "held"}
	h.pots = []potOf{{resource: allocation.ResourceGPU, slot: "gpu0", cost: cost, parts: parts}}
	return h
}

func resource(id string, weight int64) partOf {
	return partOf{kind: allocation.Direct, account: id, name: id, weight: weight, grade: gpu.Measured}
}

// mayClosed is a journal with the hour rated and May closed.
func mayClosed(t *testing.T, h *hour) (*journal, Closed) {
	j := newJournal()
	if h != nil {
		r, costs := h.rating(t, at("2025-05-04 00:00"))
		j.rate(t, r, costs)
	}
	return j, j.close(t, Closing{Scope: Scope{Currency: "USD"}, Month: month("2025-05"), Level: ByAccount, AtMS: closedOn, By: "finance"})
}

func correct(t *testing.T, j *journal, h *hour) []booked {
	t.Helper()
	r, costs := h.rating(t, foundOn)
	lines := j.rate(t, r, costs)
	for _, l := range lines {
		if l.StartMS != mayHour.HourMS || l.DurationMS != hourMS {
			t.Errorf("the charge period of line %s is %s, not that of the original", l.ID, clock(l.StartMS))
		}
	}
	j.sound(t)
	return summary(lines)
}

func want(t *testing.T, got []booked, want ...booked) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("corrections (-want +got):\n%s", diff)
	}
}

// Scenario 1: a charge of 1500 for R-111 was 1200 R-111's and 300 R-222's.
func TestFocusPartialReallocation(t *testing.T) {
	j, _ := mayClosed(t, may(1500*money.Unit, resource("R-111", 1000)))
	want(t, correct(t, j, may(1500*money.Unit, resource("R-111", 800), resource("R-222", 200))),
		booked{"ns-R-111/R-111", Changed, Correction, "2025-06", "-300.00", -720_000, true},
		booked{"ns-R-222/R-222", Booked, Correction, "2025-06", "300.00", 720_000, false})
}

// The same where the price became a bill's: the charge is reversed and booked
// anew, FOCUS's ledger style.
func TestFocusPartialReallocationReversed(t *testing.T) {
	j, _ := mayClosed(t, may(1500*money.Unit, resource("R-111", 1000)))
	again := may(1500*money.Unit, resource("R-111", 800), resource("R-222", 200))
	again.price = pricing.Billed
	want(t, correct(t, j, again),
		booked{"ns-R-111/R-111", Reversed, Correction, "2025-06", "-1500.00", -3_600_000, true},
		booked{"ns-R-111/R-111", Booked, Correction, "2025-06", "1200.00", 2_880_000, true},
		booked{"ns-R-222/R-222", Booked, Correction, "2025-06", "300.00", 720_000, false})
}

// Scenario 2: usage of May that arrived after it was closed.
func TestFocusLateUsage(t *testing.T) {
	j, _ := mayClosed(t, nil)
	want(t, correct(t, j, may(4*money.Unit, resource("R-333", 1))),
		booked{"ns-R-333/R-333", Booked, Correction, "2025-06", "4.00", 3_600_000, false})
}

// Scenario 3: each of two prices was a thousandth too low; quantities stay.
func TestFocusItemizedDrift(t *testing.T) {
	two := func(add money.Nano) *hour {
		h := may(2_097_699_000+add, resource("R-201", 1))
		h.pots = append(h.pots, potOf{resource: allocation.ResourceGPU, slot: "gpu1", cost: 2_097_699_000 + add, parts: []partOf{resource("R-202", 1)}})
		return h
	}
	j, _ := mayClosed(t, two(0))
	want(t, correct(t, j, two(money.Unit/1000)),
		booked{"ns-R-201/R-201", Changed, Correction, "2025-06", "0.001", 0, true},
		booked{"ns-R-202/R-202", Changed, Correction, "2025-06", "0.001", 0, true})
}

// Scenario 4: the whole bill was two thousandths more than its hours. It is
// nobody's, so one line says it, on an account of its own.
func TestFocusBulkDrift(t *testing.T) {
	j, _ := mayClosed(t, may(4_195_398_000, resource("R-201", 1), resource("R-202", 1)))
	d := Drift{
		Reference: "invoice 2025-05", Cluster: "c", Currency: "USD", Amount: 2_000_000,
		FromMS: month("2025-05").StartMS(), ToMS: month("2025-05").EndMS(), Revision: Revision{AtMS: foundOn, By: "finance", Reason: "rounding on the invoice"},
	}
	first, err := BookDrift(nil, d, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, first)
	want(t, summary(first), booked{Reconciliation, Booked, Correction, "2025-06", "0.002", 0, false})

	d.Amount = 3_000_000 // the invoice was issued again
	second, err := BookDrift(first, d, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, second)
	want(t, summary(second), booked{Reconciliation, Changed, Correction, "2025-06", "0.001", 0, true})
	j.sound(t)

	d.Amount = 0 // and was right after all
	third, err := BookDrift(append(first, second...), d, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, third)
	want(t, summary(third), booked{Reconciliation, Reversed, Correction, "2025-06", "-0.003", 0, true})
	j.sound(t)
}

// What was closed stays as it was, and the corrections are on June's statements.
func TestCorrectionsAreOnTheOpenMonthsStatements(t *testing.T) {
	j, closed := mayClosed(t, may(1500*money.Unit, resource("R-111", 1000)))
	correct(t, j, may(1500*money.Unit, resource("R-111", 800), resource("R-222", 200)))
	if err := j.verify(closed); err != nil {
		t.Fatal(err)
	}
	june := j.close(t, Closing{Scope: Scope{Currency: "USD"}, Month: month("2025-06"), Level: ByAccount, AtMS: foundOn, By: "finance"})
	type line struct{ Account, Amount string }
	var got []line
	for _, s := range june.Statements {
		got = append(got, line{s.Account, s.Amount})
	}
	if diff := cmp.Diff([]line{{"ns-R-111/R-111", "-300.00"}, {"ns-R-222/R-222", "300.00"}}, got); diff != "" {
		t.Errorf("statements of June (-want +got):\n%s", diff)
	}
	if june.Previous != closed.SHA256 || june.Amount != "0.00" {
		t.Errorf("June follows %q and comes to %s", june.Previous, june.Amount)
	}
	j.sound(t)
}
