// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// The cases of other tools' trackers that are about a node's price, beside those
// in price_test.go and split_test.go.

// TestADayIsADay is kubecost/cost-analyzer#3: an NC6 at 0.90 an hour was shown at
// more than 900 a day. It is 21.60.
func TestADayIsADay(t *testing.T) {
	p := prices(t, DefaultPolicy(), book("b", Row{Selector: Selector{InstanceType: "Standard_NC6"}, Price: Price{Node: per(t, "0.90")}}))
	n := shape(1, "Tesla K80", 6, 56)
	n.InstanceType = "standard_nc6"
	var sum money.Sum
	for h := range int64(24) {
		from := at(t, "2026-11-03") + h*hourMS
		pieces, err := p.Cost(n, from, from+hourMS)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(only(t, pieces).Total)
	}
	if sum.String() != "21.60" {
		t.Errorf("a day costs %s", sum)
	}
}

// TestGPUsOnTopOfTheHost is kubecost#2069 and opencost PR#2523: a GPU's price
// counts once for each GPU, and the host's once, whichever way the price is
// written. a2-highgpu-1g: 0.73948 for the host and 2.93391 for the GPU.
func TestGPUsOnTopOfTheHost(t *testing.T) {
	p := prices(t, DefaultPolicy(), book("b", Row{Selector: Selector{Provider: "gcp"}, Price: Price{Host: per(t, "0.73948"), GPU: per(t, "2.93391")}}))
	for gpus, want := range map[int]string{1: "3.67339", 8: "24.21076"} {
		n := shape(gpus, "A100", 12, 85)
		n.ProviderID = "gce://p/us-central1-a/vm"
		got := only(t, cost(t, p, n, "10:00", "11:00"))
		if got.Total != amount(t, want) || got.CPU+got.Memory != amount(t, "0.73948") || got.Slots[gpus-1].Cost != amount(t, "2.93391") {
			t.Errorf("%d GPUs: %+v, want %s", gpus, got, want)
		}
	}
}

// TestHostIncluded: a GPU cloud sells 8 × H100 at 49.24 with the host in it, so
// CPU and memory cost nothing beside the GPUs; the same price under residual gives
// the host its part.
func TestHostIncluded(t *testing.T) {
	n := shape(8, "H100 80GB HBM3", 128, 2048)
	each := prices(t, DefaultPolicy(), book("b", Row{Selector: Selector{Model: "H100*"}, Price: Price{GPU: per(t, "6.155"), HostIncluded: true}}))
	got := only(t, cost(t, each, n, "10:00", "11:00"))
	if got.Total != amount(t, "49.24") || got.CPU != 0 || got.Memory != 0 || got.Basis.Split != "stated" {
		t.Errorf("each GPU: %+v", got)
	}
	whole := book("b", Row{Price: Price{Node: per(t, "49.24")}})
	policy := DefaultPolicy()
	policy.Rule = RuleAllGPU
	if got := only(t, cost(t, prices(t, policy, whole), n, "10:00", "11:00")); got.Total != amount(t, "49.24") || got.CPU+got.Memory != 0 || got.Slots[0].Cost != amount(t, "6.155") {
		t.Errorf("all-gpu: %+v", got)
	}
	if got := only(t, cost(t, prices(t, DefaultPolicy(), whole), n, "10:00", "11:00")); got.CPU != amount(t, "4.224") || got.Memory != amount(t, "7.68") {
		t.Errorf("residual: %+v", got)
	}
}

// TestNoDevicePlugin is kubecost/docs#995: where nothing lists the GPUs of a node
// that are paid for, they get slots of their own, and what they cost is in no
// other part.
func TestNoDevicePlugin(t *testing.T) {
	n, row := p4d()
	row.Price.Node = per(t, "21.957642")
	got := only(t, cost(t, prices(t, DefaultPolicy(), book("b", row)), n, "10:00", "11:00"))
	if len(got.Slots) != 8 || got.CPU != amount(t, "3.168") || got.Memory != amount(t, "4.32") || got.Total != amount(t, "21.957642") {
		t.Errorf("%+v", got)
	}
}
