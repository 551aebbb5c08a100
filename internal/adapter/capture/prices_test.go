// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

const pricedHead = "capture: 1\nwindow: {start: \"2026-11-03T10:00:00Z\", end: \"2026-11-03T10:01:00Z\"}\nnodes:\n"

func TestBookOfTheNodes(t *testing.T) {
	f, err := Read(strings.NewReader(pricedHead+`
- {name: whole, price_per_hour: "1.20", currency: CNY, vcpu: "1.5", memory_gib: "0.5", gpus: [{uuid: a, index: 0}]}
- {name: each, gpus: [{uuid: b, index: 0, price_per_hour: "2"}, {uuid: c, index: 1, price_per_hour: "2"}]}
- {name: both, price_per_hour: "9", gpus: [{uuid: d, index: 0, price_per_hour: "2", currency: EUR}]}
- {name: none, gpus: [{uuid: e, index: 0}]}
prices: {rows: [{a: 1}]}
policy: {basis: held}
`), "dir/f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Book()
	amount := func(n money.Nano) *money.Nano { return &n }
	want := &pricing.Book{Name: "f.yaml", Grade: pricing.Listed, Rows: []pricing.Row{
		{ID: "whole", Selector: pricing.Selector{Node: "whole"}, Currency: "CNY", Price: pricing.Price{Node: amount(1_200_000_000)}, Shape: pricing.Shape{CPUMilli: 1500, MemoryBytes: 1 << 29}},
		{ID: "each", Selector: pricing.Selector{Node: "each"}, Currency: "USD", Price: pricing.Price{GPU: amount(2 * money.Unit), HostIncluded: true}},
		{ID: "both", Selector: pricing.Selector{Node: "both"}, Currency: "EUR", Price: pricing.Price{Node: amount(9 * money.Unit), GPU: amount(2 * money.Unit)}},
	}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if f.Prices == nil || f.Prices.Fields[0].Value.Items[0].Fields[0].Value.Text != "1" || f.Prices.Line != 9 || f.Policy == nil {
		t.Errorf("sections: %+v, %+v", f.Prices, f.Policy)
	}
	f.Nodes = f.Nodes[3:]
	if got, err := f.Book(); got != nil || err != nil || f.Expect != nil {
		t.Errorf("nodes without prices have the book %v, %v", got, err)
	}
}

func TestMistakesInPrices(t *testing.T) {
	for node, want := range map[string]string{
		`{name: n, price_per_hour: "1e3"}`:                                                          `f.yaml:4: nodes[0]: price_per_hour: read amount "1e3"`,
		`{name: n, price_per_hour: "1", vcpu: many}`:                                                `nodes[0]: vcpu: read amount "many"`,
		`{name: n, price_per_hour: "1", memory_gib: "-1"}`:                                          "memory_gib is -1, which no node has",
		`{name: n, price_per_hour: "1", memory_gib: "9000000000"}`:                                  "which no node has",
		`{name: n, price_per_hour: "1", currency: usd}`:                                             `currency "usd"`,
		`{name: n, price_per_hour: "-1"}`:                                                           "the price -1.00 is negative",
		`{name: n, gpus: [{uuid: a, index: 0, price_per_hour: x}]}`:                                 `gpus: price_per_hour: read amount "x"`,
		`{name: n, gpus: [{uuid: a, index: 0, price_per_hour: "1"}, {uuid: b, index: 1}]}`:          "has GPUs with different prices",
		`{name: n, currency: EUR, gpus: [{uuid: a, index: 0, price_per_hour: "1", currency: USD}]}`: "has prices in EUR and USD, which cannot be added",
	} {
		f, err := Read(strings.NewReader(pricedHead+"- "+node+"\n"), "f.yaml")
		if err != nil {
			t.Fatal(node, err)
		}
		_, err = f.Book()
		var e *Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &e) || e.Line != 4 {
			t.Errorf("%s: %v, want %q", node, err, want)
		}
	}
}
