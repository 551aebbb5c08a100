// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/usage"
)

// TestNothingIsLost: whatever the change, the policy and who is there, all accounts together
// are charged what is paid, the records would be records, and who has no part in the change
// and is charged for what it keeps is charged the same.
func TestNothingIsLost(t *testing.T) {
	names := slices.Sorted(maps.Keys(policies))
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tenants []tenant
		for g := range 4 {
			if r.IntN(4) == 0 {
				continue
			}
			cards := []int{g}
			if r.IntN(3) == 0 {
				cards = append(cards, 4+g)
			}
			tenants = append(tenants, tenant{name: fmt.Sprint("p", g), cards: cards, held: r.Uint64N(30) * gib / 3, milli: r.Int64N(24_000)})
		}
		if r.IntN(2) == 0 {
			tenants = append(tenants, tenant{name: "thief", cards: []int{r.IntN(8)}, held: gib, leak: true})
		}
		n := nodeOf(t, "n", "26.40", "2.40", 8, tenants...)
		whom := podsOf("p0", "p2")
		changes := []Change{
			Smaller(whom, eighth), Smaller(whom, Instance{Profile: "3g", Bytes: 39 * gib, Slices: 4, Of: 8, Stranded: 0}), Without(whom, []string{"GPU-n-4", "GPU-n-2"}),
			Stopped(whom, []usage.Span{{StartMS: at0 + 15*minuteMS, DurationMS: 30 * minuteMS}}), Holding(whom, 2*gib), Asking(whom, 1000, gib), Together([]Pods{podsOf("p0"), podsOf("p2")}),
		}
		for i, c := range changes {
			policy := names[r.IntN(len(names))]
			if got := try(t, policy, whom, c, []Node{n}); got.all != "0.00" {
				t.Errorf("seed %d, change %d, %s: all accounts fall by %s", seed, i, policy, got.all)
			}
			if got := try(t, "held", podsOf("p1", "p3"), c, []Node{n}); got.fell != "0.00" {
				t.Errorf("seed %d, change %d: the others' charges fall by %s", seed, i, got.fell)
			}
		}
	}
}
