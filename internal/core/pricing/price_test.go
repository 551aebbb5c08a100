// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
)

// at is a moment of the test's day, "10:00" or "10:20:30".
func at(t *testing.T, clock string) int64 {
	t.Helper()
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02"} {
		text := clock
		if layout == "2006-01-02 15:04" && len(clock) == 5 {
			text = "2026-11-03 " + clock
		}
		if m, err := time.Parse(layout, text); err == nil {
			return m.UnixMilli()
		}
	}
	t.Fatalf("no moment: %q", clock)
	return 0
}

func per(t *testing.T, text string) *money.Nano {
	n := amount(t, text)
	return &n
}

// book is a book of USD rows; ids are given where they are missing.
func book(name string, rows ...Row) *Book {
	for i := range rows {
		if rows[i].ID == "" {
			rows[i].ID = fmt.Sprintf("%s-%d", name, i+1)
		}
		if rows[i].Currency == "" {
			rows[i].Currency = "USD"
		}
	}
	return &Book{Name: name, Revision: "r1", Grade: Listed, Rows: rows}
}

func prices(t *testing.T, policy Policy, books ...*Book) *Prices {
	t.Helper()
	p, err := New(policy, books...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func cost(t *testing.T, p *Prices, n *Node, from, to string) []NodeCost {
	t.Helper()
	out, err := p.Cost(n, at(t, from), at(t, to))
	if err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func only(t *testing.T, pieces []NodeCost) NodeCost {
	t.Helper()
	if len(pieces) != 1 {
		t.Fatalf("%d pieces, want one: %+v", len(pieces), pieces)
	}
	return pieces[0]
}

// TestPriceChanges is case C32: 0.20 for eight hours, then 0.37 for two, on
// four nodes, is 9.36 and not 14.8; and C32b: a change inside an hour.
func TestPriceChanges(t *testing.T) {
	p := prices(t, DefaultPolicy(), book("b",
		Row{Selector: Selector{Model: "T4"}, To: at(t, "18:00"), Price: Price{GPU: per(t, "0.20"), HostIncluded: true}},
		Row{Selector: Selector{Model: "T4"}, From: at(t, "18:00"), Price: Price{GPU: per(t, "0.37"), HostIncluded: true}}))
	var sum money.Sum
	for i := range 4 {
		n := shape(1, "Tesla T4", 0, 0)
		n.Name = fmt.Sprint("n", i)
		for hour := range 10 {
			from := at(t, "10:00") + int64(hour)*hourMS
			pieces, err := p.Cost(n, from, from+hourMS)
			if err != nil {
				t.Fatal(err)
			}
			sum.Add(only(t, pieces).Total)
		}
	}
	if sum.String() != "9.36" {
		t.Errorf("ten hours of four nodes cost %s, want 9.36", sum)
	}

	p = prices(t, DefaultPolicy(), book("b",
		Row{Selector: Selector{Model: "T4"}, To: at(t, "14:20"), Price: Price{GPU: per(t, "1"), HostIncluded: true}},
		Row{Selector: Selector{Model: "T4"}, From: at(t, "14:20"), Price: Price{GPU: per(t, "1.3"), HostIncluded: true}}))
	pieces := cost(t, p, shape(1, "Tesla T4", 0, 0), "14:00", "15:00")
	if len(pieces) != 2 || pieces[0].Total+pieces[1].Total != amount(t, "1.2") || pieces[1].StartMS != at(t, "14:20") {
		t.Errorf("an hour with a change at 14:20: %+v", pieces)
	}
}

// TestMonthStraddlesTheCut: p4d before and after June 2025.
func TestMonthStraddlesTheCut(t *testing.T) {
	cut := at(t, "2025-06-01")
	p := prices(t, DefaultPolicy(), book("list",
		Row{Selector: Selector{InstanceType: "p4d.24xlarge"}, To: cut, Price: Price{Node: per(t, "32.7726")}},
		Row{Selector: Selector{InstanceType: "p4d.24xlarge"}, From: cut, Price: Price{Node: per(t, "21.957642")}}))
	n := shape(8, "A100", 96, 1152)
	n.InstanceType = "P4D.24xlarge"
	for from, want := range map[int64]string{cut - hourMS: "32.7726", cut: "21.957642"} {
		pieces, err := p.Cost(n, from, from+hourMS)
		if c := only(t, pieces); err != nil || c.Total != amount(t, want) || c.Basis.Hourly != c.Total {
			t.Errorf("the hour from %s costs %+v, %v; want %s", day(from), c, err, want)
		}
	}
}

// TestNoPriceIsNotZero is case C33: a book of two models, a node of a third.
func TestNoPriceIsNotZero(t *testing.T) {
	month, err := PerHour(730*money.Unit, HoursOfMonth)
	if err != nil {
		t.Fatal(err)
	}
	p := prices(t, DefaultPolicy(), book("b",
		Row{Selector: Selector{Model: "NVIDIA A40"}, Price: Price{GPU: per(t, "1"), HostIncluded: true}},
		Row{Selector: Selector{Model: "NVIDIA RTX A6000"}, Price: Price{GPU: &month, HostIncluded: true}}))
	for _, c := range []struct {
		gpus  int
		model string
		want  money.Nano
	}{{8, "NVIDIA A40", 8 * money.Unit}, {2, "NVIDIA RTX A6000", 2 * money.Unit}, {4, "NVIDIA L40", 0}} {
		got := only(t, cost(t, p, shape(c.gpus, c.model, 64, 512), "10:00", "11:00"))
		if got.Total != c.want || got.Priced != (c.want > 0) || len(got.Slots) != c.gpus || got.CPU != 0 || got.Memory != 0 {
			t.Errorf("%d × %s: %+v, want %s on its GPUs", c.gpus, c.model, got, c.want)
		}
		if !got.Priced && !strings.Contains(got.Reason, "NVIDIA L40") {
			t.Errorf("reason %q does not name the model", got.Reason)
		}
	}
}

// TestUnitPricesAreEach is opencost#2029: with prices of 1 for each GPU, vCPU
// and GiB, a node of 1, 4 and 15.3246 costs 20.3246, not 1; and a node without
// GPUs has no GPU cost.
func TestUnitPricesAreEach(t *testing.T) {
	row := func(gpu, cpu, gibs string) Row {
		return Row{Price: Price{GPU: per(t, gpu), VCPU: per(t, cpu), GiB: per(t, gibs)}}
	}
	n := &Node{Name: "n", Slots: []Slot{{"gpu0", "T4"}}, CPUMilli: 4000, MemoryBytes: 16454684672}
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row("1", "1", "1"))), n, "10:00", "11:00"))
	if got.Slots[0].Cost != money.Unit || got.CPU != 4*money.Unit || four(got.Total) != "20.3246" || got.Basis.Split != "stated" {
		t.Errorf("at 1 each: %+v", got)
	}
	got = only(t, cost(t, prices(t, DefaultPolicy(), book("b", row("3", "1", "2"))), n, "10:00", "11:00"))
	if got.Slots[0].Cost != 3*money.Unit || four(got.Total) != "37.6492" {
		t.Errorf("at 3, 1, 2: %+v", got)
	}
	n.Slots = nil
	if got = only(t, cost(t, prices(t, DefaultPolicy(), book("b", row("1", "1", "1"))), n, "10:00", "11:00")); four(got.Total) != "19.3246" || len(got.Slots) != 0 {
		t.Errorf("without a GPU: %+v", got)
	}
}

func TestPrecedence(t *testing.T) {
	rows := []Row{ // the weakest first: the order of the book does not decide between classes
		{ID: "any", Price: Price{GPU: per(t, "1"), HostIncluded: true}},
		{ID: "model", Selector: Selector{Model: "A100*"}, Price: Price{GPU: per(t, "2"), HostIncluded: true}},
		{ID: "type", Selector: Selector{InstanceType: "p4d.24xlarge"}, Price: Price{Node: per(t, "3")}},
		{ID: "label", Selector: Selector{Labels: map[string]string{"pool": "a"}}, Price: Price{Node: per(t, "4")}},
		{ID: "node", Selector: Selector{Node: "n"}, Price: Price{Node: per(t, "5")}},
	}
	n := shape(1, "NVIDIA A100-SXM4-40GB", 8, 64)
	n.InstanceType, n.Labels = "p4d.24xlarge", map[string]string{"pool": "a"}
	for k := len(rows); k > 0; k-- {
		got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", append([]Row(nil), rows[:k]...)...)), n, "10:00", "11:00"))
		if want := rows[k-1].ID; got.Basis.Row != want {
			t.Errorf("with %d rows, %s prices the node, want %s", k, got.Basis.Row, want)
		}
	}
	// Within a class, the first row counts; between books, the first that prices.
	first := book("first", Row{ID: "x", Selector: Selector{Model: "A100*"}, Price: Price{GPU: per(t, "7"), HostIncluded: true}},
		Row{ID: "y", Selector: Selector{Model: "*"}, Price: Price{GPU: per(t, "8"), HostIncluded: true}})
	p := prices(t, DefaultPolicy(), first, book("second", rows...))
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Basis.Row != "x" || got.Basis.Source != "first" || got.Basis.Revision != "r1" {
		t.Errorf("priced by %+v, want row x of the first book", got.Basis)
	}
}

// TestMixedModels: each slot has its own price by its own card, and a node
// that a book prices in part is not priced by it at all.
func TestMixedModels(t *testing.T) {
	rows := []Row{
		{ID: "l4", Selector: Selector{Model: "L4"}, Price: Price{GPU: per(t, "1"), HostIncluded: true}},
		{ID: "t4", Selector: Selector{Model: "T4"}, Price: Price{GPU: per(t, "0.5"), HostIncluded: true}},
	}
	n := shape(3, "NVIDIA L4", 8, 32)
	n.Slots[1].Model = "Tesla T4"
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", rows...)), n, "10:00", "11:00"))
	want := []SlotCost{{"gpu0", money.Unit}, {"gpu1", money.Unit / 2}, {"gpu2", money.Unit}}
	if diff := cmp.Diff(want, got.Slots); diff != "" || got.Basis.Row != "l4, t4" || got.Total != amount(t, "2.5") {
		t.Errorf("rows %q, total %s (-want +got):\n%s", got.Basis.Row, got.Total, diff)
	}
	got = only(t, cost(t, prices(t, DefaultPolicy(), book("b", rows[0])), n, "10:00", "11:00"))
	if got.Priced || !strings.Contains(got.Reason, `no row for model "Tesla T4"`) {
		t.Errorf("half a price: %+v", got)
	}
	rows[1].Currency = "CNY"
	got = only(t, cost(t, prices(t, DefaultPolicy(), book("b", rows...)), n, "10:00", "11:00"))
	if got.Priced || !strings.Contains(got.Reason, "USD and CNY") {
		t.Errorf("two currencies: %+v", got)
	}
}

// TestSpotHasTheSharesOfOnDemand: pricing a spot node keeps the GPUs' share of
// the price on demand; the residual of the spot price itself would be another.
func TestSpotHasTheSharesOfOnDemand(t *testing.T) {
	sel := Selector{InstanceType: "p4d.24xlarge"}
	spot, demand := sel, sel
	spot.Capacity, demand.Capacity = Spot, OnDemand
	list := book("list", Row{ID: "od", Selector: demand, Price: Price{Node: per(t, "21.957642")}})
	own := book("own", Row{ID: "spot", Selector: spot, Price: Price{Node: per(t, "9.8")}})
	n := shape(8, "A100", 96, 1152)
	n.InstanceType, n.Labels = "p4d.24xlarge", map[string]string{"karpenter.sh/capacity-type": "spot"}

	got := only(t, cost(t, prices(t, DefaultPolicy(), own, list), n, "10:00", "11:00"))
	var gpus money.Nano
	for _, s := range got.Slots {
		gpus += s.Cost
	}
	want := new(big.Rat).Mul(big.NewRat(int64(amount(t, "14.469642")), int64(amount(t, "21.957642"))), nanos(amount(t, "9.8")))
	if off := want.Sub(want, nanos(gpus)); off.Abs(off).Cmp(big.NewRat(8, 1)) > 0 || got.Total != amount(t, "9.8") || got.Basis.Split != "residual" {
		t.Errorf("GPUs cost %s of %s by %s, off by %s billionths", gpus, got.Total, got.Basis.Split, off.FloatString(1))
	}
	// Without a price on demand there is no share to take.
	got = only(t, cost(t, prices(t, DefaultPolicy(), own), n, "10:00", "11:00"))
	if got.Basis.Split != "opencost" || len(got.Basis.Notes) != 1 || got.Basis.Notes[0] != noteNoOnDemand {
		t.Errorf("split %+v, want opencost and a note", got.Basis)
	}
	// A price on demand is none of a spot node.
	got = only(t, cost(t, prices(t, DefaultPolicy(), list), n, "10:00", "11:00"))
	if got.Priced || !strings.Contains(got.Reason, "on-demand capacity, and the node is spot") {
		t.Errorf("a spot node at the price on demand: %+v", got)
	}
	// And where nothing says how the node was bought, the bill says so.
	n.Labels = nil
	got = only(t, cost(t, prices(t, DefaultPolicy(), list), n, "10:00", "11:00"))
	if !got.Priced || len(got.Basis.Notes) != 1 || !strings.Contains(got.Basis.Notes[0], "taken as on demand") {
		t.Errorf("a node of unknown capacity: %+v", got)
	}
}

func TestLife(t *testing.T) {
	p := prices(t, DefaultPolicy(), book("b", Row{Price: Price{Node: per(t, "6")}}))
	for name, c := range map[string]struct {
		life     Life
		from, to string // of the piece; "" for none
		note     string
	}{
		"whole":               {Life{}, "10:00", "11:00", ""},
		"provider's start":    {Life{Started: at(t, "10:20"), FirstSeen: at(t, "10:30")}, "10:20", "11:00", ""},
		"first heartbeat":     {Life{FirstSeen: at(t, "10:30")}, "10:30", "11:00", noteStart},
		"seen before":         {Life{FirstSeen: at(t, "09:30")}, "10:00", "11:00", ""},
		"terminated":          {Life{Terminated: at(t, "10:40"), LastSeen: at(t, "10:30"), Interval: 1}, "10:00", "10:40", ""},
		"last heartbeat":      {Life{LastSeen: at(t, "10:29"), Interval: 60_000, Deleted: at(t, "10:50")}, "10:00", "10:30", noteEnd},
		"deleted":             {Life{Deleted: at(t, "10:50")}, "10:00", "10:50", noteGone},
		"alive":               {Life{LastSeen: at(t, "12:00"), Interval: 60_000}, "10:00", "11:00", ""},
		"not yet":             {Life{Started: at(t, "11:00")}, "", "", ""},
		"over":                {Life{Terminated: at(t, "10:00")}, "", "", ""},
		"both within an hour": {Life{Started: at(t, "10:10"), Terminated: at(t, "10:40")}, "10:10", "10:40", ""},
	} {
		n := shape(1, "L4", 4, 16)
		n.Life = c.life
		got := cost(t, p, n, "10:00", "11:00")
		if c.from == "" {
			if len(got) != 0 {
				t.Errorf("%s: costs %+v, want nothing", name, got)
			}
			continue
		}
		one := only(t, got)
		if one.StartMS != at(t, c.from) || one.StartMS+one.DurationMS != at(t, c.to) {
			t.Errorf("%s: from %s for %d ms", name, day(one.StartMS), one.DurationMS)
		}
		if want := money.Nano(6 * int64(money.Unit) / hourMS * one.DurationMS); one.Total < want || one.Total > want+4_000_000 {
			t.Errorf("%s: costs %s", name, one.Total)
		}
		if notes := strings.Join(one.Basis.Notes, "|"); notes != c.note {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
	}
}

// TestBill: a bill decides, its lines of one node add up, and what it says of
// an hour is spread over the time the node lived in it.
func TestBill(t *testing.T) {
	line := func(id string, part Part, amt, from, to string) Row {
		return Row{ID: id, Selector: Selector{ProviderID: "i-0abc"}, From: at(t, from), To: at(t, to), Price: Price{Charge: &Charge{Amount: amount(t, amt), Part: part}}}
	}
	bill := book("bill", line("compute", PartNode, "9", "10:00", "11:00"), line("disk", PartNode, "1", "10:00", "11:00"))
	bill.Grade = Billed
	list := book("list", Row{Selector: Selector{InstanceType: "p4d.24xlarge", Capacity: OnDemand}, Price: Price{Node: per(t, "21.957642")}, Shape: Shape{GPUs: 8, CPUMilli: 96_000, MemoryBytes: 1152 * gib}})
	p := prices(t, DefaultPolicy(), bill, list)
	n := &Node{Name: "n", ProviderID: "aws:///us-east-1a/i-0abc", InstanceType: "p4d.24xlarge", Capacity: OnDemand}

	got := only(t, cost(t, p, n, "10:00", "11:00"))
	if got.Total != 10*money.Unit || got.Basis.Grade != Billed || got.Basis.Row != "compute, disk" || got.Basis.Split != "residual" || len(got.Slots) != 8 || got.CPUMilli != 96_000 {
		t.Errorf("billed hour: %+v", got)
	}
	if got := only(t, cost(t, p, n, "11:00", "12:00")); got.Total != amount(t, "21.957642") || got.Basis.Grade != Listed {
		t.Errorf("an hour that the bill does not have: %+v", got)
	}
	n.Life = Life{Started: at(t, "10:45"), Terminated: at(t, "11:30")}
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != 10*money.Unit || got.DurationMS != 15*60_000 || got.Basis.Hourly != 40*money.Unit {
		t.Errorf("billed quarter of an hour: %+v", got)
	}
	n.Life = Life{Started: at(t, "11:00")}
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != 10*money.Unit || got.DurationMS != hourMS {
		t.Errorf("billed and not seen: %+v", got)
	}
	// A line a day, over the hours the node lived in it.
	daily := book("daily", line("day", PartNode, "0.000000100", "2026-11-03", "2026-11-04"))
	n.Life = Life{Started: at(t, "10:30"), Terminated: at(t, "13:30")}
	var sum money.Sum
	for _, from := range []string{"10:00", "11:00", "12:00", "13:00"} {
		pieces, err := prices(t, DefaultPolicy(), daily).Cost(n, at(t, from), at(t, from)+hourMS)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(only(t, pieces).Total)
	}
	if sum.String() != "0.0000001" {
		t.Errorf("the hours of a billed day sum to %s", sum)
	}
	// Lines of their own for GPUs and host: nothing is left to a policy.
	n.Life, n.Slots = Life{}, []Slot{{"gpu0", ""}, {"gpu1", ""}}
	parts := book("parts", line("g", PartGPU, "3", "10:00", "11:00"), line("c", PartCPU, "1", "10:00", "11:00"), line("m", PartMemory, "0.5", "10:00", "11:00"))
	got = only(t, cost(t, prices(t, DefaultPolicy(), parts), n, "10:00", "11:00"))
	if got.CPU != money.Unit || got.Memory != money.Unit/2 || got.Slots[1].Cost != amount(t, "1.5") || got.Basis.Split != "stated" || len(got.Basis.Notes) != 0 {
		t.Errorf("a bill with parts: %+v", got)
	}
	parts.Rows[1].Currency = "EUR"
	if got := only(t, cost(t, prices(t, DefaultPolicy(), parts), n, "10:00", "11:00")); got.Priced || !strings.Contains(got.Reason, "cannot be added") {
		t.Errorf("a bill in two currencies: %+v", got)
	}
}

// TestPaidSlotsWithoutCards: the price is for eight GPUs and seven are seen;
// the eighth is paid for all the same, and nobody else pays it.
func TestPaidSlotsWithoutCards(t *testing.T) {
	row := Row{Selector: Selector{InstanceType: "x"}, Price: Price{Node: per(t, "8")}, Shape: Shape{GPUs: 8, Model: "A100"}}
	p := prices(t, rule(RuleAllGPU), book("b", row))
	n := &Node{Name: "n", InstanceType: "x"}
	for _, name := range []string{"00000000:3B:00.0", "00000000:10:00.0", "gpu0"} {
		n.Slots = append(n.Slots, Slot{Name: name, Model: "A100"})
	}
	got := only(t, cost(t, p, n, "10:00", "11:00"))
	if len(got.Slots) != 8 || got.Slots[0].Cost != money.Unit || got.Slots[7].Slot != "gpu5" || len(got.Basis.Notes) != 1 || !strings.Contains(got.Basis.Notes[0], "8 GPUs, and 3 are known") {
		t.Errorf("%+v", got)
	}
	n.Slots = nil
	if got := only(t, cost(t, p, n, "10:00", "11:00")); len(got.Slots) != 8 || got.Slots[7].Slot != "gpu7" || len(got.Basis.Notes) != 0 {
		t.Errorf("%+v", got)
	}
	// A price per GPU buys what it says, too.
	row.Price = Price{GPU: per(t, "1"), HostIncluded: true}
	if got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), n, "10:00", "11:00")); got.Total != 8*money.Unit {
		t.Errorf("%+v", got)
	}
}

func TestStatedGPUPart(t *testing.T) {
	// a2-highgpu-1g: GPU and host are two lines of the list.
	row := Row{Selector: Selector{InstanceType: "a2"}, Price: Price{Node: per(t, "3.67339"), GPU: per(t, "2.93391")}}
	n := shape(1, "A100", 12, 85)
	n.InstanceType = "a2"
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), n, "10:00", "11:00"))
	if got.Slots[0].Cost != amount(t, "2.93391") || got.CPU+got.Memory != amount(t, "0.73948") || got.CPU <= got.Memory || got.Basis.Split != "stated" {
		t.Errorf("%+v", got)
	}
	row.Price.GPU = per(t, "4")
	got = only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), n, "10:00", "11:00"))
	if got.Basis.Split != "residual" || len(got.Basis.Notes) != 1 {
		t.Errorf("a stated part above the price: %+v", got.Basis)
	}
}

func TestHostAndGPUs(t *testing.T) {
	row := Row{Selector: Selector{InstanceType: "a2"}, Price: Price{Host: per(t, "0.73948"), GPU: per(t, "2.93391")}}
	n := shape(2, "A100", 12, 85)
	n.InstanceType = "a2"
	p := prices(t, DefaultPolicy(), book("b", row))
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != amount(t, "6.6073") || got.Slots[1].Cost != amount(t, "2.93391") || got.Basis.Split != "stated" {
		t.Errorf("%+v", got)
	}
	n.Slots = nil
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != amount(t, "0.73948") || got.CPU+got.Memory != got.Total {
		t.Errorf("%+v", got)
	}
}

func TestHostWithoutPrice(t *testing.T) {
	row := Row{Selector: Selector{Model: "*"}, Price: Price{GPU: per(t, "2")}}
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), shape(2, "L4", 8, 32), "10:00", "11:00"))
	if got.Total != 4*money.Unit || len(got.Basis.Notes) != 1 || !strings.Contains(got.Basis.Notes[0], "have no price") {
		t.Errorf("%+v", got)
	}
}

func TestReasons(t *testing.T) {
	list := book("list",
		Row{ID: "east", Selector: Selector{Provider: "aws", Region: "us-east-1", InstanceType: "p5.48xlarge"}, From: at(t, "12:00"), Price: Price{Node: per(t, "55.04")}},
		Row{ID: "old", Selector: Selector{InstanceType: "p3.2xlarge"}, To: at(t, "09:00"), Price: Price{Node: per(t, "3.06")}},
		Row{ID: "gpu", Selector: Selector{InstanceType: "m5.large"}, Price: Price{GPU: per(t, "1"), HostIncluded: true}},
		Row{ID: "cpu", Selector: Selector{InstanceType: "c5.large"}, Price: Price{VCPU: per(t, "1")}})
	p := prices(t, DefaultPolicy(), book("own"), list)
	for want, n := range map[string]*Node{
		"list: row east begins on 2026-11-03T12:00:00Z":                 {ProviderID: "aws:///us-east-1a/i-1", Region: "us-east-1", InstanceType: "p5.48xlarge"},
		`no price of p5.48xlarge in region "eu-west-1": there are`:      {ProviderID: "aws:///eu-west-1a/i-1", Region: "eu-west-1", InstanceType: "p5.48xlarge"},
		"list: row old ended on 2026-11-03T09:00:00Z":                   {InstanceType: "p3.2xlarge"},
		"list: row gpu prices GPUs, and none are known on the node":     {InstanceType: "m5.large"},
		"row cpu prices CPU and memory, and nothing prices the GPUs":    {InstanceType: "c5.large", Slots: []Slot{{"gpu0", "L4"}}},
		"instance type unknown without GPUs: add a row":                 {},
		"the node is virtual":                                           {InstanceType: "m5.large", Labels: map[string]string{"type": "virtual-kubelet"}, Slots: []Slot{{"gpu0", "L4"}}},
		"unknown of gcp in unknown with GPUs of model NVIDIA L4: add a": {ProviderID: "gce://p/z/i", Slots: []Slot{{"gpu0", "NVIDIA L4"}}},
	} {
		n.Name = "n"
		got := only(t, cost(t, p, n, "10:00", "11:00"))
		if got.Priced || !strings.Contains(got.Reason, want) {
			t.Errorf("reason %q, want %q", got.Reason, want)
		}
	}
}

// TestFirstSeen: a price from before its list began is used, and says so.
func TestFirstSeen(t *testing.T) {
	row := Row{ID: "r", FirstSeen: at(t, "2026-12-01"), Price: Price{Node: per(t, "1")}}
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), shape(1, "L4", 4, 16), "10:00", "11:00"))
	if len(got.Basis.Notes) != 1 || !strings.Contains(got.Basis.Notes[0], "first seen on 2026-12-01") {
		t.Errorf("notes %q", got.Basis.Notes)
	}
}

// TestOnPrem is the example of a public calculator: 8 GPUs of 35,000 with 40 %
// around them over 4 years, 2240 kWh a month at PUE 1.4 and 0.12, 3000 a month
// for the room: 11,542.99 a month, 1.977 per GPU-hour of the wall clock.
func TestOnPrem(t *testing.T) {
	o := &OnPrem{Purchase: amount(t, "392000"), LifeHours: 4 * HoursOfYear, PowerKW: big.NewRat(2240, 730), PUE: big.NewRat(14, 10), TariffKWh: amount(t, "0.12"), FixedMonth: amount(t, "3000")}
	n := shape(8, "H100", 128, 1024)
	got := only(t, cost(t, prices(t, rule(RuleAllGPU), book("b", Row{Price: Price{OnPrem: o}})), n, "10:00", "11:00"))
	if month := new(big.Rat).Mul(nanos(got.Total), big.NewRat(730, int64(money.Unit))).FloatString(2); month != "11542.99" {
		t.Errorf("a month costs %s", month)
	}
	if each := new(big.Rat).SetFrac64(int64(got.Slots[0].Cost), int64(money.Unit)).FloatString(3); each != "1.977" {
		t.Errorf("a GPU-hour costs %s", each)
	}
	o.Residual = amount(t, "98000")
	if h, err := o.Hourly(); err != nil || got.Total-h != 2_796_803_653 { // 98000 / 35040
		t.Errorf("a residual value of 98000 takes %s off, %v", got.Total-h, err)
	}
	for want, spoil := range map[string]func(*OnPrem){
		"above 0":        func(o *OnPrem) { o.LifeHours = 0 },
		"negative":       func(o *OnPrem) { o.FixedMonth = -1 },
		"above the purc": func(o *OnPrem) { o.Residual = o.Purchase + 1 },
		"below 1":        func(o *OnPrem) { o.PUE = big.NewRat(9, 10) },
		"power":          func(o *OnPrem) { o.PowerKW = big.NewRat(-1, 1) },
	} {
		bad := *o
		spoil(&bad)
		if _, err := bad.Hourly(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestCostRefusesWhatCannotBe(t *testing.T) {
	p := prices(t, DefaultPolicy())
	for want, f := range map[string]func() error{
		"no part of one hour": func() error { _, err := p.Cost(shape(1, "", 1, 1), 0, hourMS+1); return err },
		"no part of":          func() error { _, err := p.Cost(shape(1, "", 1, 1), 5, 5); return err },
		"no name":             func() error { _, err := p.Cost(&Node{}, 0, hourMS); return err },
		"there twice": func() error {
			_, err := p.Cost(&Node{Name: "n", Slots: []Slot{{"a", ""}, {"a", ""}}}, 0, hourMS)
			return err
		},
		"cannot be": func() error { _, err := p.Cost(&Node{Name: "n", CPUMilli: -1}, 0, hourMS); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
