// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// oneCard is an hour of a card that a pod has, at 1.00.
func oneCard() Hour {
	return Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0(holds("a", 20000)).granted(exclusive("a")))}
}

func kinds(t *testing.T, h Hour) []RemarkKind {
	t.Helper()
	res, err := Allocate(h, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var out []RemarkKind
	for _, r := range res.Remarks {
		out = append(out, r.Kind)
	}
	return out
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	fewer := func(h Hour) Hour { // the agent came after a quarter of an hour
		h.Batches = h.Batches[15:]
		return h
	}
	two := func(h Hour) Hour {
		h.Costs = []pricing.NodeCost{costOf(money.Unit, 2)}
		return h
	}
	gap := func(h Hour) Hour {
		span := usage.Span{StartMS: at0, DurationMS: 30 * minuteMS}
		h.Batches = append(h.Batches[30:], usage.Batch{
			Node: "n", Agent: "a", Boot: "b", Seq: 99, StartMS: at0, DurationMS: span.DurationMS, Gap: &usage.Gap{Reason: "spool full", Span: span},
		})
		return h
	}
	for _, tc := range []struct {
		name string
		hour Hour
		want bill
	}{
		{"no record", fewer(oneCard()), bill{"t/a": "0.75", "unmeasured": "0.25"}},
		{"no agent at all", Hour{Costs: oneCard().Costs}, bill{"unmeasured": "1.00"}},
		{"a gap", gap(oneCard()), bill{"t/a": "0.50", "unmeasured": "0.50"}},
		{"a paid slot without a card", two(oneCard()), bill{"t/a": "1.00", "unavailable": "1.00"}},
		{"and no record", two(fewer(oneCard())), bill{"t/a": "0.75", "unavailable": "0.75", "unmeasured": "0.50"}},
	} {
		if diff := cmp.Diff(tc.want, charged(t, tc.hour, Policy{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestASlotIsPaidOnce: a card that is swapped inherits its slot, whether the
// slot's address is known or not.
func TestASlotIsPaidOnce(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "00000000:3B:00.0"} {
		h := Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}}
		for n := range 60 {
			s := card0().granted(exclusive("a"))
			if s.slot = address; n >= 30 {
				s.id = gpu.Whole("GPU-1")
			}
			h.Batches = append(h.Batches, batch(n, s))
		}
		if address != "" {
			h.Costs[0].Slots[0].Slot = address
		}
		if diff := cmp.Diff(bill{"t/a": "1.00"}, charged(t, h, Policy{})); diff != "" || len(kinds(t, h)) > 0 {
			t.Errorf("slot %q: remarks %v (-want +got):\n%s", address, kinds(t, h), diff)
		}
	}
}

// TestACardWithoutAPaidSlot keeps its usage; its money is unknown.
func TestACardWithoutAPaidSlot(t *testing.T) {
	t.Parallel()
	other := card0(holds("b", 10000)).granted(exclusive("b"))
	other.id = gpu.Whole("GPU-1")
	h := Hour{Costs: oneCard().Costs, Batches: wholeHour(card0().granted(exclusive("a")), other)}
	res, err := Allocate(h, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var unpriced []string
	for _, e := range res.Entries {
		if e.Amount == nil {
			unpriced = append(unpriced, e.Account)
			if e.ShareMS != hourMS || e.Slot != "" {
				t.Errorf("%s has %d ms in slot %q", e.Account, e.ShareMS, e.Slot)
			}
		}
	}
	if !slices.Equal(unpriced, []string{"t/b"}) || !slices.Equal(kinds(t, h), []RemarkKind{NoSlot}) {
		t.Errorf("unpriced %v, remarks %v", unpriced, kinds(t, h))
	}
}

func TestPriceChangesInTheHour(t *testing.T) {
	t.Parallel()
	h := oneCard()
	first, second := costOf(333_333_333, 1), costOf(866_666_667, 1)
	first.DurationMS = hourMS / 3
	second.StartMS, second.DurationMS = at0+hourMS/3, hourMS/3*2
	h.Costs = []pricing.NodeCost{second, first}
	// The price also changes inside a minute, where the pod goes.
	h.Batches = h.Batches[:0]
	for n := range 60 {
		s := card0()
		if n < 20 {
			s = s.granted(exclusive("a"))
		}
		b := batch(n, s)
		b.StartMS -= minuteMS / 2
		for i := range b.Partitions {
			b.Partitions[i].StartMS -= minuteMS / 2
		}
		for i := range b.Grants {
			b.Grants[i].StartMS -= minuteMS / 2
		}
		h.Batches = append(h.Batches, b)
	}
	got := charged(t, h, Policy{})
	// a has 19.5 of the 20 minutes of the first piece; of the 40 minutes of the
	// second the last half is in no record.
	want := bill{"t/a": "0.325", "idle": "0.864166667", "unmeasured": "0.010833333"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnlyOneTellsOfATime: two agents, and a clock that is set back. Of records
// that tell of the same time one counts: the one with readings, then by key.
func TestOnlyOneTellsOfATime(t *testing.T) {
	t.Parallel()
	blind := card0().granted(exclusive("b"))
	blind.unmeasured = minuteMS
	h := oneCard()
	for n := range 60 {
		b := batch(n, blind)
		b.Agent = "0"
		h.Batches = append(h.Batches, b)
	}
	if diff := cmp.Diff(bill{"t/a": "1.00"}, charged(t, h, Policy{})); diff != "" || !slices.Equal(kinds(t, h), []RemarkKind{Doubled}) {
		t.Errorf("remarks %v (-want +got):\n%s", kinds(t, h), diff)
	}
	// The clock went back by half an hour at 10:45: the later labels are right.
	h = oneCard()
	for n := range 45 {
		b := batch(n+15, card0().granted(exclusive("later")))
		b.Seq = uint64(100 + n)
		h.Batches = append(h.Batches, b)
	}
	if diff := cmp.Diff(bill{"t/a": "0.25", "t/later": "0.75"}, charged(t, h, Policy{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIdleThatCannotBeHandedOut(t *testing.T) {
	t.Parallel()
	h := Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0())}
	h.Unschedulable = []usage.Span{{StartMS: at0 + 45*minuteMS - 15_000, DurationMS: hourMS}}
	if diff := cmp.Diff(bill{"idle": "0.745833333", "idle unschedulable": "0.254166667"}, charged(t, h, Policy{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestQuantitiesAreCutWithoutLoss: however the hour is priced, what was held,
// present and granted sums to what was recorded.
func TestQuantitiesAreCutWithoutLoss(t *testing.T) {
	t.Parallel()
	sum := func(h Hour) (q Quantities) {
		res, err := Allocate(h, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Entries {
			q.ByteMS.AddTotal(e.ByteMS)
			q.PresentMS += e.PresentMS
			q.GrantedMS += e.GrantedMS
		}
		return q
	}
	whole, cut := oneCard(), oneCard()
	for i := range whole.Batches {
		whole.Batches[i].Holders[0].PresentMS -= 7
		whole.Batches[i].Holders[0].ByteMS -= 11
	}
	cut.Batches, cut.Costs = whole.Batches, nil
	for at := at0; at < at0+hourMS; {
		c := costOf(money.Unit, 1)
		c.StartMS, c.DurationMS = at, min(77_777, at0+hourMS-at)
		cut.Costs = append(cut.Costs, c)
		at += c.DurationMS
	}
	if a, b := sum(whole), sum(cut); asJSON(a) != asJSON(b) {
		t.Errorf("whole %s\ncut %s", asJSON(a), asJSON(b))
	}
}

// TestNoPriceIsNotFree: usage is kept, every amount is unknown.
func TestNoPriceIsNotFree(t *testing.T) {
	t.Parallel()
	h := oneCard()
	c := costOf(0, 1)
	c.Priced, c.CPUMilli, c.MemoryBytes = false, 4000, 1000
	h.Costs = []pricing.NodeCost{c}
	res, err := Allocate(h, Policy{Distribute: []Distribution{{Account: Idle, How: Even}}})
	if err != nil || len(res.Entries) == 0 {
		t.Fatal(res.Entries, err)
	}
	for _, e := range res.Entries {
		if e.Amount != nil || e.Moved != nil || e.ShareMS != hourMS {
			t.Errorf("%s", asJSON(e))
		}
	}
}

// TestANodeWithoutGPUsHasNoGPUCost: not even on idle.
func TestANodeWithoutGPUsHasNoGPUCost(t *testing.T) {
	t.Parallel()
	c := costOf(0, 0)
	c.CPU, c.Total, c.CPUMilli = money.Unit, money.Unit, 4000
	res, err := Allocate(Hour{Costs: []pricing.NodeCost{c}, Batches: wholeHour()}, Policy{})
	if err != nil || len(res.Entries) != 1 || res.Entries[0].Resource != ResourceCPU {
		t.Errorf("%v, %v", res.Entries, err)
	}
}

func TestContradictionsAreErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		change     func(*Hour)
	}{
		{"no cost", "the hour has no cost", func(h *Hour) { h.Costs = nil }},
		{"parts of the cost", "the parts sum to", func(h *Hour) { h.Costs[0].Total++ }},
		{"another node's cost", "two nodes", func(h *Hour) { h.Costs = append(h.Costs, pricing.NodeCost{Node: "m", StartMS: at0, DurationMS: 1}) }},
		{"another hour's", "two hours", func(h *Hour) {
			h.Costs = append(h.Costs, pricing.NodeCost{Node: "n", StartMS: at0 + hourMS, DurationMS: 1})
		}},
		{"overlap", "overlap", func(h *Hour) { h.Costs = append(h.Costs, h.Costs[0]) }},
		{"another node's records", "is of node m", func(h *Hour) { h.Batches[0].Node = "m" }},
		{"two contents", "batch a/b/1 is there twice with different content", func(h *Hour) {
			other := h.Batches[0]
			other.DurationMS--
			h.Batches = append(h.Batches, other)
		}},
		{"times", "is not its duration", func(h *Hour) { h.Batches[0].Partitions[0].MeasuredMS-- }},
		{"a day", "is not within an hour", func(h *Hour) { h.Batches[0].Partitions[0].DurationMS = 25 * hourMS }},
		{"slices", "a device has at most 64", func(h *Hour) { h.Batches[0].Partitions[0].Slices = 65 }},
	} {
		h := oneCard()
		tc.change(&h)
		if _, err := Allocate(h, Policy{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
	}
	if res, err := Allocate(Hour{}, Policy{}); err != nil || len(res.Entries) > 0 {
		t.Errorf("a node that did not exist: %v, %v", res, err)
	}
}

// TestIDsAreOfTheDimensionsAlone: another price keeps them, another policy does
// not.
func TestIDsAreOfTheDimensionsAlone(t *testing.T) {
	t.Parallel()
	ids := func(h Hour, p Policy) (out []string) {
		res, err := Allocate(h, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Entries {
			out = append(out, e.ID)
		}
		return out
	}
	h, dearer := oneCard(), oneCard()
	dearer.Costs = []pricing.NodeCost{costOf(3*money.Unit, 1)}
	if diff := cmp.Diff(ids(h, Policy{}), ids(dearer, Policy{})); diff != "" {
		t.Error(diff)
	}
	if slices.Equal(ids(h, Policy{}), ids(h, Policy{ID: "other"})) {
		t.Error("two policies have the same ids")
	}
	if got := ids(h, Policy{})[0]; got != "69fbd6e5a03290f3ba5624c70acda2e6" {
		t.Errorf("the id changed to %s: ledgers know entries by their ids", got)
	}
}
