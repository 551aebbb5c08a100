// SPDX-License-Identifier: Apache-2.0

package counterfactual

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/usage"
)

// BenchmarkTrial divides an hour of a node of 8 cards in minutes, as it was and as it would
// have been: what one of the 24 hours of a workload costs, without reading it.
func BenchmarkTrial(b *testing.B) {
	n := nodeOf(b, "n", "24", "0", 8, tenant{name: "a", cards: []int{0}, held: 8 * gib})
	var tenants []tenant
	for g := range 8 {
		tenants = append(tenants, tenant{name: fmt.Sprint("p", g), cards: []int{g}, held: 8 * gib, milli: 1000})
	}
	n.Batches = nil
	for m := range int64(60) {
		w := windowOf("n", at0+m*minuteMS, uint64(m)+1, 8, tenants)
		shorten(&w)
		n.Batches = append(n.Batches, w)
	}
	for name, policy := range map[string]string{"memory": "memory", "idle in proportion": "held, proportion"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Divide([]Node{n}, nil, policies[policy]); err != nil {
					b.Fatal(err)
				}
				altered, ms := Smaller(podsOf("p0"), eighth)([]Node{n})
				if ms == 0 {
					b.Fatal("nothing was altered")
				}
				if _, err := Divide(altered, nil, policies[policy]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// shorten makes a window of 15 minutes one of a minute.
func shorten(b *usage.Batch) {
	b.DurationMS = minuteMS
	for i := range b.Partitions {
		p := &b.Partitions[i]
		p.DurationMS, p.MeasuredMS = minuteMS, minuteMS
		for _, sum := range []*uint64{&p.CapacityByteMS, &p.UsedByteMS, &p.FreeByteMS} {
			*sum /= 15
		}
	}
	for i := range b.Holders {
		h := &b.Holders[i]
		h.DurationMS, h.PresentMS, h.KnownMS, h.ByteMS = minuteMS, minuteMS, minuteMS, h.ByteMS/15
	}
	for i := range b.Grants {
		b.Grants[i].DurationMS, b.Grants[i].GrantedMS = minuteMS, minuteMS
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		p.DurationMS, p.PresentMS, p.CPURequestMilliMS = minuteMS, minuteMS, p.CPURequestMilliMS/15
	}
}
