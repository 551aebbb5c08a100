// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	yaml "github.com/goccy/go-yaml"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

const hourMS = 3_600_000

// story is a capture with what it says of prices.
type story struct {
	file    *capture.File
	Policy  struct{ Split string } `yaml:"policy"`
	Billing string                 `yaml:"billing"`
	// unless is what a GPU costs per hour in a story that states no price.
	unless string
}

func readStory(t *testing.T, file string) story {
	t.Helper()
	s := story{}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	s.file = read(t, file)
	return s
}

// hours cuts a node's window into hours of UTC and pieces of one price.
func (s *story) hours(t *testing.T, node capture.Node, batches []usage.Batch) []allocation.Hour {
	t.Helper()
	start, end := s.file.Start.UnixMilli(), s.file.End.UnixMilli()
	rows := s.priceRows(t, node.Name)
	var out []allocation.Hour
	for from := start; from < end; {
		until := min(end, from-from%hourMS+hourMS)
		h := allocation.Hour{Batches: batches}
		for at := from; at < until; {
			to := until
			for _, r := range rows {
				if at < start+r.fromMS && start+r.fromMS < to {
					to = start + r.fromMS
				}
			}
			h.Costs = append(h.Costs, s.cost(t, node, at, to, priceAt(rows, at-start)))
			at = to
		}
		out = append(out, h)
		from = until
	}
	return out
}

// cost is what the node cost in one piece, as the story says.
func (s *story) cost(t *testing.T, node capture.Node, from, to int64, row string) pricing.NodeCost {
	t.Helper()
	c := pricing.NodeCost{
		Node: node.Name, StartMS: from, DurationMS: to - from, Priced: true, Currency: "USD",
		Basis: pricing.Basis{Grade: pricing.Listed, Source: "the story"},
	}
	for i, g := range node.GPUs {
		slot := pricing.SlotCost{Slot: "gpu" + strconv.Itoa(i)}
		switch price := cmp.Or(g.Price.PerHour, row, s.unless); {
		case price != "":
			slot.Cost = during(t, amount(t, price), c.DurationMS)
		case node.Price.PerHour == "":
			c.Priced = false
		}
		c.Slots = append(c.Slots, slot)
	}
	if node.Price.PerHour != "" {
		s.split(t, node, &c)
	}
	slices.SortFunc(c.Slots, func(a, b pricing.SlotCost) int { return strings.Compare(a.Slot, b.Slot) })
	sum := money.Sum{}
	for _, slot := range c.Slots {
		sum.Add(slot.Cost)
	}
	sum.Add(c.CPU)
	sum.Add(c.Memory)
	total, err := sum.Nano()
	if err != nil {
		t.Fatal(err)
	}
	c.Total = total
	return c
}

// split divides a node's price by the story's rule.
func (s *story) split(t *testing.T, node capture.Node, c *pricing.NodeCost) {
	t.Helper()
	policy := pricing.DefaultPolicy()
	policy.Rule = pricing.Rule(s.Policy.Split)
	hourly := amount(t, node.Price.PerHour)
	prices, err := pricing.New(policy, &pricing.Book{Name: "the story", Grade: pricing.Listed, Rows: []pricing.Row{{
		ID: node.Name, Selector: pricing.Selector{Node: node.Name}, Currency: "USD", Price: pricing.Price{Node: &hourly},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	n := pricing.Node{Name: node.Name, CPUMilli: whole(t, node.Price.VCPU) * 1000, MemoryBytes: uint64(whole(t, node.Price.MemoryGiB)) << 30}
	for _, slot := range c.Slots {
		n.Slots = append(n.Slots, pricing.Slot{Name: slot.Slot})
	}
	pieces, err := prices.Cost(&n, c.StartMS, c.StartMS+c.DurationMS)
	if err != nil || len(pieces) != 1 {
		t.Fatalf("the node costs %v: %v", pieces, err)
	}
	*c = pieces[0]
}

// priceRow is a price per GPU-hour from a time of the window on.
type priceRow struct {
	fromMS int64
	price  string
}

// priceRows reads the rows of a story whose prices change.
func (s *story) priceRows(t *testing.T, node string) (rows []priceRow) {
	t.Helper()
	text, ok := strings.CutPrefix(s.Billing, "# format: price-rows/1\n")
	if !ok {
		return nil
	}
	table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table[1:] {
		seconds, err := strconv.ParseInt(r[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if r[1] == node {
			rows = append(rows, priceRow{seconds * 1000, r[2]})
		}
	}
	return rows
}

func priceAt(rows []priceRow, ms int64) (price string) {
	for _, r := range rows {
		if r.fromMS <= ms {
			price = r.price
		}
	}
	return price
}

// during is an hourly price over a part of the hour.
func during(t *testing.T, hourly money.Nano, ms int64) money.Nano {
	t.Helper()
	parts, err := money.ApportionInts(hourly, ms, hourMS-ms)
	if err != nil {
		t.Fatal(err)
	}
	return parts[0]
}

func whole(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
