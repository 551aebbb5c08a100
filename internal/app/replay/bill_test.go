// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

func pricesOf(t *testing.T, rows ...pricing.Row) *pricing.Prices {
	t.Helper()
	for i := range rows {
		rows[i].ID, rows[i].Currency = string(rune('a'+i)), "USD"
	}
	p, err := pricing.New(pricing.DefaultPolicy(), &pricing.Book{Name: "book", Grade: pricing.Listed, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// hours is an hour and a half of a node: a host process in the first hour alone.
func hours(t *testing.T, node string, used bool) Report {
	t.Helper()
	var src recorded
	for i := range 19 {
		s := history()[0]
		ms := int64(i) * 300_000
		s.Node, s.At, s.MonoMS = node, start.Add(time.Duration(ms)*time.Millisecond), 7000+ms
		if !used || i >= 12 {
			s.Devices[0].Processes = nil
		}
		src = append(src, s)
	}
	rep, err := Run(src, node, Options{Interval: 5 * time.Minute, MonoMS: 7000, At: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// TestRate: each hour of each node is divided to the billionth, pieces are cut
// where the price changes, and what is passed on goes beyond the node if the
// policy says so.
func TestRate(t *testing.T) {
	change := start.Add(20 * time.Minute).UnixMilli()
	prices := pricesOf(t,
		pricing.Row{Selector: pricing.Selector{Node: "n"}, To: change, Price: pricing.Price{GPU: new(2 * money.Unit), HostIncluded: true}},
		pricing.Row{Selector: pricing.Selector{Node: "n"}, From: change, Price: pricing.Price{GPU: new(4 * money.Unit), HostIncluded: true}},
		pricing.Row{Selector: pricing.Selector{Node: "m"}, Price: pricing.Price{GPU: new(7 * money.Unit), HostIncluded: true}})
	reports := []Report{hours(t, "n", true), hours(t, "m", false), {Node: "empty"}}
	policy := allocation.Policy{Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Owner, Shares: []allocation.Share{{To: "ops", Weight: 1}}}}}
	if err := Rate(reports, prices, policy); err != nil {
		t.Fatal(err)
	}
	var totals [3]money.Sum
	for i, r := range reports {
		for _, h := range r.Hours {
			var cost, entries money.Sum
			for _, c := range h.Costs {
				cost.Add(c.Total)
				for _, n := range c.Basis.Notes {
					if strings.Contains(n, "estimated") {
						t.Errorf("the window of a capture is no estimate: %s", n)
					}
				}
			}
			for _, e := range h.Entries {
				entries.Add(*e.Amount)
			}
			if cost != entries {
				t.Errorf("%s: entries sum to %s, it cost %s", h.NodeHour, entries, cost)
			}
			totals[i].AddSum(cost)
		}
	}
	if n, m := totals[0].String(), totals[1].String(); len(reports[0].Hours) != 2 || len(reports[0].Hours[0].Costs) != 2 || n != "5.333333334" || m != "10.50" || reports[2].Hours != nil {
		t.Errorf("n costs %s, m %s: %d hours", n, m, len(reports[0].Hours))
	}
	var table bytes.Buffer
	if err := WriteTable(&table, reports[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"COST by policy held, idle owner ops:1, scope given", "2026-11-03T10:20:00Z for 40m: 4.00 USD an hour, listed by book row b, split stated",
		"3 pieces together", "total ✓ = cost 1.500 5.333333334", "host trainer.service 0.100 0.333333334 0.333333334",
	} {
		if !strings.Contains(squeezed(table), want) {
			t.Errorf("the table has no %q:\n%s", want, table.String())
		}
	}
	for _, line := range strings.Split(table.String(), "\n") {
		if len([]rune(line)) > width {
			t.Errorf("%d columns: %q", len([]rune(line)), line)
		}
	}
}

// squeezed is a text with one blank between words.
func squeezed(b bytes.Buffer) string { return strings.Join(strings.Fields(b.String()), " ") }

// TestRateWithoutAPrice: no price is unknown, and its time is still there.
func TestRateWithoutAPrice(t *testing.T) {
	reports := []Report{hours(t, "x", true)}
	if err := Rate(reports, pricesOf(t), allocation.Policy{}); err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	if err := WriteTable(&table, reports[0]); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(squeezed(table), "total 1.500 unknown") || strings.Contains(squeezed(table), " 0.00 ") {
		t.Errorf("%s", table.String())
	}
	if err := Rate(reports, pricesOf(t), allocation.Policy{Basis: "half"}); err == nil {
		t.Error("a policy that cannot be is taken")
	}
}
