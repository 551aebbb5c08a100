// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// charged is the amounts of GPUs above 0, by account, kind and note.
func charged(t *testing.T, h Hour, p Policy) map[string]string {
	t.Helper()
	res, err := Allocate(h, p)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]money.Nano{}
	for _, e := range res.Entries {
		if e.Resource == ResourceGPU && e.Amount != nil && *e.Amount != 0 {
			name := e.Account
			if e.Kind == Leak || e.Kind == Shared {
				name += " (" + string(e.Kind) + ")"
			}
			if e.Note != "" {
				name += " " + e.Note
			}
			sums[name] += *e.Amount
		}
	}
	out := map[string]string{}
	for name, n := range sums {
		out[name] = n.String()
	}
	return out
}

type bill = map[string]string

func half(n, d uint64) gpu.Ratio { return gpu.Ratio{Num: n, Den: d} }

func holds(name string, bytes uint64) holding { return holding{who: pod(name), bytes: bytes} }

func leaked(name string, bytes uint64) holding {
	return holding{who: pod(name), bytes: bytes, leak: true}
}

func exclusive(name string) attribution.Grant { return grantOf(name, gpu.ModeExclusive, gpu.One) }

func claimed(name string) attribution.Grant {
	g := grantOf(name, gpu.ModeSharedClaim, gpu.One)
	g.Claim = "t/claim"
	return g
}

// turn is so many replicas under time-slicing.
func turn(name string, replicas int64) attribution.Grant {
	g := grantOf(name, gpu.ModeTimeSlicing, gpu.Ratio{})
	g.Replicas = replicas
	return g
}

// TestRules: one card of 40000 bytes at 1.00 for the hour, under each rule.
func TestRules(t *testing.T) {
	t.Parallel()
	admin := grantOf("mon", gpu.ModeNone, gpu.Ratio{})
	admin.Admin = true
	reserved := func(s state, bytes uint64) state {
		s.reserve = bytes
		return s
	}
	gap := func(s state, bytes uint64) state {
		s.gap = bytes
		return s
	}
	for _, tc := range []struct {
		name                  string
		card                  state
		held, memory, reserve bill
	}{
		{
			"exclusive, half used, with a driver reserve",
			reserved(card0(holds("a", 20000)).granted(exclusive("a")), 400),
			bill{"t/a": "1.00"}, bill{"t/a": "0.50", "overhead": "0.01", "idle": "0.49"}, bill{"t/a": "1.00"},
		},
		{
			"nobody", gap(reserved(card0(), 400), 1000),
			bill{"overhead": "0.01", "unattributed": "0.025", "idle": "0.965"},
			bill{"overhead": "0.01", "unattributed": "0.025", "idle": "0.965"},
			bill{"overhead": "0.01", "unattributed": "0.025", "idle": "0.965"},
		},
		{
			"time-slicing: a replica is a turn", card0(holds("a", 10000), holds("b", 2000)).granted(turn("a", 1), turn("b", 2)).offered(4),
			bill{"t/a": "0.25", "t/b": "0.05", "idle": "0.70"}, bill{"t/a": "0.25", "t/b": "0.05", "idle": "0.70"},
			bill{"t/a": "0.25", "t/b": "0.50", "idle": "0.25"},
		},
		{
			"time-slicing of unknown N", card0(holds("a", 10000)).granted(turn("a", 1)),
			bill{"t/a": "0.25", "idle": "0.75"}, bill{"t/a": "0.25", "idle": "0.75"}, bill{"idle": "1.00"},
		},
		{
			"MPS below and above its limit",
			card0(holds("a", 2000), holds("b", 15000)).granted(grantOf("a", gpu.ModeMPS, half(1, 4)), grantOf("b", gpu.ModeMPS, half(1, 4))),
			bill{"t/a": "0.25", "t/b": "0.375", "idle": "0.375"}, bill{"t/a": "0.05", "t/b": "0.375", "idle": "0.575"},
			bill{"t/a": "0.25", "t/b": "0.25", "idle": "0.50"},
		},
		{
			"a leak pays first, the holder does not", card0(holds("a", 10000), leaked("x", 20000)).granted(exclusive("a")),
			bill{"t/a": "0.50", "t/x (leak)": "0.50"}, bill{"t/a": "0.25", "t/x (leak)": "0.50", "idle": "0.25"},
			bill{"t/a": "0.50", "t/x (leak)": "0.50"},
		},
		{
			"a host process on an exclusive card", card0(holds("a", 10000), holding{who: hostUnit("x.service"), bytes: 4000}).granted(exclusive("a")),
			bill{"t/a": "0.90", "host": "0.10"}, bill{"t/a": "0.25", "host": "0.10", "idle": "0.65"}, bill{"t/a": "0.90", "host": "0.10"},
		},
		{
			"a daemon without a grant beside a fraction", card0(holds("a", 4000), holding{who: daemon, bytes: 2000}).granted(grantOf("a", gpu.ModeFraction, half(1, 2))),
			bill{"t/a": "0.50", "overhead": "0.05", "idle": "0.45"}, bill{"t/a": "0.10", "overhead": "0.05", "idle": "0.85"},
			bill{"t/a": "0.50", "overhead": "0.05", "idle": "0.45"},
		},
		{
			"use first, then what is unused: a neighbour that squeezes",
			card0(holds("a", 36000), holds("b", 2000)).granted(grantOf("a", gpu.ModeFraction, half(1, 2)), grantOf("b", gpu.ModeFraction, half(1, 2))),
			bill{"t/a": "0.90", "t/b": "0.10"}, bill{"t/a": "0.90", "t/b": "0.05", "idle": "0.05"}, bill{"t/a": "0.50", "t/b": "0.50"},
		},
		{
			"two owners of one card, in proportion to what is unused",
			card0(holds("a", 20000), holds("b", 10000)).granted(exclusive("a"), exclusive("b")),
			bill{"t/a": "0.60", "t/b": "0.40"}, bill{"t/a": "0.50", "t/b": "0.25", "idle": "0.25"}, bill{"t/a": "0.50", "t/b": "0.50"},
		},
		{
			"a shared claim: the unused part evenly", card0(holds("a", 20000), holds("b", 4000)).granted(claimed("a"), claimed("b")),
			bill{"t/a": "0.70", "t/b": "0.30"}, bill{"t/a": "0.50", "t/b": "0.10", "idle": "0.40"}, bill{"t/a": "0.50", "t/b": "0.50"},
		},
		{
			"a leak on a shared claim", card0(holds("a", 18000), leaked("x", 20000)).granted(claimed("a"), claimed("b")),
			bill{"t/x (leak)": "0.50", "t/a": "0.475", "t/b": "0.025"}, bill{"t/x (leak)": "0.50", "t/a": "0.45", "idle": "0.05"},
			bill{"t/x (leak)": "0.50", "t/a": "0.25", "t/b": "0.25"},
		},
		{
			"admin access takes nothing away", card0(holds("a", 20000)).granted(exclusive("a"), admin),
			bill{"t/a": "1.00"}, bill{"t/a": "0.50", "idle": "0.50"}, bill{"t/a": "1.00"},
		},
		{
			"a holder whose grant leads nowhere is no leak", card0(holds("a", 10000)),
			bill{"t/a": "0.25", "idle": "0.75"}, bill{"t/a": "0.25", "idle": "0.75"}, bill{"idle": "1.00"},
		},
		{
			"overhead has in proportion what is left", gap(reserved(card0(holds("a", 18000), leaked("x", 2000)).granted(grantOf("a", gpu.ModeFraction, half(9, 10))), 3000), 3000),
			bill{"t/a": "0.90", "t/x (leak)": "0.05", "overhead": "0.025", "unattributed": "0.025"},
			bill{"t/a": "0.45", "t/x (leak)": "0.05", "overhead": "0.075", "unattributed": "0.075", "idle": "0.35"},
			bill{"t/a": "0.90", "t/x (leak)": "0.05", "overhead": "0.025", "unattributed": "0.025"},
		},
	} {
		for basis, want := range map[Basis]bill{Held: tc.held, Memory: tc.memory, Reserved: tc.reserve} {
			got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(tc.card)}, Policy{Basis: basis})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tc.name, basis, diff)
			}
		}
	}
}

// TestTurnsReserve: the policy may make a replica keep its part.
func TestTurnsReserve(t *testing.T) {
	t.Parallel()
	card := card0(holds("a", 10000), holds("b", 2000)).granted(turn("a", 1), turn("b", 2)).offered(4)
	got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card)}, Policy{TurnsReserve: true})
	if diff := cmp.Diff(bill{"t/a": "0.25", "t/b": "0.50", "idle": "0.25"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestThirds: shares that no decimal has still sum to the cost, ties by key.
func TestThirds(t *testing.T) {
	t.Parallel()
	third := func(name string) attribution.Grant { return grantOf(name, gpu.ModeMPS, half(1, 3)) }
	got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0().granted(third("a"), third("b"), third("c")))}, Policy{})
	if diff := cmp.Diff(bill{"t/a": "0.333333334", "t/b": "0.333333333", "t/c": "0.333333333"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestTimeWithoutReadings: half an hour is read, half is not.
func TestTimeWithoutReadings(t *testing.T) {
	t.Parallel()
	dark := func(s state) state {
		s.unmeasured = minuteMS
		return s
	}
	lost := func(s state) state {
		s.lost = minuteMS
		return s
	}
	unknown := func(s state) state {
		s.grantsUnknown = true
		return s
	}
	a, b := exclusive("a"), grantOf("b", gpu.ModeMPS, half(1, 4))
	for _, tc := range []struct {
		name         string
		second       state
		held, memory bill
	}{
		{"granted whole", dark(card0().granted(a)), bill{"t/a": "0.50", "idle": "0.50"}, bill{"idle": "0.50", "unmeasured": "0.50"}},
		{"granted in part", dark(card0().granted(b)), bill{"t/b": "0.125", "unmeasured": "0.375", "idle": "0.50"}, bill{"idle": "0.50", "unmeasured": "0.50"}},
		{"a turn", dark(card0().granted(turn("a", 1)).offered(2)), bill{"unmeasured": "0.50", "idle": "0.50"}, bill{"idle": "0.50", "unmeasured": "0.50"}},
		{"nobody granted", dark(card0()), bill{"idle": "1.00"}, bill{"idle": "1.00"}},
		{"nobody known", unknown(dark(card0())), bill{"idle": "0.50", "unmeasured": "0.50"}, bill{"idle": "0.50", "unmeasured": "0.50"}},
		{"twice granted", dark(card0().granted(a, exclusive("c"))), bill{"t/a": "0.25", "t/c": "0.25", "idle": "0.50"}, bill{"idle": "0.50", "unmeasured": "0.50"}},
		{"lost, and granted", lost(card0().granted(a)), bill{"idle": "0.50", "unavailable": "0.50"}, bill{"idle": "0.50", "unavailable": "0.50"}},
	} {
		batches := wholeHour(card0())
		for n := 30; n < 60; n++ {
			batches[n] = batch(n, tc.second)
		}
		for basis, want := range map[Basis]bill{Held: tc.held, Memory: tc.memory} {
			got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: batches}, Policy{Basis: basis})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tc.name, basis, diff)
			}
		}
	}
}

// TestCardsWithoutMemory: unified memory, and a node without NVML.
func TestCardsWithoutMemory(t *testing.T) {
	t.Parallel()
	bare := card0()
	bare.noMemory = true
	sized := card0(holds("a", 10000))
	sized.noMemory, sized.estimated = true, 40000
	slot := state{id: gpu.Whole("n/0"), unmeasured: minuteMS}
	unknown := func(s state) state {
		s.grantsUnknown = true
		return s
	}
	for _, tc := range []struct {
		name         string
		card         state
		held, memory bill
	}{
		{"no sizes, nobody", bare, bill{"idle": "1.00"}, bill{"idle": "1.00"}},
		{"no sizes, granted whole", bare.granted(exclusive("a")), bill{"t/a": "1.00"}, bill{"unmeasured": "1.00"}},
		{"no sizes: a replica counts as its part", bare.granted(turn("a", 1)).offered(4), bill{"t/a": "0.25", "idle": "0.75"}, bill{"unmeasured": "0.25", "idle": "0.75"}},
		{"sizes, by the host's memory", sized.granted(turn("a", 1)).offered(4), bill{"t/a": "0.25", "idle": "0.75"}, bill{"t/a": "0.25", "idle": "0.75"}},
		{"no NVML, granted", slot.granted(exclusive("a")), bill{"t/a": "1.00"}, bill{"unmeasured": "1.00"}},
		{"no NVML, a replica", slot.granted(turn("a", 1)).offered(4), bill{"t/a": "0.25", "idle": "0.75"}, bill{"unmeasured": "0.25", "idle": "0.75"}},
		{"no NVML, nobody known", unknown(slot), bill{"unmeasured": "1.00"}, bill{"unmeasured": "1.00"}},
		{"no NVML, nobody", slot, bill{"idle": "1.00"}, bill{"idle": "1.00"}},
	} {
		batches := wholeHour(tc.card)
		for i := range batches {
			if tc.card.id == slot.id {
				p := &batches[i].Partitions[0]
				p.Model, p.CapacityBytes = "", nil
			}
		}
		for basis, want := range map[Basis]bill{Held: tc.held, Memory: tc.memory} {
			got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: batches}, Policy{Basis: basis})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tc.name, basis, diff)
			}
		}
	}
}

// migCard is a parent with instances of so many slices, granted to p0, p1, ….
func migCard(stranded uint32, slices ...uint32) []state {
	parent := card0()
	parent.parent, parent.of, parent.stranded = true, 8, stranded
	out := []state{parent}
	for i, n := range slices {
		s := state{id: gpu.PartitionID{Device: "GPU-0", Instance: uint32(7 + i), SinceMS: at0}, capacity: 5000 * uint64(n), reserve: 40, slices: n, of: 8}
		out = append(out, s.granted(grantOf(fmt.Sprint("p", i), gpu.ModeMIG, gpu.One)))
	}
	return out
}

// TestMIG: by memory slices of the device; what no instance covers is idle or
// stranded; an instance pays for the time it existed.
func TestMIG(t *testing.T) {
	t.Parallel()
	costs := []pricing.NodeCost{costOf(12*money.Unit, 1)}
	// Seven slices of an A100 for three teams, 3 + 2 + 2 at 12.00 an hour: by
	// memory the eighth slice is paid for and nobody's.
	three := migCard(1, 1, 1, 1, 1, 1, 1, 1)
	for i, team := range []string{"x", "x", "x", "y", "y", "z", "z"} {
		three[i+1] = three[i+1].granted(grantOf(team, gpu.ModeMIG, gpu.One))
	}
	got := charged(t, Hour{Costs: costs, Batches: wholeHour(three...)}, Policy{})
	if diff := cmp.Diff(bill{"t/x": "4.50", "t/y": "3.00", "t/z": "3.00", "stranded": "1.50"}, got); diff != "" {
		t.Error(diff)
	}
	batches := wholeHour(migCard(0, 4)...)
	for n := 30; n < 60; n++ {
		batches[n] = batch(n, migCard(0, 4, 2)...)
	}
	got = charged(t, Hour{Costs: costs, Batches: batches}, Policy{})
	if diff := cmp.Diff(bill{"t/p0": "6.00", "t/p1": "1.50", "idle": "4.50"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestMIGWithoutReadings: the last layout holds, and its grants are charged. A
// card of which no layout was seen is nobody's, and never idle.
func TestMIGWithoutReadings(t *testing.T) {
	t.Parallel()
	dark := func(parts []state) []state {
		for i := range parts {
			parts[i].unmeasured = minuteMS
		}
		return parts
	}
	lost := migCard(1, 4, 2)
	for i := range lost {
		lost[i].lost = minuteMS
	}
	for _, tc := range []struct {
		cards []state
		want  bill
	}{
		{dark(migCard(1, 4, 2)), bill{"t/p0": "4.00", "t/p1": "2.00", "idle": "1.00", "stranded": "1.00"}},
		{dark(migCard(1)), bill{"unmeasured": "8.00"}},
		{lost, bill{"unavailable": "8.00"}},
	} {
		h := Hour{Costs: []pricing.NodeCost{costOf(8*money.Unit, 1)}, Batches: wholeHour(tc.cards...)}
		if diff := cmp.Diff(tc.want, charged(t, h, Policy{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestImpossibleLayout: more slices than the card has still share one card.
func TestImpossibleLayout(t *testing.T) {
	t.Parallel()
	got := charged(t, Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(migCard(0, 8, 8)...)}, Policy{})
	if diff := cmp.Diff(bill{"t/p0": "0.50", "t/p1": "0.50"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestGradesFollowTheWeight: a sum carries the share of each grade in it.
func TestGradesFollowTheWeight(t *testing.T) {
	t.Parallel()
	batches := wholeHour(card0(holds("a", 40000)).granted(exclusive("a")))
	for n := 40; n < 60; n++ {
		s := card0().granted(exclusive("a"))
		s.unmeasured = minuteMS
		batches[n] = batch(n, s)
	}
	for n := range 10 {
		batches[n].Holders[0].Grade = gpu.Skewed
		batches[n].Holders[0].GradeMS = map[gpu.Grade]int64{gpu.Measured: 45_000, gpu.Skewed: 15_000}
	}
	res, err := Allocate(Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: batches}, Policy{})
	if err != nil || len(res.Entries) != 1 {
		t.Fatalf("%v: %v", res.Entries, err)
	}
	want := Quantities{
		ShareMS: hourMS, UsedMS: 40 * minuteMS, Grade: gpu.Unmeasured,
		GradeMS:   map[gpu.Grade]int64{gpu.Measured: 37*minuteMS + minuteMS/2, gpu.Skewed: 2*minuteMS + minuteMS/2, gpu.Unmeasured: 20 * minuteMS},
		PresentMS: 40 * minuteMS, GrantedMS: hourMS,
	}
	want.ByteMS.Add(40000 * 40 * minuteMS)
	if diff := cmp.Diff(want, res.Entries[0].Quantities, cmp.Comparer(func(a, b usage.Total) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
