// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

const testHour = int64(1_793_700_000_000) // 2026-11-03T10:00:00Z

var models = []string{"NVIDIA A100-SXM4-40GB", "NVIDIA L4", "Tesla T4", ""}

func drawNode(t *rapid.T) *Node {
	n := &Node{
		Name: "n", Cluster: "c", ProviderID: "aws:///z/i-0abc",
		InstanceType: rapid.SampledFrom([]string{"", "p4d.24xlarge", "g6.xlarge"}).Draw(t, "type"),
		Region:       rapid.SampledFrom([]string{"", "us-east-1"}).Draw(t, "region"),
		Labels:       map[string]string{"pool": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool")},
		Capacity:     rapid.SampledFrom([]Capacity{"", OnDemand, Spot, Reserved}).Draw(t, "capacity"),
		CPUMilli:     rapid.OneOf(rapid.Int64Range(0, 8_000), rapid.Int64Range(0, 400_000)).Draw(t, "cpu"),
		MemoryBytes:  rapid.OneOf(rapid.Uint64Range(0, 1<<37), rapid.Uint64Range(0, 1<<43)).Draw(t, "memory"),
	}
	for i := range rapid.IntRange(0, 16).Draw(t, "gpus") {
		n.Slots = append(n.Slots, Slot{Name: fmt.Sprintf("%02d", i), Model: rapid.SampledFrom(models).Draw(t, "model")})
	}
	if rapid.Bool().Draw(t, "short-lived") {
		n.Life.Started = testHour + rapid.Int64Range(-hourMS, hourMS).Draw(t, "started")
		n.Life.LastSeen = n.Life.Started + rapid.Int64Range(1, 2*hourMS).Draw(t, "lived")
	}
	return n
}

func drawMoney(t *rapid.T, name string) money.Nano {
	return money.Nano(rapid.OneOf(rapid.Int64Range(0, 50), rapid.Int64Range(0, int64(200*money.Unit))).Draw(t, name))
}

func drawPrice(t *rapid.T) Price {
	one := func() *money.Nano { n := drawMoney(t, "price"); return &n }
	switch rapid.IntRange(0, 6).Draw(t, "form") {
	case 0:
		return Price{GPU: one(), HostIncluded: rapid.Bool().Draw(t, "host")}
	case 1:
		return Price{GPU: one(), VCPU: one(), GiB: one()}
	case 2:
		return Price{Node: one(), GPU: one()}
	case 3:
		return Price{OnPrem: &OnPrem{Purchase: drawMoney(t, "purchase"), LifeHours: rapid.Int64Range(1, 100_000).Draw(t, "life"), PowerKW: big.NewRat(rapid.Int64Range(0, 100).Draw(t, "kw"), 7), TariffKWh: drawMoney(t, "tariff")}}
	case 4:
		return Price{VCPU: one()}
	case 5:
		return Price{Host: one(), GPU: one()}
	}
	return Price{Node: one()}
}

func drawBook(t *rapid.T, name string) *Book {
	b := &Book{Name: name, Grade: Listed}
	for i := range rapid.IntRange(0, 8).Draw(t, "rows") {
		r := Row{ID: fmt.Sprint(name, i), Currency: rapid.SampledFrom([]money.Currency{"USD", "USD", "CNY"}).Draw(t, "currency"), Price: drawPrice(t)}
		switch rapid.IntRange(0, 4).Draw(t, "selector") {
		case 0:
			r.Labels = map[string]string{"pool": "a"}
		case 1:
			r.InstanceType = "p4d.24xlarge"
			r.Shape = Shape{GPUs: rapid.IntRange(0, 8).Draw(t, "shape"), CPUMilli: 96_000}
		case 2:
			if r.Price.GPU != nil && r.Price.Node == nil && r.Price.Host == nil {
				r.Model = rapid.SampledFrom([]string{"A100*", "L4", "*"}).Draw(t, "model")
			}
		case 3:
			r.ProviderID = "i-0abc"
		}
		r.Capacity = rapid.SampledFrom([]Capacity{"", OnDemand, Spot}).Draw(t, "capacity")
		if rapid.Bool().Draw(t, "dated") {
			r.From = testHour + rapid.Int64Range(-hourMS, hourMS).Draw(t, "from")
			r.To = r.From + rapid.Int64Range(1, 2*hourMS).Draw(t, "for")
		}
		if r.ProviderID != "" && r.To != 0 && rapid.Bool().Draw(t, "charge") {
			r.Price = Price{Charge: &Charge{Amount: drawMoney(t, "amount"), Part: rapid.SampledFrom([]Part{PartNode, PartGPU, PartCPU, PartMemory}).Draw(t, "part")}}
		}
		b.Rows = append(b.Rows, r)
	}
	return b
}

func drawPolicy(t *rapid.T) Policy {
	p := DefaultPolicy()
	p.Rule = rapid.SampledFrom(Rules()).Draw(t, "rule")
	p.GPURates = []ModelRate{{Model: "A100*", Hourly: drawMoney(t, "rate"), Currency: "USD"}, {Model: "L4", Hourly: drawMoney(t, "rate"), Currency: "USD"}}
	return p
}

// Whatever the shape, the price, the rule and the pieces: parts sum to their
// piece, pieces do not overlap and lie in the node's life or under a charge,
// nothing is negative, a part that is not there costs nothing, and asking
// again, with slots in another order, gives the same.
func TestCostsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		books := []*Book{drawBook(t, "one"), drawBook(t, "two")}
		p, err := New(drawPolicy(t), books...)
		if err != nil {
			t.Fatal(err)
		}
		n := drawNode(t)
		pieces, err := p.Cost(n, testHour, testHour+hourMS)
		if err != nil {
			t.Fatal(err)
		}
		end := testHour
		for i := range pieces {
			c := &pieces[i]
			if err := c.Check(); err != nil {
				t.Fatal(err)
			}
			if c.StartMS < end || c.StartMS+c.DurationMS > testHour+hourMS {
				t.Fatalf("piece %d overlaps or leaves the hour: %+v", i, pieces)
			}
			end = c.StartMS + c.DurationMS
			checkPiece(t, c)
		}
		again := *n
		again.Slots = slices.Clone(n.Slots)
		slices.Reverse(again.Slots)
		if twice, err := p.Cost(&again, testHour, testHour+hourMS); err != nil || cmp.Diff(pieces, twice) != "" {
			t.Fatalf("asked again: %v\n%s", err, cmp.Diff(pieces, twice))
		}
	})
}

func checkPiece(t *rapid.T, c *NodeCost) {
	if c.Priced != (c.Reason == "") || c.Priced && (c.Currency == "" || c.Basis.Source == "" || c.Basis.Row == "" || c.Basis.Split == "") {
		t.Fatalf("priced %v, reason %q, basis %+v", c.Priced, c.Reason, c.Basis)
	}
	if c.CPU < 0 || c.Memory < 0 || c.Total < 0 {
		t.Fatalf("negative: %+v", c)
	}
	for _, s := range c.Slots {
		if s.Cost < 0 {
			t.Fatalf("negative: %+v", c)
		}
	}
}

// However an hour is cut, its pieces sum to the hourly price.
func TestPiecesSumToTheHour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hourly := drawMoney(t, "price")
		p, err := New(drawPolicy(t), &Book{Name: "b", Grade: Listed, Rows: []Row{{ID: "r", Currency: "USD", Price: Price{Node: &hourly}}}})
		if err != nil {
			t.Fatal(err)
		}
		n := drawNode(t)
		n.Life, n.Capacity = Life{}, OnDemand
		cuts := rapid.SliceOfNDistinct(rapid.Int64Range(1, hourMS-1), 0, 8, rapid.ID).Draw(t, "cuts")
		cuts = append(cuts, 0, hourMS)
		slices.Sort(cuts)
		var sum money.Sum
		for i, to := range cuts[1:] {
			pieces, err := p.Cost(n, testHour+cuts[i], testHour+to)
			if err != nil || len(pieces) != 1 {
				t.Fatalf("%d pieces, %v", len(pieces), err)
			}
			exact := new(big.Rat).Mul(nanos(hourly), big.NewRat(to-cuts[i], hourMS))
			if off := exact.Sub(exact, nanos(pieces[0].Total)); off.Abs(off).Cmp(big.NewRat(1, 1)) > 0 {
				t.Fatalf("a piece is off by %s billionths", off.FloatString(2))
			}
			sum.Add(pieces[0].Total)
		}
		if got, err := sum.Nano(); err != nil || got != hourly {
			t.Fatalf("the pieces sum to %s, the hour costs %s", sum, hourly)
		}
	})
}

// A charge is spread over the hours of the node without loss.
func TestChargesAreSpreadWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := drawMoney(t, "amount")
		from := testHour + rapid.Int64Range(0, 3*hourMS).Draw(t, "from")
		to := from + rapid.Int64Range(1, 3*hourMS).Draw(t, "for")
		p, err := New(drawPolicy(t), &Book{Name: "b", Grade: Billed, Rows: []Row{{ID: "r", Selector: Selector{ProviderID: "i-0abc"}, Currency: "USD", From: from, To: to, Price: Price{Charge: &Charge{Amount: amount}}}}})
		if err != nil {
			t.Fatal(err)
		}
		n := drawNode(t)
		var sum money.Sum
		for h := testHour; h < testHour+7*hourMS; h += hourMS {
			pieces, err := p.Cost(n, h, h+hourMS)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range pieces {
				sum.Add(c.Total)
			}
		}
		if got, err := sum.Nano(); err != nil || got != amount {
			t.Fatalf("the hours sum to %s, the bill says %s", sum, amount)
		}
	})
}

func TestRateRoundsHalfToEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := big.NewRat(rapid.Int64().Draw(t, "over"), rapid.Int64Range(1, 1000).Draw(t, "under"))
		got, err := Rate(r)
		if err != nil {
			t.Fatal(err)
		}
		off := new(big.Rat).Sub(r, nanos(got))
		if c := off.Abs(off).Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && got%2 != 0 {
			t.Fatalf("%s is rounded to %d", r, got)
		}
	})
}
