// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

const azureSet = "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachinescalesets/pool"

// billHour is an hour of a bill at 10:00 of the test's day, in USD.
func billHour(t *testing.T, source string, machine bill.Instance, parts ...string) *bill.Hour {
	t.Helper()
	h := &bill.Hour{
		Instance: machine, StartMS: at(t, "10:00"), Currency: "USD", SpanMS: hourMS,
		Sources: strings.Split(source, "+"), Lines: []bill.Row{{File: source + ".csv", Number: 7}},
	}
	for i := 0; i < len(parts); i += 2 {
		h.Parts = append(h.Parts, bill.PartCost{Part: bill.Part(parts[i]), Effective: amount(t, parts[i+1])})
	}
	return h
}

func seq(hours ...*bill.Hour) iter.Seq2[*bill.Hour, error] {
	return func(yield func(*bill.Hour, error) bool) {
		for _, h := range hours {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func billsOf(t *testing.T, stays []Stay, hours ...*bill.Hour) *Bills {
	t.Helper()
	b, err := NewBills(seq(hours...), stays, []bill.Filed{{Source: "cur", Period: bill.Month(2026, 11), Hash: "h1"}, {Source: "cur", Period: bill.Month(2026, 10), Hash: "h0"}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// p4d is a node of AWS, and its price on demand.
func p4d() (*Node, Row) {
	n := &Node{Name: "n", Cluster: "c", ProviderID: "aws:///us-east-1a/i-0abcdef12", InstanceType: "p4d.24xlarge", Capacity: OnDemand}
	return n, Row{ID: "od", Selector: Selector{InstanceType: "p4d.24xlarge", Capacity: OnDemand}, Shape: Shape{GPUs: 8, CPUMilli: 96_000, MemoryBytes: 1152 << 30}}
}

// TestBillGoesFirst: the bill decides in the hours that it has, the books in the
// others, and the bill's cost is split by the shares on demand.
func TestBillGoesFirst(t *testing.T) {
	n, row := p4d()
	row.Price.Node = per(t, "21.957642")
	p := prices(t, DefaultPolicy(), book("list", row)).WithBills(billsOf(t, nil, billHour(t, "cur", "i-0abcdef12", "machine", "13.50", "network", "99")))
	got := only(t, cost(t, p, n, "10:00", "11:00"))
	want := Basis{Grade: Billed, Source: "cur", Row: "machine of i-0abcdef12 (cur.csv row 7)", Revision: "h1", Hourly: amount(t, "13.5"), Split: "residual"}
	if diff := cmp.Diff(want, got.Basis); diff != "" || got.Total != amount(t, "13.5") || len(got.Slots) != 8 || got.CPUMilli != 96_000 {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	var gpus money.Nano
	for _, s := range got.Slots {
		gpus += s.Cost
	}
	if got := gpus.Float() / 13.5; got < 0.6589 || got > 0.6591 {
		t.Errorf("the GPUs' share is %v, want that on demand, 0.6590", got)
	}
	if got := only(t, cost(t, p, n, "11:00", "12:00")); got.Basis.Grade != Listed || got.Total != amount(t, "21.957642") {
		t.Errorf("an hour that no bill has: %+v", got)
	}
	// The bill of another machine is none of this one's.
	n.ProviderID = "aws:///us-east-1a/i-0abcdef99"
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Basis.Grade != Listed {
		t.Errorf("another machine: %+v", got)
	}
	n.ProviderID = ""
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Basis.Grade != Listed {
		t.Errorf("a machine without an id: %+v", got)
	}
	if got := only(t, cost(t, p.WithBills(nil), n, "10:00", "11:00")); got.Basis.Grade != Listed {
		t.Errorf("without bills: %+v", got)
	}
}

// TestBillInParts: where a cloud bills GPUs, CPU and memory apart, no rule splits
// them; a licence is of the machine.
func TestBillInParts(t *testing.T) {
	n := shape(2, "A100", 12, 85)
	n.ProviderID = "gce://p/us-central1-a/vm"
	b := billsOf(t, nil, billHour(t, "gcp", "gce/p/us-central1-a/vm", "cpu", "0.40", "memory", "0.33948", "gpu", "2.93391"))
	got := only(t, cost(t, prices(t, DefaultPolicy()).WithBills(b), n, "10:00", "11:00"))
	if got.Total != amount(t, "3.67339") || got.CPU != amount(t, "0.4") || got.Memory != amount(t, "0.33948") || got.Slots[0].Cost != amount(t, "1.466955") || got.Basis.Split != "stated" {
		t.Errorf("%+v", got)
	}
	b = billsOf(t, nil, billHour(t, "gcp", "gce/p/us-central1-a/vm", "cpu", "1", "licence", "0.10"))
	policy := DefaultPolicy()
	policy.Rule = RuleAllGPU
	got = only(t, cost(t, prices(t, policy).WithBills(b), n, "10:00", "11:00"))
	if got.Total != amount(t, "1.1") || got.CPU != money.Unit || got.Slots[1].Cost != amount(t, "0.05") {
		t.Errorf("with a licence: %+v", got)
	}
	// Traffic alone is no price of a machine.
	b = billsOf(t, nil, billHour(t, "gcp", "gce/p/us-central1-a/vm", "network", "1"))
	if got := only(t, cost(t, prices(t, policy).WithBills(b), n, "10:00", "11:00")); got.Priced {
		t.Errorf("priced by its traffic: %+v", got)
	}
}

// TestTwoBillsOfOneMachine: two sources that charge for the same are one cost
// told twice; two that charge for different parts add up.
func TestTwoBillsOfOneMachine(t *testing.T) {
	n := shape(1, "A10G", 4, 16)
	n.ProviderID = "aws:///z/i-0abcdef12"
	const id = "i-0abcdef12"
	for name, c := range map[string]struct {
		hours  []*bill.Hour
		total  string
		source string
		note   string
		doubt  Doubt
		says   string
	}{
		"the same machine": {
			[]*bill.Hour{billHour(t, "focus", id, "machine", "1.25"), billHour(t, "cur", id, "machine", "1.23")},
			"1.23", "cur", "two bills charge this machine: that of cur counts, that of focus (1.25 USD) is left aside", DoubtBilledTwice, "cur and focus charge for the same machine in 1 hours from 2026-11-03T10:00:00Z on",
		},
		"the machine and a part of it": {
			[]*bill.Hour{billHour(t, "a", id, "gpu", "1"), billHour(t, "b", id, "machine", "3")},
			"1.00", "a", "that of b (3.00 USD) is left aside", DoubtBilledTwice, "a and b",
		},
		"parts of their own": {
			[]*bill.Hour{billHour(t, "a", id, "machine", "3"), billHour(t, "b", id, "licence", "0.5")}, "3.50", "a + b", "", "", "",
		},
		"added up already": {
			[]*bill.Hour{billHour(t, "a+b", id, "machine", "3")}, "3.00", "a + b", "the bills a + b were added up", DoubtBilledTwice, "a + b charge",
		},
		"one source, two currencies": {
			[]*bill.Hour{billHour(t, "a", id, "machine", "3"), inCNY(billHour(t, "a", id, "licence", "1"))}, "", "", "", DoubtBillCurrencies, "charges in CNY and USD",
		},
	} {
		b := billsOf(t, nil, c.hours...)
		got := only(t, cost(t, prices(t, DefaultPolicy()).WithBills(b), n, "10:00", "11:00"))
		if c.total == "" && (got.Priced || !strings.Contains(got.Reason, "cannot be added")) || c.total != "" && got.Total.String() != c.total || got.Basis.Source != c.source {
			t.Errorf("%s: %+v", name, got)
		}
		if notes := strings.Join(got.Basis.Notes, "|"); !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "bill") {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
		doubts := b.Doubts()
		if c.doubt == "" && len(doubts) > 0 || c.doubt != "" && (len(doubts) != 1 || doubts[0].Doubt != c.doubt || doubts[0].Row != id || !strings.Contains(doubts[0].Says, c.says)) {
			t.Errorf("%s: doubts %+v, want %s %q", name, doubts, c.doubt, c.says)
		}
	}
}

func inCNY(h *bill.Hour) *bill.Hour { h.Currency = "CNY"; return h }

// TestBillThatCannotBeAdded falls back to the price book, and the cost says why.
func TestBillThatCannotBeAdded(t *testing.T) {
	n := shape(1, "A10G", 4, 16)
	n.ProviderID = "aws:///z/i-0abcdef12"
	b := billsOf(t, nil, billHour(t, "a", "i-0abcdef12", "machine", "3"), inCNY(billHour(t, "a", "i-0abcdef12", "licence", "1")))
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("own", Row{Price: Price{Node: per(t, "2")}})).WithBills(b), n, "10:00", "11:00"))
	if got.Total != 2*money.Unit || got.Basis.Source != "own" || !strings.HasPrefix(got.Basis.Notes[0], "a: charges in CNY (row licence of i-0abcdef12 (a.csv row 7)) and USD") {
		t.Errorf("%+v", got)
	}
}

// TestWhoseBillItIs: a scale set's cost goes to its metered machines, save those
// that the bill names; a machine under two names is paid once.
func TestWhoseBillItIs(t *testing.T) {
	ten := at(t, "10:00")
	id := func(k int) string { return fmt.Sprintf("azure://%s/virtualMachines/%d", azureSet, k) }
	stays := []Stay{
		{"c", "n0", id(0), ten - hourMS, ten + hourMS}, {"c", "n1", id(1), ten, ten + hourMS/2}, {"c", "n2", id(2), ten, ten + hourMS},
		{"c", "gone", id(3), ten - hourMS, ten}, // not in this hour
		{"c", "old", "aws:///z/i-0abcdef12", ten - hourMS, ten + hourMS/4}, {"c", "new", "aws:///z/i-0abcdef12", ten + hourMS/4, ten + 2*hourMS},
		{"c", "", "", ten, ten + 1}, {"c", "x", id(9), ten, ten},
	}
	own := billHour(t, "az", bill.Instance(azureSet+"/virtualmachines/2"), "machine", "7")
	b := billsOf(t, stays, billHour(t, "az", azureSet, "machine", "3", "licence", "0.000000001"), own, billHour(t, "cur", "i-0abcdef12", "machine", "4"))
	p := prices(t, DefaultPolicy()).WithBills(b)
	var set money.Sum
	for name, want := range map[string]string{"n0": "2.000000001", "n1": "1.00", "n2": "7.00", "gone": "", "old": "1.00", "new": "3.00"} {
		n := shape(1, "A10", 4, 16)
		n.Name, n.Cluster = name, "c"
		for _, s := range stays {
			if s.Node == name {
				n.ProviderID = s.ProviderID
			}
		}
		got := only(t, cost(t, p, n, "10:00", "11:00"))
		if got.Priced != (want != "") || got.Priced && got.Total.String() != want {
			t.Errorf("%s costs %s (%s), want %s", name, got.Total, got.Reason, want)
		}
		notes := strings.Join(got.Basis.Notes, "|")
		if of := strings.Contains(notes, "its share of the scale set "+azureSet) && strings.Contains(notes, "over 2 metered machines"); of != (name == "n0" || name == "n1") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if two := strings.Contains(notes, "behind the names of 2 nodes"); two != (name == "old" || name == "new") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if strings.HasPrefix(name, "n") && name != "new" {
			set.Add(got.Total)
		}
	}
	if set.String() != "10.000000001" {
		t.Errorf("the machines of the set cost %s, the bill says 10.000000001", set)
	}
	// A node that telemetry does not know is charged in full.
	n := shape(1, "A10", 4, 16)
	n.ProviderID = id(5)
	if got := only(t, cost(t, prices(t, DefaultPolicy()).WithBills(billsOf(t, nil, billHour(t, "az", azureSet, "machine", "3"))), n, "10:00", "11:00")); got.Total != 3*money.Unit {
		t.Errorf("%+v", got)
	}
}

// TestBillNotes: what a bill does not tell is said.
func TestBillNotes(t *testing.T) {
	n := shape(1, "A10G", 4, 16)
	n.ProviderID = "aws:///z/i-0abcdef12"
	h := billHour(t, "cur", "i-0abcdef12", "machine", "-0.25", "licence", "0.05")
	h.SpanMS, h.Lines = 24*hourMS, slices.Repeat(h.Lines, 5)
	got := only(t, cost(t, prices(t, DefaultPolicy()).WithBills(billsOf(t, nil, h)), n, "10:00", "11:00"))
	notes := strings.Join(got.Basis.Notes, "|")
	if got.Total != amount(t, "-0.2") || !strings.Contains(notes, "a line for 24 hours") || !strings.Contains(notes, "takes back more than it charges") {
		t.Errorf("%+v", got)
	}
	if want := "machine of i-0abcdef12 (cur.csv row 7, cur.csv row 7, cur.csv row 7, 2 more), licence of i-0abcdef12"; got.Basis.Row != want {
		t.Errorf("row %q, want %q", got.Basis.Row, want)
	}
	bad := errors.New("disk")
	if _, err := NewBills(func(yield func(*bill.Hour, error) bool) { yield(nil, bad) }, nil, nil); !errors.Is(err, bad) {
		t.Errorf("a store that fails: %v", err)
	}
}

// What the machines of an hour cost by their bills is what the bills say of those
// that are known, to the last billionth, however many stays, sets and sources
// there are.
func TestBillsAreChargedOnce(t *testing.T) {
	machines := []string{"aws:///z/i-0abcdef12", "azure://" + azureSet + "/virtualMachines/0", "azure://" + azureSet + "/virtualMachines/1", "coreweave://g1"}
	rapid.Check(t, func(t *rapid.T) {
		ten := testHour - testHour%hourMS
		var stays []Stay
		for k := range rapid.IntRange(1, 6).Draw(t, "stays") {
			from := ten + rapid.Int64Range(0, hourMS-1).Draw(t, "from")
			stays = append(stays, Stay{"c", fmt.Sprint("n", k), rapid.SampledFrom(machines).Draw(t, "machine"), from, from + rapid.Int64Range(1, hourMS).Draw(t, "for")})
		}
		var hours []*bill.Hour
		want := map[bill.Instance]money.Nano{}
		for _, i := range []bill.Instance{"i-0abcdef12", azureSet, azureSet + "/virtualmachines/1", "id:g1"} {
			if !rapid.Bool().Draw(t, "billed") {
				continue
			}
			h := &bill.Hour{Instance: i, StartMS: ten, Currency: "USD", Sources: []string{"s"}}
			for _, part := range rapid.SliceOfNDistinct(rapid.SampledFrom(bill.Parts()), 1, 4, rapid.ID[bill.Part]).Draw(t, "parts") {
				n := drawMoney(t, "cost")
				h.Parts = append(h.Parts, bill.PartCost{Part: part, Effective: n})
				if part.OfMachine() {
					want[i] += n
				}
			}
			hours = append(hours, h)
		}
		b, err := NewBills(seq(hours...), stays, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(drawPolicy(t))
		if err != nil {
			t.Fatal(err)
		}
		got := map[bill.Instance]money.Nano{}
		for _, s := range stays {
			n := &Node{Cluster: s.Cluster, Name: s.Node, ProviderID: s.ProviderID, Slots: []Slot{{"gpu0", "NVIDIA L4"}}, CPUMilli: 4000, Life: Life{Started: s.FromMS, Terminated: s.ToMS}}
			pieces, err := p.WithBills(b).Cost(n, ten, ten+hourMS)
			if err != nil {
				t.Fatal(err)
			}
			i := bill.OfProviderID(s.ProviderID)
			if len(b.at(i, ten)) == 0 {
				i = i.Set()
			}
			for _, c := range pieces {
				if err := c.Check(); err != nil {
					t.Fatal(err)
				}
				got[i] += c.Total
			}
		}
		for i, sum := range got {
			if sum != want[i] {
				t.Fatalf("%s costs %s, the bill says %s", i, sum, want[i])
			}
		}
	})
}

// BenchmarkBills prices an hour of 1250 nodes whose bills cover a month: 900,000
// hours of bills.
func BenchmarkBills(b *testing.B) {
	const nodes, hours = 1250, 720
	start := testHour - testHour%hourMS
	bills, err := NewBills(func(yield func(*bill.Hour, error) bool) {
		for h := range hours {
			for k := range nodes {
				if !yield(&bill.Hour{Instance: bill.Instance(fmt.Sprintf("i-%08d", k)), StartMS: start + int64(h)*hourMS, Currency: "USD", Sources: []string{"cur"},
					Parts: []bill.PartCost{{Part: bill.Whole, Effective: 21 * money.Unit}}}, nil) {
					return
				}
			}
		}
	}, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(DefaultPolicy())
	if err != nil {
		b.Fatal(err)
	}
	p = p.WithBills(bills)
	b.ReportAllocs()
	for b.Loop() {
		for k := range nodes {
			n := &Node{Name: "n", ProviderID: fmt.Sprintf("aws:///z/i-%08d", k), Slots: []Slot{{"gpu0", ""}}, CPUMilli: 1000, MemoryBytes: 1 << 30}
			pieces, err := p.Cost(n, start+300*hourMS, start+301*hourMS)
			if err != nil || len(pieces) != 1 || pieces[0].Basis.Grade != Billed {
				b.Fatalf("%+v, %v", pieces, err)
			}
		}
	}
}
