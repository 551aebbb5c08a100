// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"encoding/json"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// eighth is an eighth of a card, of 12 GiB, so that shares come out even.
var eighth = Instance{Profile: "1g.12gb", Bytes: 12 * gib, Slices: 1, Of: 8}

// check compares with what was worked out by hand: to the billionth, but for one of each
// idle card that is passed on, since each is divided for itself. As long as the same is paid,
// what a workload is charged less others are charged more.
func check(t *testing.T, policy string, got outcome, fell, all string) {
	t.Helper()
	apart, have := usd(t, fell), usd(t, got.fell)
	if apart -= have; len(policies[policy].Distribute) == 0 && apart != 0 || apart < -8 || apart > 8 || got.all != all {
		t.Errorf("%s: its charge falls by %s, want %s; all accounts by %s, want %s", policy, got.fell, fell, got.all, all)
	}
}

// TestSmaller: a has a card of 8 at 24.00, on which it holds 8 of 80 GiB, b another with
// 40 GiB; six are idle. It would have an eighth of a card.
//
//	held, reserved        3.00 − 3.00/8
//	memory                3.00 × 8/80 − 0.375 × 8/12 = 0.30 − 0.25
//	idle in proportion    all 24.00 are a's and b's: 24 × 3/6 − 24 × 0.375/3.375 = 12 − 2.666666667
//	idle evenly           3 + 18/2 − (0.375 + 20.625/2)
//	memory, in proportion 24 × 0.3/1.8 − 24 × 0.25/1.75 = 4 − 3.428571429
//	the whole cluster     48 × 3/9 − 48 × 0.375/6.375 = 16 − 2.823529412
func TestSmaller(t *testing.T) {
	a, b, c := tenant{name: "a", cards: []int{0}, held: 8 * gib}, tenant{name: "b", cards: []int{1}, held: 40 * gib}, tenant{name: "c", cards: []int{0}, held: gib}
	n, other := nodeOf(t, "n", "24", "0", 8, a, b), nodeOf(t, "o", "24", "0", 8, c)
	for policy, fell := range map[string]string{
		"held": "2.625", "reserved": "2.625", "memory": "0.05", "held, proportion": "9.333333333", "held, even": "1.3125", "held, owner": "2.625",
		"memory, proportion": "0.571428571", "held, cluster": "13.176470588",
	} {
		got := try(t, policy, podsOf("a"), Smaller(podsOf("a"), eighth), []Node{n}, other)
		check(t, policy, got, fell, "0.00")
		if got.ms != 60*minuteMS {
			t.Errorf("%s: %d ms were altered", policy, got.ms)
		}
	}
	// Without a neighbour there is nobody to pass idle on to but itself: nothing falls.
	check(t, "alone", try(t, "held, proportion", podsOf("a"), Smaller(podsOf("a"), eighth), []Node{nodeOf(t, "n", "24", "0", 8, a)}), "0.00", "0.00")
}

// TestSmallerInstance: from a half to an eighth of a card: 1.50 − 0.375.
func TestSmallerInstance(t *testing.T) {
	n := nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: 8 * gib})
	half, _ := Smaller(podsOf("a"), Instance{Profile: "3g.40gb", Bytes: 40 * gib, Slices: 4, Of: 8})([]Node{n})
	check(t, "held", try(t, "held", podsOf("a"), Smaller(podsOf("a"), eighth), half), "1.125", "0.00")
}

// TestNothingToTakeHoldOf: whose card others hold memory on, or whose memory does not fit,
// is left alone. That is no change of 0.
func TestNothingToTakeHoldOf(t *testing.T) {
	for name, n := range map[string]Node{
		"a leak":  nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: gib}, tenant{name: "b", cards: []int{0}, held: gib, leak: true}),
		"no room": nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: 13 * gib}),
		"others":  nodeOf(t, "n", "24", "0", 8, tenant{name: "b", cards: []int{0}, held: gib}),
	} {
		if _, ms := Smaller(podsOf("a"), eighth)([]Node{n}); ms != 0 {
			t.Errorf("%s: %d ms were altered", name, ms)
		}
	}
}

// TestWithout: a has two cards and never touched the second.
//
//	idle in proportion    24 × 6/9 − 24 × 3/6
func TestWithout(t *testing.T) {
	a, b := tenant{name: "a", cards: []int{0, 2}, held: 8 * gib}, tenant{name: "b", cards: []int{1}, held: 40 * gib}
	n := nodeOf(t, "n", "24", "0", 8, a, b)
	for policy, fell := range map[string]string{"held": "3.00", "reserved": "3.00", "memory": "0.00", "held, proportion": "4.00", "memory, proportion": "0.00"} {
		check(t, policy, try(t, policy, podsOf("a"), Without(podsOf("a"), []string{"GPU-n-2"}), []Node{n}), fell, "0.00")
	}
}

// TestStopped: a would have stood still in the second quarter of the hour. The node's CPU
// costs 2.40 of 26.40; a asks for a quarter of it.
//
//	held                  3.00/4 + 0.60/4
//	memory                0.30/4 + 0.60/4
//	idle in proportion    GPUs: 24 × 3/6 − 24 × 2.25/5.25; CPU is a's alone: 2.40 either way
func TestStopped(t *testing.T) {
	a, b := tenant{name: "a", cards: []int{0}, held: 8 * gib, milli: 24_000}, tenant{name: "b", cards: []int{1}, held: 40 * gib}
	n := nodeOf(t, "n", "26.40", "2.40", 8, a, b)
	stop := Stopped(podsOf("a"), []usage.Span{{StartMS: at0 + 15*minuteMS, DurationMS: 15 * minuteMS}})
	for policy, fell := range map[string]string{"held": "0.90", "memory": "0.225", "held, proportion": "1.714285714"} {
		got := try(t, policy, podsOf("a"), stop, []Node{n})
		check(t, policy, got, fell, "0.00")
		if got.ms != 15*minuteMS {
			t.Errorf("%s: %d ms were altered", policy, got.ms)
		}
	}
}

// TestElsewhere: a has a node at 3.67 of its own and would have one at 1.90 with 48 GiB.
// It holds 20 GiB. What is paid falls by the difference, whoever is charged for it.
//
//	memory                3.67 × 20/80 − 1.90 × 20/48 = 0.9175 − 0.791666667
func TestElsewhere(t *testing.T) {
	n := nodeOf(t, "n", "3.67", "0", 1, tenant{name: "a", cards: []int{0}, held: 20 * gib})
	price := usd(t, "1.90")
	to := func(c *pricing.NodeCost) (pricing.NodeCost, bool) {
		out := *c
		out.Total, out.Slots = price, []pricing.SlotCost{{Slot: "00", Cost: price}}
		return out, true
	}
	for policy, fell := range map[string]string{"held": "1.77", "memory": "0.125833333", "memory, proportion": "1.77"} {
		check(t, policy, try(t, policy, podsOf("a"), Elsewhere(podsOf("a"), Machine{to, 48 * gib}), []Node{n}), fell, "1.77")
	}
	if _, ms := Elsewhere(podsOf("a"), Machine{to, 16 * gib})([]Node{n}); ms != 0 {
		t.Error("it runs where it does not fit")
	}
	dear := func(c *pricing.NodeCost) (pricing.NodeCost, bool) { return *c, false }
	if _, ms := Elsewhere(podsOf("a"), Machine{dear, 48 * gib})([]Node{n}); ms != 0 {
		t.Error("a machine without a price is one")
	}
}

// TestHolding: a pool of 40 GiB becomes one of 20: only who is charged by memory sees it.
func TestHolding(t *testing.T) {
	n := nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: 40 * gib})
	for policy, fell := range map[string]string{"held": "0.00", "reserved": "0.00", "memory": "0.75"} {
		check(t, policy, try(t, policy, podsOf("a"), Holding(podsOf("a"), 20*gib), []Node{n}), fell, "0.00")
	}
}

// TestAsking: a asks for a quarter of the CPUs, which cost 2.40, and would ask for an eighth:
// 0.60 − 0.30. Where idle CPUs are passed on in proportion they are its own all the same.
func TestAsking(t *testing.T) {
	n := nodeOf(t, "n", "26.40", "2.40", 8, tenant{name: "a", cards: []int{0}, held: 8 * gib, milli: 24_000})
	for policy, fell := range map[string]string{"held": "0.30", "memory": "0.30", "held, proportion": "0.00"} {
		got := try(t, policy, podsOf("a"), Asking(podsOf("a"), 12_000, 0), []Node{n})
		check(t, policy, got, fell, "0.00")
		if got.ms != 60*minuteMS {
			t.Errorf("%s: %d ms were altered", policy, got.ms)
		}
	}
}

// TestTogether: a with 8 GiB and b with 40 GiB would share a card by turns, whether
// theirs are of one node or of two.
//
//	held      6.00 − 3.00 × 48/80
//	turns     6.00 − 3.00: each keeps half of the card; so does "reserved"
//	memory    both are charged for the same bytes
func TestTogether(t *testing.T) {
	a, b := tenant{name: "a", cards: []int{0}, held: 8 * gib, milli: 1000}, tenant{name: "b", cards: []int{1}, held: 40 * gib, milli: 1000}
	alone := b
	alone.cards = []int{0}
	for _, nodes := range [][]Node{
		{nodeOf(t, "n", "24", "0", 8, a, b)},
		{nodeOf(t, "n", "24", "0", 8, a), nodeOf(t, "o", "24", "0", 8, alone)},
	} {
		for policy, fell := range map[string]string{"held": "4.20", "turns": "3.00", "reserved": "3.00", "memory": "0.00"} {
			got := try(t, policy, podsOf("a", "b"), Together([]Pods{podsOf("a"), podsOf("b")}), nodes)
			check(t, policy, got, fell, "0.00")
			if got.ms != 120*minuteMS {
				t.Errorf("%s: %d ms were altered", policy, got.ms)
			}
		}
	}
	big := nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: 50 * gib}, b)
	if _, ms := Together([]Pods{podsOf("a"), podsOf("b")})([]Node{big}); ms != 0 {
		t.Error("90 GiB are on one card")
	}
}

// TestNothingIsAltered: what is given stays as it was.
func TestNothingIsAltered(t *testing.T) {
	n := nodeOf(t, "n", "24", "1", 1, tenant{name: "a", cards: []int{0}, held: 8 * gib, milli: 1000})
	before, _ := json.Marshal(n)
	for _, c := range []Change{
		Smaller(podsOf("a"), eighth), Without(podsOf("a"), []string{"GPU-n-0"}), Stopped(podsOf("a"), []usage.Span{{StartMS: at0, DurationMS: 60 * minuteMS}}),
		Holding(podsOf("a"), gib), Asking(podsOf("a"), 1, 1), Together([]Pods{podsOf("a")}), Elsewhere(podsOf("a"), Machine{func(c *pricing.NodeCost) (pricing.NodeCost, bool) { return *c, true }, 40 * gib}),
	} {
		if _, ms := c([]Node{n}); ms == 0 {
			t.Error("a change changes nothing")
		}
		if after, _ := json.Marshal(n); string(after) != string(before) {
			t.Fatal("what was recorded was altered")
		}
	}
}

// TestSample: of a whole week every seventh hour, and with it each hour of the day once;
// of little, all of it; nothing older than a week.
func TestSample(t *testing.T) {
	const hour = int64(3_600_000)
	var hours []int64
	for i := range int64(24 * 28) {
		hours = append(hours, at0+i*hour)
	}
	got := Sample(hours)
	day, week := map[int64]bool{}, map[int64]bool{}
	for _, h := range got {
		day[h/hour%24], week[h/hour/24%7] = true, true
		if h <= hours[len(hours)-1]-SampleMS {
			t.Errorf("hour %d is older than a week", h)
		}
	}
	if len(got) != 24 || len(day) != 24 || len(week) != 7 {
		t.Errorf("%d hours, %d of the day, %d days of the week", len(got), len(day), len(week))
	}
	if got := Sample(hours[:5]); len(got) != 5 {
		t.Errorf("of 5 hours %d are left", len(got))
	}
	if Sample(nil) != nil {
		t.Error("hours out of nothing")
	}
}

// TestChargeIsNotKnown: without a price, and in two currencies.
func TestChargeIsNotKnown(t *testing.T) {
	n := nodeOf(t, "n", "24", "0", 8, tenant{name: "a", cards: []int{0, 1}, held: gib})
	entries, err := Divide([]Node{n}, nil, policies["held"])
	if err != nil {
		t.Fatal(err)
	}
	if sum, _, known := Charge(entries, podsOf("a")); !known || sum.String() != "6.00" {
		t.Errorf("%s, %v", sum, known)
	}
	for i := range entries {
		if entries[i].Account == "ns/a" {
			entries[i].Currency = money.Currency("EUR")
			break
		}
	}
	if _, _, known := Charge(entries, podsOf("a")); known {
		t.Error("two currencies were added")
	}
	for i := range entries {
		entries[i].Amount = nil
	}
	if _, _, known := Charge(entries, podsOf("a")); known {
		t.Error("no price is free")
	}
}
