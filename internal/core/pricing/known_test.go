// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
)

// TestKnown: what the operator says of nodes finds them a price, in every book,
// and goes before what the node says of itself.
func TestKnown(t *testing.T) {
	own := book("own")
	own.Known = []Known{
		{Labels: map[string]string{"pool": "spot"}, Capacity: Spot},
		{Cluster: "lambda-1", Provider: "lambda", Region: "us-tx"},
		{Cluster: "lambda-1", Node: "n", InstanceType: "gpu_8x_h100", Region: "never"},
	}
	list := book("list",
		Row{ID: "h100", Selector: Selector{Provider: "lambda", Region: "us-tx", InstanceType: "gpu_8x_h100"}, Price: Price{GPU: per(t, "3.99"), HostIncluded: true}},
		Row{ID: "spot", Selector: Selector{Model: "L4", Capacity: Spot}, Price: Price{GPU: per(t, "0.1"), HostIncluded: true}})
	p := prices(t, DefaultPolicy(), own, list)
	n := shape(8, "H100 80GB HBM3", 208, 1800)
	n.Cluster, n.ProviderID, n.InstanceType = "Lambda-1", "k3s://n", "k3s"
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != amount(t, "31.92") || got.Basis.Row != "h100" {
		t.Errorf("%+v", got)
	}
	n.Name = "another"
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Priced || !strings.Contains(got.Reason, "lambda in us-tx") {
		t.Errorf("a node of another type: %+v", got)
	}
	n = shape(1, "L4", 4, 16)
	n.Labels = map[string]string{"pool": "spot"}
	if got := only(t, cost(t, p, n, "10:00", "11:00")); got.Total != money.Unit/10 {
		t.Errorf("a spot node: %+v", got)
	}
	if n.Capacity != "" {
		t.Error("the caller's node was changed")
	}
	for want, k := range map[string]Known{
		"it chooses no nodes": {Provider: "x"}, "it says nothing": {Cluster: "c"}, `capacity "cheap"`: {Cluster: "c", Capacity: "cheap"},
	} {
		if _, err := New(DefaultPolicy(), &Book{Name: "b", Known: []Known{k}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", k, err, want)
		}
	}
}

// TestAsk: every book is asked, and says why it does not price the node.
func TestAsk(t *testing.T) {
	n, row := p4d()
	row.Price.Node = per(t, "21.957642")
	own := book("own", Row{ID: "old", Selector: Selector{Node: "n"}, To: at(t, "09:00"), Price: Price{Node: per(t, "1")}})
	empty := book("empty")
	other := book("other", Row{ID: "any", Price: Price{Node: per(t, "5")}})
	p := prices(t, DefaultPolicy(), own, empty, book("list", row), other).WithBills(billsOf(t, nil, billHour(t, "cur", "i-0abcdef12", "machine", "13.50")))
	node, got, err := p.Ask(n, at(t, "11:30"))
	want := []Answer{
		{Book: "own", Revision: "r1", Grade: Listed, Rows: []string{"old"}, Why: "row old ended on 2026-11-03T09:00:00Z"},
		{Book: "empty", Revision: "r1", Grade: Listed, Why: "no row chooses the node"},
		{Book: "list", Revision: "r1", Grade: Listed, Used: true, Rows: []string{"od"}, Why: "row od prices the node"},
		{Book: "other", Revision: "r1", Grade: Listed, Rows: []string{"any"}, Why: "row any would price the node, if no book before it did"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" || node.Provider != "aws" {
		t.Errorf("%v, provider %q (-want +got):\n%s", err, node.Provider, diff)
	}
	if _, got, err = p.Ask(n, at(t, "10:30")); err != nil || len(got) != 5 || !got[0].Used || got[0].Book != "cur" || got[0].Grade != Billed || got[3].Used {
		t.Errorf("in a billed hour: %v, %+v", err, got)
	}
	if _, _, err = p.Ask(&Node{}, 0); err == nil {
		t.Error("a node without a name is asked for")
	}
}
