// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// named is a grant by the name of the resource that the plugin offers.
func named(g attribution.Grant, resource string) attribution.Grant {
	g.Resource = resource
	return g
}

// TestSharingIsChargedOnce: one card at 3.00, handed out in each of the ways
// that other tools count several times or not at all (a replica or a slice as a
// whole card, a renamed resource or a claim as none). Under reserved pods pay
// exactly what the scheduler handed out, under memory exactly what they hold,
// and what is idle is never below 0.
func TestSharingIsChargedOnce(t *testing.T) {
	t.Parallel()
	replicas := func(resource string) []state {
		card := card0()
		for i := range 4 {
			name := fmt.Sprint("p", i)
			card.holdings = append(card.holdings, holds(name, 5000))
			card.grants = append(card.grants, named(turn(name, 1), resource))
		}
		return []state{card.offered(4)}
	}
	slices := func(resource string) []state {
		parts := migCard(1, 1, 1, 1, 1, 1, 1, 1)
		for i := range parts[1:] {
			p := &parts[1+i]
			p.reserve = 0
			p.holdings = []holding{holds(fmt.Sprint("p", i), 2500)}
			p.grants[0].Resource = resource
		}
		return parts
	}
	all := func(amount string, pods int, rest bill) bill {
		for i := range pods {
			rest[fmt.Sprint("t/p", i)] = amount
		}
		return rest
	}
	claim := exclusive("p0")
	claim.Source, claim.Claim = "dra", "t/claim"
	for _, tc := range []struct {
		name             string
		cards            []state
		reserved, memory bill
	}{
		{"a whole card", []state{card0(holds("p0", 20000)).granted(exclusive("p0"))}, bill{"t/p0": "3.00"}, bill{"t/p0": "1.50", "idle": "1.50"}},
		{"no request, on a card of another", []state{card0(holds("p0", 20000), leaked("p1", 8000)).granted(exclusive("p0"))}, bill{"t/p0": "2.40", "t/p1 (leak)": "0.60"}, bill{"t/p0": "1.50", "t/p1 (leak)": "0.60", "idle": "0.90"}},
		{"no request, on a card of nobody", []state{card0(leaked("p1", 8000))}, bill{"t/p1 (leak)": "0.60", "idle": "2.40"}, bill{"t/p1 (leak)": "0.60", "idle": "2.40"}},
		{"time-slicing", replicas("nvidia.com/gpu"), all("0.75", 4, bill{}), all("0.375", 4, bill{"idle": "1.50"})},
		{"time-slicing, renamed", replicas("nvidia.com/gpu.shared"), all("0.75", 4, bill{}), all("0.375", 4, bill{"idle": "1.50"})},
		{"MIG, mixed", slices("nvidia.com/mig-1g.10gb"), all("0.375", 7, bill{"stranded": "0.375"}), all("0.1875", 7, bill{"idle": "1.3125", "stranded": "0.375"})},
		{"MIG, single", slices("nvidia.com/gpu"), all("0.375", 7, bill{"stranded": "0.375"}), all("0.1875", 7, bill{"idle": "1.3125", "stranded": "0.375"})},
		{"a DRA claim", []state{card0(holds("p0", 20000)).granted(claim)}, bill{"t/p0": "3.00"}, bill{"t/p0": "1.50", "idle": "1.50"}},
	} {
		h := Hour{Costs: []pricing.NodeCost{costOf(3*money.Unit, 1)}, Batches: wholeHour(tc.cards...)}
		for basis, want := range map[Basis]bill{Reserved: tc.reserved, Memory: tc.memory} {
			if diff := cmp.Diff(want, charged(t, h, Policy{Basis: basis})); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tc.name, basis, diff)
			}
		}
	}
}

// TestFourQuartersAreOneCard: fractions by an annotation scheduler.
func TestFourQuartersAreOneCard(t *testing.T) {
	t.Parallel()
	card, want := card0(), bill{}
	for i := range 4 {
		name := fmt.Sprint("p", i)
		card.grants = append(card.grants, grantOf(name, gpu.ModeFraction, half(10000, 40000)))
		want["t/"+name] = "0.25"
	}
	h := Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card)}
	for _, basis := range []Basis{Held, Reserved} {
		if diff := cmp.Diff(want, charged(t, h, Policy{Basis: basis})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", basis, diff)
		}
	}
}
