// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"strings"
	"testing"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

// TestPlanWithoutPrices: what is not known is a word, and what is left out is said.
func TestPlanWithoutPrices(t *testing.T) {
	cash := money.Nano(17_520_000_000_000)
	for _, c := range []struct {
		name  string
		plan  v1.ClusterPlan
		says  []string
		never string
	}{
		{"nothing priced, no plan", v1.ClusterPlan{Cluster: "a", Nodes: 2, Unpriced: 2}, []string{"what an hour costs is unknown"}, "0.00"},
		{"nothing priced, a plan", v1.ClusterPlan{Cluster: "a", Nodes: 2, Unpriced: 2, Cash: new(money.Nano), Returns: []v1.ReturnedNode{{Node: "b"}}}, []string{"1 of 2 nodes can go, what that saves is unknown"}, "0.00"},
		{"one priced", v1.ClusterPlan{Cluster: "a", Nodes: 2, Unpriced: 1, Currency: "USD", Before: 24_000_000_000, Cash: &cash, Returns: []v1.ReturnedNode{{Node: "b"}}},
			[]string{"17,520.00 USD a month less", "An hour costs 24.00 now", "1 node is in no amount here"}, "unknown"},
	} {
		text := AdvicePlans(&v1.AdvicePlans{Clusters: []v1.ClusterPlan{c.plan}})
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", c.name, want, text)
			}
		}
		if strings.Contains(text, c.never) {
			t.Errorf("%s: says %q\n%s", c.name, c.never, text)
		}
	}
}
