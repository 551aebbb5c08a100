// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// BenchmarkHour prices one hour of a fleet of 1250 nodes of 8 GPUs, a fifth of
// them spot, from a list of 2000 rows.
func BenchmarkHour(b *testing.B) {
	list := &Book{Name: "list", Grade: Listed}
	for i := range 2000 {
		price := money.Nano(20+i%7) * money.Unit
		list.Rows = append(list.Rows, Row{ID: fmt.Sprint(i), Currency: "USD", Price: Price{Node: &price},
			Selector: Selector{Provider: "aws", Region: "us-east-1", InstanceType: fmt.Sprintf("t%d", i/2), Capacity: []Capacity{OnDemand, Spot}[i%2]}})
	}
	p, err := New(DefaultPolicy(), list)
	if err != nil {
		b.Fatal(err)
	}
	var nodes []*Node
	for i := range 1250 {
		n := &Node{Name: fmt.Sprint("n", i), ProviderID: fmt.Sprintf("aws:///us-east-1a/i-%d", i), Region: "us-east-1", InstanceType: fmt.Sprintf("t%d", i%1000), Capacity: OnDemand, CPUMilli: 96_000, MemoryBytes: 1152 << 30}
		if i%5 == 0 {
			n.Capacity = Spot
		}
		for j := range 8 {
			n.Slots = append(n.Slots, Slot{Name: fmt.Sprintf("00000000:%02X:00.0", j), Model: "NVIDIA A100-SXM4-40GB"})
		}
		nodes = append(nodes, n)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range nodes {
			pieces, err := p.Cost(n, testHour, testHour+hourMS)
			if err != nil || len(pieces) != 1 || !pieces[0].Priced {
				b.Fatalf("%+v, %v", pieces, err)
			}
		}
	}
}
