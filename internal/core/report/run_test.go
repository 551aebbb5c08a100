// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

const unit = money.Unit

// show prints a report's rows: keys, cost, GPU-hours, what has no price.
func show(r Report) (out []string) {
	for _, s := range r.Sections {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s total %s", s.Currency, showCost(s.Total))))
		for _, row := range s.Rows {
			who := strings.Join(row.Keys, " ")
			if row.Account != "" {
				who += fmt.Sprintf("[%s]", row.Account)
			}
			if row.Others > 0 {
				who += fmt.Sprintf(" of %d", row.Others)
			}
			out = append(out, who+" "+showCost(row.Columns))
		}
	}
	return out
}

func showCost(c Columns) string {
	text := "no price"
	if c.Cost != nil {
		text = c.Cost.Total.String()
	}
	if c.Unpriced.GPUMS != 0 {
		text += fmt.Sprintf(", %g h unpriced", Hours(c.Unpriced.GPUMS))
	}
	return text
}

func showBalance(r Report) (out []string) {
	for _, s := range r.Sections {
		if s.Balance.Assets == nil {
			out = append(out, string(s.Currency)+" assets unknown")
			continue
		}
		out = append(out, fmt.Sprintf("%s assets %s", s.Currency, s.Balance.Assets))
		for _, d := range s.Balance.Differences {
			out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s (%s)", d.Name, d.Amount, d.Detail), " ()"))
		}
	}
	return out
}

func run(t *testing.T, w *world, s Spec) Report {
	t.Helper()
	r, err := Run(s, w.input())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// november is two days of a node with three cards.
func november(t *testing.T) *world {
	w := &world{}
	for _, day := range []string{"2026-11-01 10:00", "2026-11-02 10:00"} {
		w.rate(t, "n1", day, "USD", pricing.Listed,
			card("0", 12*unit, pod("ml/a", 6), pod("ml/c", 3), platform(allocation.Idle, 2), platform(allocation.Overhead, 1)),
			card("1", 12*unit, pod("web/b", 4), part{kind: allocation.Leak, account: "web/z", weight: 2, grade: gpu.Estimated}, platform(allocation.Idle, 6)),
			pot{resource: allocation.ResourceCPU, cost: 4 * unit, parts: []part{pod("ml/a", 1), platform(allocation.Idle, 3)}})
	}
	return w
}

var nov = Spec{Month: month("2026-11")}

func by(s Spec, dims ...Dimension) Spec { s.By = dims; return s }

func TestRowsByDimension(t *testing.T) {
	w := november(t)
	for name, c := range map[string]struct {
		by   []Dimension
		want []string
	}{
		"nothing": {nil, []string{"USD total 56.00", " 56.00"}},
		"namespace": {[]Dimension{Namespace}, []string{"USD total 56.00",
			"ml 20.00", "web 12.00", "[idle] 22.00", "[overhead] 2.00"}},
		"account": {[]Dimension{Account}, []string{"USD total 56.00",
			"ml/a 14.00", "web/b 8.00", "ml/c 6.00", "web/z 4.00", "idle 22.00", "overhead 2.00"}},
		"class":    {[]Dimension{Class}, []string{"USD total 56.00", "workload 32.00", "platform 24.00"}},
		"resource": {[]Dimension{Resource}, []string{"USD total 56.00", "gpu 48.00", "cpu 8.00"}},
		"team": {[]Dimension{Label("team")}, []string{"USD total 56.00",
			"vision 18.00", "(none) 6.00", "(unknown) 4.00", "speech 4.00", "[idle] 22.00", "[overhead] 2.00"}},
		"workload": {[]Dimension{WorkloadKind, Workload}, []string{"USD total 56.00",
			"Job train 14.00", "Deployment serve 8.00", "(none) (none) 6.00", "(unknown) (unknown) 4.00", " [idle] 22.00", " [overhead] 2.00"}},
		"gpu and kind": {[]Dimension{GPU, EntryKind}, []string{"USD total 56.00",
			"GPU-n10 direct 18.00", "GPU-n11 platform 12.00", "GPU-n11 direct 8.00", "GPU-n10 platform 6.00", " platform 6.00", "GPU-n11 leak 4.00", " direct 2.00"}},
		"day, namespace": {[]Dimension{Day, Namespace}, []string{"USD total 56.00",
			"2026-11-01 ml 10.00", "2026-11-01 web 6.00", "2026-11-01 [idle] 11.00", "2026-11-01 [overhead] 1.00",
			"2026-11-02 ml 10.00", "2026-11-02 web 6.00", "2026-11-02 [idle] 11.00", "2026-11-02 [overhead] 1.00"}},
		"namespace, week": {[]Dimension{Namespace, Week}, []string{"USD total 56.00", // Monday is 2 November
			"ml 2026-W44 10.00", "web 2026-W44 6.00", " 2026-W44[idle] 11.00", " 2026-W44[overhead] 1.00",
			"ml 2026-W45 10.00", "web 2026-W45 6.00", " 2026-W45[idle] 11.00", " 2026-W45[overhead] 1.00"}},
		"hour":  {[]Dimension{Hour}, []string{"USD total 56.00", "2026-11-01T10Z 28.00", "2026-11-02T10Z 28.00"}},
		"month": {[]Dimension{Month, BookedMonth}, []string{"USD total 56.00", "2026-11 2026-11 56.00"}},
		"place": {[]Dimension{Cluster, Node, Slot, Partition, Model, Price, Policy, Kind, Set, From, Note, Profile}, []string{"USD total 56.00",
			"c n1 0 GPU-n10 NVIDIA L4 listed held charge     24.00", "c n1 1 GPU-n11 NVIDIA L4 listed held charge     24.00", "c n1    listed held charge     8.00"}},
	} {
		t.Run(name, func(t *testing.T) { same(t, show(run(t, w, by(nov, c.by...))), c.want...) })
	}
}

func TestColumns(t *testing.T) {
	w := november(t)
	r := run(t, w, by(nov, Namespace))
	ml, web, idle := r.Sections[0].Rows[0], r.Sections[0].Rows[1], r.Sections[0].Rows[2]
	got := fmt.Sprintf("gpu %s cpu %s; allocated %g used %g unused %g leaked %g present %g granted %g; %g GiBh; cpu %s",
		ml.Cost.GPU, ml.Cost.CPU, Hours(ml.AllocatedMS), Hours(ml.UsedMS), Hours(ml.UnusedMS), Hours(ml.LeakedMS), Hours(ml.PresentMS), Hours(ml.GrantedMS), GiBHours(ml.HeldByteMS), ml.CPUNanos.String())
	same(t, []string{got}, "gpu 18.00 cpu 2.00; allocated 1.5 used 0.75 unused 0.375 leaked 0 present 1.5 granted 1.5; 1.5 GiBh; cpu 12600000")
	if Hours(web.LeakedMS) != 2.0/6 || web.AllocatedMS != hourMS {
		t.Errorf("web leaks %g of %g hours", Hours(web.LeakedMS), Hours(web.AllocatedMS))
	}
	if idle.AllocatedMS != 0 || idle.UsedMS != 0 || idle.HeldByteMS.Sign() != 0 || Hours(idle.GPUMS) != 2*(2.0/12+6.0/12) {
		t.Errorf("idle has %+v", idle.Quantities)
	}
	same(t, []string{fmt.Sprint(web.Cost.Grades), fmt.Sprint(web.Cost.Prices), fmt.Sprint(idle.Cost.Platform)},
		"[{measured 10.00} {estimated 2.00}]", "[{listed 12.00}]", "[{idle 22.00}]")
	if f, ok := web.Cost.Grades[1].Of(web.Cost.Total); !ok || f != 2.0/12 {
		t.Errorf("estimated is %g of the whole", f)
	}
	if _, ok := web.Cost.Grades[1].Of(money.Sum{}); ok {
		t.Error("something has a fraction of nothing")
	}
}

func TestTop(t *testing.T) {
	w := november(t)
	s := by(nov, Account)
	s.Top = 2
	same(t, show(run(t, w, s)), "USD total 56.00", "ml/a 14.00", "web/b 8.00", "(others) of 2 10.00", "idle 22.00", "overhead 2.00")
	s.By = []Dimension{Day, Account}
	s.Top = 3
	same(t, show(run(t, w, s)), "USD total 56.00",
		"2026-11-01 ml/a 7.00", "2026-11-01 web/b 4.00", "2026-11-01 ml/c 3.00", "2026-11-01 (others) of 1 2.00", "2026-11-01 idle 11.00", "2026-11-01 overhead 1.00",
		"2026-11-02 ml/a 7.00", "2026-11-02 web/b 4.00", "2026-11-02 ml/c 3.00", "2026-11-02 (others) of 1 2.00", "2026-11-02 idle 11.00", "2026-11-02 overhead 1.00")
	s.Top = 4
	if got := show(run(t, w, s)); strings.Contains(strings.Join(got, " "), Others) {
		t.Errorf("nothing is beyond the top, and yet: %v", got)
	}
}

func TestFilters(t *testing.T) {
	w := november(t)
	s := by(nov, Account)
	s.Where = []Filter{{By: Namespace, In: []string{"ml", "web"}}, {By: EntryKind, In: []string{"leak"}, Not: true}}
	r := run(t, w, s)
	same(t, show(r), "USD total 28.00", "ml/a 14.00", "web/b 8.00", "ml/c 6.00")
	same(t, showBalance(r), "USD assets 56.00", "filtered out -28.00")
	s.Where = []Filter{{By: Label("team"), In: []string{Unknown}}}
	same(t, show(run(t, w, s)), "USD total 4.00", "web/z 4.00")
}

func TestTime(t *testing.T) {
	w := november(t)
	s := Spec{FromMS: at("2026-11-02 10:00"), ToMS: at("2026-11-02 11:00")}
	r := run(t, w, s)
	same(t, show(r), "USD total 28.00", " 28.00")
	same(t, showBalance(r), "USD assets 28.00")
	s.FromMS, s.ToMS = at("2026-11-02 11:00"), at("2026-11-03 00:00")
	if r := run(t, w, s); len(r.Sections) != 0 {
		t.Errorf("a time without anything has %v", show(r))
	}
}

// What has no price is never 0: it is counted beside the money, and a row
// without any price has no cost.
func TestUnpriced(t *testing.T) {
	w := november(t)
	w.rate(t, "n2", "2026-11-03 10:00", "", "", card("0", 0, pod("ml/a", 1), pod("new/d", 1)))
	r := run(t, w, by(nov, Namespace))
	same(t, show(r), "USD total 56.00, 1 h unpriced", "ml 20.00, 0.5 h unpriced", "web 12.00", "new no price, 0.5 h unpriced", "[idle] 22.00", "[overhead] 2.00")
	same(t, showBalance(r), "USD assets 56.00")
	if got := Hours(r.Sections[0].Rows[0].AllocatedMS); got != 2 {
		t.Errorf("ml was allocated %g GPU-hours, priced or not", got)
	}

	w.rate(t, "n3", "2026-11-03 10:00", "CNY", pricing.Billed, card("0", 7*unit, pod("ml/a", 1)))
	same(t, show(run(t, w, by(nov, Namespace))), "total no price, 1 h unpriced", "ml no price, 0.5 h unpriced", "new no price, 0.5 h unpriced",
		"CNY total 7.00", "ml 7.00",
		"USD total 56.00", "ml 20.00", "web 12.00", "[idle] 22.00", "[overhead] 2.00")
}

// A grant under which nothing was charged has no cost to speak of beside time
// without a price; a node that is free has one, and it is 0.
func TestNothingAndFree(t *testing.T) {
	w := &world{}
	w.rate(t, "n1", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 5, pod("ml/a", 0), pod("web/b", 1)))
	w.rate(t, "n2", "2026-11-03 10:00", "", "", card("0", 0, pod("ml/a", 1)))
	w.rate(t, "n3", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 0, pod("free/c", 1)))
	w.rate(t, "n4", "2026-11-03 10:00", "", "", card("0", 0, pod("free/c", 1)))
	same(t, show(run(t, w, by(nov, Namespace))), "USD total 0.000000005, 2 h unpriced", "web 0.000000005", "free 0.00, 1 h unpriced", "ml no price, 1 h unpriced")
}

// Time of a node's CPU that nobody used is something, with or without a price.
func TestIdleCPU(t *testing.T) {
	w := &world{}
	cpu := func(account string) pot {
		return pot{resource: allocation.ResourceCPU, parts: []part{platform(account, 1)}}
	}
	w.rate(t, "n1", "2026-11-03 10:00", "", "", cpu(allocation.Idle))
	r := run(t, w, by(nov, Account))
	same(t, show(r), "total no price", "idle no price")
	if r.Sections[0].Rows[0].Unpriced != (Unpriced{CPUMS: hourMS}) {
		t.Errorf("unpriced is %+v", r.Sections[0].Rows[0].Unpriced)
	}
	w.rate(t, "n2", "2026-11-03 10:00", "USD", pricing.Listed, cpu(allocation.Unmeasured))
	same(t, show(run(t, w, by(nov, Account))), "USD total 0.00", "idle no price", "unmeasured 0.00")
}

// Labels are those of the hour, also where one pod's lines follow one another.
func TestLabelsOfTheHour(t *testing.T) {
	w := november(t)
	w.lines = slices.DeleteFunc(w.lines, func(l ledger.Line) bool { return l.Account != "web/b" })
	same(t, show(run(t, w, by(nov, Label("team")))), "USD total 8.00", "speech 4.00", "vision 4.00")
}

// Platform accounts stand in their fixed order, reconciliation after them.
func TestOrderOfAccounts(t *testing.T) {
	w := &world{}
	w.rate(t, "n1", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 100,
		platform(allocation.Unmeasured, 30), platform(allocation.Overhead, 20), platform(allocation.Stranded, 10), platform(allocation.Host, 9), platform(allocation.Idle, 1), pod("ml/a", 30)))
	w.drift(t, 40, "2026-11")
	same(t, show(run(t, w, by(nov, Account))), "USD total 0.00000014", "ml/a 0.00000003",
		"idle 0.000000001", "stranded 0.00000001", "overhead 0.00000002", "host 0.000000009", "unmeasured 0.00000003", "reconciliation 0.00000004")
}

func TestKeysAreUnambiguous(t *testing.T) {
	key := func(list []string) (b []byte) {
		for _, text := range list {
			b = appendField(b, text)
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.OneOf(rapid.StringN(0, 3, -1), rapid.Map(rapid.IntRange(120, 400), func(n int) string { return strings.Repeat("\x01", n) }))
		a, b := rapid.SliceOfN(one, 0, 3).Draw(t, "a"), rapid.SliceOfN(one, 0, 3).Draw(t, "b")
		if !slices.Equal(a, b) && bytes.Equal(key(a), key(b)) {
			t.Fatalf("%q and %q have one key", a, b)
		}
	})
	many := append(slices.Repeat([]string{"\x01"}, 129), "")
	if bytes.Equal(key([]string{strings.Repeat("\x01", 257), ""}), key(many)) {
		t.Error("one long text has the key of many short ones")
	}
}

// A price that was found wrong and taken back leaves an hour without one: not
// an hour for nothing.
func TestPriceTakenBack(t *testing.T) {
	w := &world{}
	w.rate(t, "n", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 5, pod("ml/a", 1)))
	w.rate(t, "n", "2026-11-03 10:00", "", "", card("0", 0, pod("ml/a", 1)))
	same(t, show(run(t, w, by(nov, Namespace))), "total no price, 1 h unpriced", "ml no price, 1 h unpriced")
	w.rate(t, "m", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 5, pod("web/b", 1)))
	same(t, show(run(t, w, by(nov, Namespace))), "USD total 0.000000005, 1 h unpriced", "web 0.000000005", "ml no price, 1 h unpriced")
}

// Under distribution the view says on whom a platform account's cost is shown.
func TestViews(t *testing.T) {
	w := &world{}
	w.rate(t, "n", "2026-11-03 10:00", "USD", pricing.Listed, card("0", 12*unit,
		pod("ml/a", 6), part{kind: allocation.Shared, account: "ml/a", from: allocation.Idle, weight: 3, grade: gpu.Measured},
		part{kind: allocation.Shared, account: "platform-team", from: allocation.Overhead, weight: 2, grade: gpu.Measured},
		part{kind: allocation.Platform, account: allocation.Idle, weight: 0, moved: 3 * unit, grade: gpu.Measured},
		part{kind: allocation.Platform, account: allocation.Overhead, weight: 1, moved: 2 * unit, grade: gpu.Measured}))
	s := by(nov, Namespace)
	apart := run(t, w, s)
	same(t, show(apart), "USD total 12.00", "ml 6.00", "[idle] 3.00", "[overhead] 3.00")
	s.View = Distributed
	spread := run(t, w, s)
	same(t, show(spread), "USD total 12.00", "ml 9.00", "[platform-team] 2.00", "[overhead] 1.00")
	same(t, append(showBalance(apart), showBalance(spread)...), "USD assets 12.00", "USD assets 12.00")
	same(t, []string{fmt.Sprint(spread.Sections[0].Rows[0].Cost.Platform), fmt.Sprint(apart.Sections[0].Rows[1].Cost.Grades), fmt.Sprint(spread.Sections[0].Total.Cost.Platform)},
		"[{idle 3.00}]", "[{measured 3.00}]", "[{idle 3.00} {overhead 3.00}]")
}

// A month by charge time is what its hours cost as is now known; the booked
// month is what its statements say. Both name what sets them apart.
func TestBookedAndCharged(t *testing.T) {
	w := &world{}
	hour := func(node, when string, cost money.Nano) {
		w.rate(t, node, when, "USD", pricing.Listed, card("0", cost, pod("ml/a", 1)))
	}
	hour("n1", "2026-10-31 10:00", 10)
	w.close(t, "2026-10")
	hour("n1", "2026-11-01 10:00", 20)
	hour("n1", "2026-11-01 10:00", 22) // an adjustment
	hour("n1", "2026-10-31 10:00", 11) // a correction
	w.close(t, "2026-11")
	hour("n1", "2026-11-01 10:00", 25) // a correction of November, in December
	w.drift(t, 3, "2026-11")

	s := by(Spec{Month: month("2026-11")}, Kind)
	charged := run(t, w, s)
	same(t, show(charged), "USD total 0.000000028", "charge 0.00000002", "correction 0.000000006", "adjustment 0.000000002")
	same(t, showBalance(charged), "USD assets 0.000000025", "reconciliation 0.000000003")
	s.Booked = true
	booked := run(t, w, s)
	same(t, show(booked), "USD total 0.000000023", "charge 0.00000002", "adjustment 0.000000002", "correction 0.000000001")
	same(t, showBalance(booked), "USD assets 0.000000025", "corrections of other months 0.000000001", "booked in other months -0.000000003")
	s.Cost, s.Booked = Charged, false
	first := run(t, w, s)
	same(t, append(show(first), showBalance(first)...), "USD total 0.00000002", "charge 0.00000002", "USD assets 0.000000025", "adjustments and corrections left out -0.000000005")
	c := charged.Sections[0].Total.Cost
	same(t, []string{fmt.Sprint(c.Charged, c.Adjusted, c.Corrected)}, "0.00000002 0.000000002 0.000000006")

	s = by(Spec{Month: month("2026-12"), Booked: true}, Account)
	december := run(t, w, s)
	same(t, show(december), "USD total 0.000000006", "ml/a 0.000000003", "reconciliation 0.000000003")
	same(t, showBalance(december), "USD assets 0.00", "reconciliation 0.000000003", "corrections of other months 0.000000003")
}

// What does not balance is named.
func TestOutOfBalance(t *testing.T) {
	w := november(t)
	k := costKey{"n1", at("2026-11-02 10:00")}
	c := w.costs[k]
	c.Total += 2
	w.costs[k] = c
	late := c
	late.Node = "n9"
	w.costs[costKey{"n9", k.startMS}] = late
	same(t, showBalance(run(t, w, nov)), "USD assets 84.000000004",
		`not rated yet -28.000000002 (1 hours of nodes, the first is of node n9 of cluster "c", hour of 2026-11-02T10:00:00Z)`,
		`out of balance -0.000000002 (1 hours of nodes, the first is of node n1 of cluster "c", hour of 2026-11-02T10:00:00Z: check the ledger)`)
	in := w.input()
	in.Costs = nil
	r, err := Run(nov, in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, showBalance(r), "USD assets unknown")
}

// Nodes that cost something, and nothing was rated: no rows, and it is said.
func TestNothingRated(t *testing.T) {
	w := november(t)
	w.lines = nil
	r := run(t, w, by(nov, Namespace))
	same(t, append(show(r), showBalance(r)...), "USD total no price", "USD assets 56.00",
		`not rated yet -56.00 (2 hours of nodes, the first is of node n1 of cluster "c", hour of 2026-11-01T10:00:00Z)`)
}

func TestInvalid(t *testing.T) {
	for want, spoil := range map[string]func(*Spec){
		`by[0] is "colour"; allowed: namespace, workload_kind,`: func(s *Spec) { s.By = []Dimension{"colour"} },
		`by[1] is "node": it is there twice`:                    func(s *Spec) { s.By = []Dimension{Node, Node} },
		`by[0] is "label:": write label: and the label's key`:   func(s *Spec) { s.By = []Dimension{Label("")} },
		`by[0] is "label:team": workloads and labels of pods`:   func(s *Spec) { s.By = []Dimension{Label("team")} },
		`by[0] is "workload": workloads and labels of pods`:     func(s *Spec) { s.By = []Dimension{Workload} },
		`where[0].by is "shape"; allowed`:                       func(s *Spec) { s.Where = []Filter{{By: "shape", In: []string{"x"}}} },
		`where[0].by is "day": a time is chosen by from and to`: func(s *Spec) { s.Where = []Filter{{By: Day, In: []string{"x"}}} },
		`where[0].in is "": give at least one value`:            func(s *Spec) { s.Where = []Filter{{By: Node}} },
		`cost is "gross"; allowed: net, charged`:                func(s *Spec) { s.Cost = "gross" },
		`view is "flat"; allowed: apart, distributed`:           func(s *Spec) { s.View = "flat" },
		`top is "-1"`: func(s *Spec) { s.Top = -1 },
		`month is "2026-11": there is a time, too`:                       func(s *Spec) { s.FromMS = hourMS },
		`from is "": give a time`:                                        func(s *Spec) { s.Month = 0 },
		`booked is "true": lines are booked in months`:                   func(s *Spec) { s.Month, s.Booked = 0, true },
		`from is "1970-01-01T00:00Z to 1970-01-01T00:00Z": give whole`:   func(s *Spec) { s.Month, s.ToMS = 0, 1 },
		`from is "1970-01-01T02:00Z to 1970-01-01T01:00Z": give whole h`: func(s *Spec) { s.Month, s.FromMS, s.ToMS = 0, 2*hourMS, hourMS },
	} {
		s := nov
		spoil(&s)
		_, err := Run(s, Input{Lines: linesOf(nil)})
		var invalid *Invalid
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	broken := func(yield func(*pricing.NodeCost, error) bool) { yield(nil, errors.New("disk")) }
	if _, err := Run(nov, Input{Lines: linesOf(nil), Costs: broken}); err == nil || !strings.Contains(err.Error(), "what the nodes cost: disk") {
		t.Errorf("error %v, want the store's", err)
	}
}
