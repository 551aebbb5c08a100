// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// machineOf is what stood behind a node's name, as all of its records tell: the
// fleet's machines stay the same.
func machineOf(batches []usage.Batch) rating.Machine {
	m := rating.Machine{Cluster: batches[0].Cluster, Node: batches[0].Node, ProviderID: batches[0].ProviderID,
		FirstMS: batches[0].StartMS, IntervalMS: batches[0].IntervalMS}
	for i := range batches {
		b := &batches[i]
		m.FirstMS, m.LastMS = min(m.FirstMS, b.StartMS), max(m.LastMS, b.StartMS+b.DurationMS)
		if b.Shape == nil {
			continue
		}
		m.CreatedMS = b.Shape.CreatedMS
		if n := len(m.Shapes); n == 0 || !reflect.DeepEqual(m.Shapes[n-1].NodeShape, *b.Shape) {
			m.Shapes = append(m.Shapes, rating.ShapeAt{FromMS: b.StartMS, NodeShape: *b.Shape})
		}
	}
	return m
}

// hoursOf are the hours of a machine: from when it was paid for.
func hoursOf(m *rating.Machine) []ledger.NodeHour {
	hours := m.Boot()
	for h := m.FirstMS - m.FirstMS%hourMS; h < m.LastMS+m.IntervalMS; h += hourMS {
		hours = append(hours, ledger.NodeHour{Cluster: m.Cluster, Node: m.Node, HourMS: h})
	}
	return hours
}

const hourMS = int64(time.Hour / time.Millisecond)

// rate rates all hours of all nodes by the pure cores, without any store.
func rate(t testing.TB, records map[string][]usage.Batch, prices rating.Pricer, p allocation.Policy) []rating.Outcome {
	t.Helper()
	var out []rating.Outcome
	for _, batches := range records {
		m := machineOf(batches)
		for _, h := range hoursOf(&m) {
			var touching []usage.Batch
			for i := range batches {
				if b := &batches[i]; b.StartMS < h.HourMS+hourMS && b.StartMS+b.DurationMS > h.HourMS {
					touching = append(touching, *b)
				}
			}
			o, err := rating.Rate(rating.Input{NodeHour: h, Machines: []rating.Machine{m}, Batches: touching, Prices: prices, Policy: p})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, o)
		}
	}
	return out
}

// TestCoresAlone: the month by the pure cores. Every account and way of sharing
// occurs, every hour has a price, and entries sum to what the nodes cost.
func TestCoresAlone(t *testing.T) {
	split, books := pricesOf(t, bookText)
	prices, err := pricing.New(split, books...)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	outcomes := rate(t, records(), prices, policy)
	t.Logf("%d hours of nodes in %s", len(outcomes), time.Since(began).Round(time.Millisecond))
	var cost, charged money.Sum
	accounts, modes := map[string]money.Sum{}, map[string]money.Sum{}
	for i := range outcomes {
		for _, c := range outcomes[i].Costs {
			if !c.Priced {
				t.Fatalf("%s has no price: %s", outcomes[i].NodeHour, c.Reason)
			}
			cost.Add(c.Total)
		}
		for _, e := range outcomes[i].Entries {
			charged.Add(*e.Amount)
			name := string(e.Kind)
			if e.Kind == allocation.Platform {
				name = e.Account
			}
			add(accounts, name, *e.Amount)
			add(modes, string(e.Mode), *e.Amount)
		}
	}
	if cost.Cmp(charged) != 0 {
		t.Errorf("entries sum to %s, nodes cost %s", charged.String(), cost.String())
	}
	for _, a := range append(allocation.PlatformAccounts(), "direct", "leak") {
		if s, ok := accounts[a]; !ok || s.String() == "0" {
			t.Errorf("nothing was charged as %s", a)
		}
	}
	t.Logf("cost %s", cost.String())
	for name, s := range accounts {
		t.Logf("  %-14s %s", name, s.String())
	}
	for name, s := range modes {
		t.Logf("  mode %-14s %s", name, s.String())
	}
}

func add(to map[string]money.Sum, key string, n money.Nano) {
	s := to[key]
	s.Add(n)
	to[key] = s
}
