// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// fill sets every field of an entry to something of its own.
func fill(v reflect.Value, n *int64) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[usage.Total]():
		v.Addr().Interface().(*usage.Total).Add(math.MaxUint64 - uint64(*n))
	case v.Type() == reflect.TypeFor[map[gpu.Grade]int64]():
		v.Set(reflect.ValueOf(map[gpu.Grade]int64{gpu.Measured: 1, gpu.Estimated: 2}))
	case v.Type() == reflect.TypeFor[gpu.Grade]():
		v.SetString(string(gpu.Estimated))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case v.CanInt():
		v.SetInt(*n)
	case v.CanUint():
		v.SetUint(uint64(*n))
	default:
		v.SetString(fmt.Sprint("s", *n))
	}
}

// TestALineForgetsNothingOfItsEntry: every field of an entry, also one that is
// added to it tomorrow, comes back from its lines.
func TestALineForgetsNothingOfItsEntry(t *testing.T) {
	var e allocation.Entry
	n := int64(0)
	fill(reflect.ValueOf(&e).Elem(), &n)
	e.ShareMS = 3
	lines, err := Book(nil, Rating{NodeHour: NodeHour{e.Cluster, e.Node, e.HourMS}, Entries: []allocation.Entry{e}}, Periods{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Net(lines)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]allocation.Entry{e}, got, totals); diff != "" {
		t.Errorf("the lines of an entry do not come to it (-want +got):\n%s", diff)
	}
}

// TestEveryFactIsAFact: no two entries that differ in anything but their numbers
// and the source of their price are taken for one.
func TestEveryFactIsAFact(t *testing.T) {
	var e allocation.Entry
	n := int64(0)
	fill(reflect.ValueOf(&e).Elem(), &n)
	before, err := factsOf(&e, "set")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]bool{"Amount": true, "Moved": true, "Basis": true, "Quantities": true}
	for i := range reflect.TypeFor[allocation.Entry]().NumField() {
		name := reflect.TypeFor[allocation.Entry]().Field(i).Name
		if numbers[name] {
			continue
		}
		other := e
		fill(reflect.ValueOf(&other).Elem().Field(i), &n)
		if after, err := factsOf(&other, "set"); err != nil || after == before {
			t.Errorf("an entry with another %s has the same facts (%v)", name, err)
		}
	}
}

func TestFirstRatingIsCharges(t *testing.T) {
	h := may(10, resource("a", 2), partOf{kind: allocation.Platform, account: allocation.Idle, weight: 1, grade: gpu.Measured})
	r, _ := h.rating(t, closedOn)
	lines, err := Book(nil, r, Periods{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, summary(lines),
		booked{"ns-a/a", Booked, Charge, "2025-05", "0.000000007", 2_400_000, false},
		booked{"idle", Booked, Charge, "2025-05", "0.000000003", 1_200_000, false})
}

// change rates an hour twice and returns what the second booked.
func change(t *testing.T, first *hour, second func(*hour)) []booked {
	t.Helper()
	j := newJournal()
	r, costs := first.rating(t, closedOn)
	j.rate(t, r, costs)
	second(first)
	r, costs = first.rating(t, closedOn+1)
	out := summary(j.rate(t, r, costs))
	j.sound(t)
	return out
}

func TestWhatALaterRatingBooks(t *testing.T) {
	base := func() *hour { return may(12, resource("a", 1), resource("b", 1)) }
	withNothing := func() *hour { return may(12, resource("a", 1), resource("b", 1), gradedNothing(gpu.Measured)) }
	for name, c := range map[string]struct {
		change func(*hour)
		want   []booked
	}{
		"nothing": {func(*hour) {}, nil},
		"another amount": {func(h *hour) { h.pots[0].cost = 14 }, []booked{
			{"ns-a/a", Changed, Adjustment, "2025-05", "0.000000001", 0, true},
			{"ns-b/b", Changed, Adjustment, "2025-05", "0.000000001", 0, true},
		}},
		"another quantity": {func(h *hour) { h.pots[0].cost, h.pots[0].parts[0].weight = 18, 2 }, []booked{
			{"ns-a/a", Changed, Adjustment, "2025-05", "0.000000006", 600_000, true},
			{"ns-b/b", Changed, Adjustment, "2025-05", "0.00", -600_000, true},
		}},
		"a grade alone": {func(h *hour) { h.pots[0].parts[0].grade = gpu.Estimated }, []booked{
			{"ns-a/a", Changed, Adjustment, "2025-05", "0.00", 0, true},
		}},
		"the grade of nothing": {func(h *hour) { *h = *withNothing(); h.pots[0].parts[2].grade = gpu.Estimated }, []booked{
			{"ns-z/z", Changed, Adjustment, "2025-05", "0.00", 0, true},
		}},
		"one that is gone": {func(h *hour) { h.pots[0].parts = h.pots[0].parts[:1] }, []booked{
			{"ns-a/a", Changed, Adjustment, "2025-05", "0.000000006", 1_800_000, true},
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
		}},
		"one that is new": {func(h *hour) { h.pots[0].parts = append(h.pots[0].parts, resource("c", 2)) }, []booked{
			{"ns-a/a", Changed, Adjustment, "2025-05", "-0.000000003", -900_000, true},
			{"ns-b/b", Changed, Adjustment, "2025-05", "-0.000000003", -900_000, true},
			{"ns-c/c", Booked, Adjustment, "2025-05", "0.000000006", 1_800_000, false},
		}},
		"another currency": {func(h *hour) { h.currency = "CNY"; h.pots[0].parts = h.pots[0].parts[:1] }, []booked{
			{"ns-a/a", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"ns-a/a", Booked, Adjustment, "2025-05", "0.000000012", 3_600_000, true},
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
		}},
		"another policy": {func(h *hour) { h.policy = "memory"; h.pots[0].parts = h.pots[0].parts[:1] }, []booked{
			{"ns-a/a", Booked, Adjustment, "2025-05", "0.000000012", 3_600_000, false},
			{"ns-a/a", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
		}},
		"another rule that splits the price, and the same amounts": {func(h *hour) { h.split = pricing.RuleAWS }, []booked{
			{"ns-a/a", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"ns-a/a", Booked, Adjustment, "2025-05", "0.000000006", 1_800_000, true},
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"ns-b/b", Booked, Adjustment, "2025-05", "0.000000006", 1_800_000, true},
		}},
		"no price any more": {func(h *hour) { h.currency, h.pots[0].parts = "", h.pots[0].parts[:1] }, []booked{
			{"ns-a/a", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"ns-a/a", Booked, Adjustment, "2025-05", "an unknown amount", 3_600_000, true},
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
		}},
		"a name that was learnt": {func(h *hour) { h.pots[0].parts[1].name = "" }, []booked{
			{"ns-b/b", Reversed, Adjustment, "2025-05", "-0.000000006", -1_800_000, true},
			{"uid:b", Booked, Adjustment, "2025-05", "0.000000006", 1_800_000, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			first := base()
			if name == "the grade of nothing" {
				first = withNothing()
			}
			got := change(t, first, c.change)
			byAccount(got)
			byAccount(c.want)
			want(t, got, c.want...)
		})
	}
}

// gradedNothing is an entry without any number, such as a grant under which
// nothing was charged.
func gradedNothing(g gpu.Grade) partOf {
	p := resource("z", 0)
	p.grade = g
	return p
}

// byAccount orders what was booked by account and step: entries of one account
// stand in order of their ids, which are hashes.
func byAccount(list []booked) {
	for i := range list {
		for k := i; k > 0 && list[k-1].Account+string(list[k].Step) > list[k].Account+string(list[k-1].Step); k-- {
			list[k-1], list[k] = list[k], list[k-1]
		}
	}
}

// An hour whose price came later: what was unknown is taken back, and the money
// is booked with all its quantities.
func TestUnpricedThenPriced(t *testing.T) {
	h := may(12, resource("a", 1))
	h.currency = ""
	got := change(t, h, func(h *hour) { h.currency = "USD" })
	want(t, got,
		booked{"ns-a/a", Reversed, Adjustment, "2025-05", "an unknown amount", -3_600_000, true},
		booked{"ns-a/a", Booked, Adjustment, "2025-05", "0.000000012", 3_600_000, true})
}

// Lines that stem from one state of the journal have the same ids, so that a
// store takes one rater's and refuses the other's.
func TestTwoRatersCollide(t *testing.T) {
	first, _ := may(10, resource("a", 1)).rating(t, 1)
	second, _ := may(20, resource("a", 1)).rating(t, 2)
	a, errA := Book(nil, first, Periods{})
	b, errB := Book(nil, second, Periods{})
	if errA != nil || errB != nil || a[0].ID != b[0].ID {
		t.Errorf("two raters that start from the same journal book %q and %q (%v, %v)", a[0].ID, b[0].ID, errA, errB)
	}
}

func TestBookRefuses(t *testing.T) {
	good := func() Rating { r, _ := may(10, resource("a", 1), resource("b", 1)).rating(t, 1); return r }
	lines, err := Book(nil, good(), Periods{})
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Rating, *[]Line){
		"is there twice":      func(r *Rating, _ *[]Line) { r.Entries[1].ID = r.Entries[0].ID },
		"no id":               func(r *Rating, _ *[]Line) { r.Entries[1].ID = "" },
		"no currency":         func(r *Rating, _ *[]Line) { r.Entries[0].Currency = "" },
		"has no amount":       func(r *Rating, _ *[]Line) { r.Entries[0].Amount, r.Entries[0].Moved = nil, new(money.Nano(1)) },
		"node other":          func(r *Rating, _ *[]Line) { r.Entries[0].Node = "other" },
		"grade":               func(r *Rating, _ *[]Line) { r.Entries[0].Grade = "good" },
		"its grades sum to 1": func(r *Rating, _ *[]Line) { r.Entries[0].GradeMS = map[gpu.Grade]int64{gpu.Measured: 1} },
		"no hour's":           func(r *Rating, _ *[]Line) { r.Entries[0].CPUNanos = math.MaxUint64 },
		"is of node m":        func(_ *Rating, l *[]Line) { (*l)[0].Node = "m" },
		"lines are missing":   func(_ *Rating, l *[]Line) { (*l)[0].Seq = 2 },
		"does not fit 64 bits": func(r *Rating, l *[]Line) {
			(*l)[0].CPUNanos = math.MinInt64 + 1
			r.Entries[0].CPUNanos = math.MaxInt64
		},
	} {
		r, before := good(), append([]Line(nil), lines...)
		spoil(&r, &before)
		if _, err := Book(before, r, Periods{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestDriftRefuses(t *testing.T) {
	good := Drift{Reference: "r", Currency: "USD", Amount: 1, FromMS: at("2025-05-01 00:00"), ToMS: at("2025-06-01 00:00"), Revision: Revision{Reason: "why"}}
	other := Line{Facts: Facts{Entry: "x"}}
	for want, spoil := range map[string]func(*Drift, *[]Line){
		"reference and a reason": func(d *Drift, _ *[]Line) { d.Revision.Reason = "" },
		"within one month":       func(d *Drift, _ *[]Line) { d.ToMS++ },
		"ISO 4217":               func(d *Drift, _ *[]Line) { d.Currency = "dollar" },
		"another reference":      func(_ *Drift, l *[]Line) { *l = []Line{other} },
	} {
		d, before := good, []Line(nil)
		spoil(&d, &before)
		if _, err := BookDrift(before, d, Periods{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if lines, err := BookDrift(nil, good, Periods{}); err != nil || len(lines) != 1 || lines[0].Kind != Adjustment {
		t.Errorf("a drift in an open month books %v, %v", lines, err)
	}
}

// The grades' amounts sum to the amount, whatever the times.
func TestAmountsByGrade(t *testing.T) {
	e := allocation.Entry{ID: "e", Kind: allocation.Direct, Amount: new(money.Nano(10)), Currency: "USD", Holder: workload.Holder{Kind: workload.KindPod}, Basis: &pricing.Basis{}}
	e.ShareMS, e.Grade, e.GradeMS = 3, gpu.Unmeasured, map[gpu.Grade]int64{gpu.Measured: 1, gpu.Estimated: 1, gpu.Unmeasured: 1}
	lines, err := Book(nil, Rating{Entries: []allocation.Entry{e}}, Periods{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]GradePart{{gpu.Measured, 1, 4, 0}, {gpu.Estimated, 1, 3, 0}, {gpu.Unmeasured, 1, 3, 0}}, lines[0].Grades); diff != "" {
		t.Errorf("grades (-want +got):\n%s", diff)
	}
}
