// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
)

// busy is an hour of a node with eight cards and ten pods on each.
func busy() *hour {
	h := may(money.Unit, idle(1))
	h.pots = nil
	for card := range 8 {
		p := potOf{resource: allocation.ResourceGPU, slot: fmt.Sprint("gpu", card), cost: 2_745_000_000, parts: []partOf{idle(3)}}
		for i := range int64(10) {
			p.parts = append(p.parts, resource(fmt.Sprint("pod-", i), 1+i))
		}
		h.pots = append(h.pots, p)
	}
	return h
}

// BenchmarkBook rates an hour of 88 entries for the first time, and again with
// another price.
func BenchmarkBook(b *testing.B) {
	h := busy()
	entries, _ := h.entries(failing{b})
	r := Rating{NodeHour: h.NodeHour, Entries: entries}
	first, err := Book(nil, r, Periods{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range h.pots {
		h.pots[i].cost += 1000
	}
	again, _ := h.entries(failing{b})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := Book(nil, r, Periods{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if lines, err := Book(first, Rating{NodeHour: h.NodeHour, Entries: again}, Periods{}); err != nil || len(lines) != len(first) {
				b.Fatal(len(lines), err)
			}
		}
	})
}

// BenchmarkClose closes a month of 500 such hours.
func BenchmarkClose(b *testing.B) {
	j, h := newJournal(), busy()
	for i := range int64(500) {
		h.HourMS = month("2025-05").StartMS() + i*hourMS
		entries, _ := h.entries(failing{b})
		lines, err := Book(nil, Rating{NodeHour: h.NodeHour, Entries: entries}, Periods{})
		if err != nil {
			b.Fatal(err)
		}
		j.lines = append(j.lines, lines...)
	}
	c := closing("2025-05")
	for b.Loop() {
		if _, err := Close(c, nil, StatementLines(j.lines, usd, c.Month, c.Level), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(j.lines)), "ns/line")
}

// failing makes a benchmark a test that can fail.
type failing struct{ *testing.B }
