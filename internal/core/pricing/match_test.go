// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

func TestMatchModel(t *testing.T) {
	for _, c := range []struct {
		want, model string
		ok          bool
	}{
		{"NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", true},
		{"a100-sxm4-40gb", "NVIDIA A100-SXM4-40GB", true},
		{"NVIDIA-A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", true}, // as GPU feature discovery labels it
		{"T4", "Tesla T4", true},
		{"A100", "NVIDIA A100-SXM4-40GB", false},
		{"A100*", "NVIDIA A100-SXM4-40GB", true},
		{"A100*80GB*", "NVIDIA A100 80GB PCIe", true},
		{"A100*80GB*", "NVIDIA A100-SXM4-80GB", true},
		{"A100*80GB*", "NVIDIA A100-SXM4-40GB", false},
		{"H100*HBM3", "NVIDIA H100 80GB HBM3", true},
		{"H100*HBM3", "NVIDIA H100 PCIe", false},
		{"*", "anything", true},
		{"*", "", false},
		{"L4", "NVIDIA L40S", false},
		{"A*A", "a", false},
	} {
		if got := MatchModel(c.want, c.model); got != c.ok {
			t.Errorf("%q means %q: %v, want %v", c.want, c.model, got, c.ok)
		}
	}
}

func TestProviderIDs(t *testing.T) {
	for _, c := range []struct {
		row, node string
		ok        bool
	}{
		{"i-0abc", "aws:///us-east-1a/i-0abc", true},
		{"i-0ab", "aws:///us-east-1a/i-0abc", false},
		{"aws:///us-east-1a/i-0abc", "aws:///us-east-1a/i-0abc", true},
		{"project/zone/name", "gce://project/zone/name", true},
		{"/project/zone/name", "gce://project/zone/name", true},
		{"3", "azure:///subscriptions/s/virtualMachineScaleSets/a/virtualMachines/3", false},
		{"/Subscriptions/S/virtualMachineScaleSets/a/virtualMachines/3", "azure:///subscriptions/s/virtualMachineScaleSets/a/virtualMachines/3", true},
		{"virtualMachineScaleSets/a/virtualMachines/3", "azure:///subscriptions/s/virtualMachineScaleSets/a/virtualMachines/3", true},
	} {
		p := prices(t, rule(RuleAllGPU), book("b", Row{Selector: Selector{ProviderID: c.row}, Price: Price{Node: per(t, "1")}}))
		if got := only(t, cost(t, p, &Node{Name: "n", ProviderID: c.node}, "10:00", "11:00")); got.Priced != c.ok {
			t.Errorf("a row of %q prices %q: %v, want %v", c.row, c.node, got.Priced, c.ok)
		}
	}
}

func TestLabelsTell(t *testing.T) {
	for labels, want := range map[string]Capacity{
		"karpenter.sh/capacity-type=spot": Spot, "eks.amazonaws.com/capacityType=ON_DEMAND": OnDemand, "cloud.google.com/gke-spot=true": Spot,
		"kubernetes.azure.com/scalesetpriority=spot": Spot, "eks.amazonaws.com/capacityType=CAPACITY_BLOCK": Reserved, "karpenter.sh/capacity-type=other": "", "a=b": "",
	} {
		key, value, _ := strings.Cut(labels, "=")
		if got := CapacityOf(map[string]string{key: value}); got != want {
			t.Errorf("%s: %q, want %q", labels, got, want)
		}
	}
	for id, want := range map[string]string{"aws:///z/i-1": "aws", "gce://p/z/n": "gcp", "azure:///s": "azure", "Kind://x": "kind", "": ""} {
		if got := ProviderOf(id); got != want {
			t.Errorf("%s is of %q, want %q", id, got, want)
		}
	}
}

func TestRowCheck(t *testing.T) {
	for want, r := range map[string]Row{
		"currency":                  {Currency: "usd", Price: Price{Node: new(money.Nano)}},
		"before it begins":          {From: 2, To: 1, Price: Price{Node: new(money.Nano)}},
		"capacity":                  {Selector: Selector{Capacity: "cheap"}, Price: Price{Node: new(money.Nano)}},
		"no price":                  {},
		"negative":                  {Price: Price{Node: per(t, "-1")}},
		"two prices":                {Price: Price{Node: new(money.Nano), OnPrem: &OnPrem{LifeHours: 1}}},
		"covers its CPU":            {Price: Price{Node: new(money.Nano), VCPU: new(money.Nano)}},
		"keep one of them":          {Price: Price{GPU: new(money.Nano), VCPU: new(money.Nano), HostIncluded: true}},
		"a model chooses devices":   {Selector: Selector{Model: "L4"}, Price: Price{Node: new(money.Nano)}},
		"host_hour goes":            {Price: Price{Host: new(money.Nano)}},
		"host_included goes":        {Price: Price{Node: new(money.Nano), HostIncluded: true}},
		"not both":                  {Selector: Selector{Model: "L4"}, Price: Price{Node: new(money.Nano), GPU: new(money.Nano)}},
		"one node's":                {To: 1, Price: Price{Charge: &Charge{}}},
		"for a time that ends":      {Selector: Selector{Node: "n"}, Price: Price{Charge: &Charge{}}},
		"stands alone":              {Selector: Selector{Node: "n"}, To: 1, Price: Price{Charge: &Charge{}, Node: new(money.Nano)}},
		"net credits":               {Selector: Selector{Node: "n"}, To: 1, Price: Price{Charge: &Charge{Amount: -1}}},
		"write gpu, cpu, memory":    {Selector: Selector{Node: "n"}, To: 1, Price: Price{Charge: &Charge{Part: "disk"}}},
		"life is 0":                 {Price: Price{OnPrem: &OnPrem{}}},
		"the shape has a number":    {Shape: Shape{GPUs: -1}, Price: Price{Node: new(money.Nano)}},
		"the shape has a number th": {Shape: Shape{GPUs: 1_000_000}, Price: Price{Node: new(money.Nano)}},
	} {
		if r.Currency == "" {
			r.Currency = "USD"
		}
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if _, err := New(DefaultPolicy(), &Book{Name: "b", Rows: []Row{{ID: "a", Currency: r.Currency, Price: r.Price, Selector: r.Selector, From: r.From, To: r.To, Shape: r.Shape}}}); err == nil {
			t.Errorf("a book takes the row that %q is said of", want)
		}
	}
	free := Row{ID: "free", Currency: "USD", Price: Price{Node: new(money.Nano)}}
	if _, err := New(DefaultPolicy(), &Book{Name: "b", Rows: []Row{free, free}}); err == nil || !strings.Contains(err.Error(), "not the only one") {
		t.Errorf("two rows of one id: %v", err)
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]string{"21.957642": "21.957642", "88.4899999025753": "88.489999903", "3.95625e-05": "0.000039562", "0.0000000005": "0.00", "0.0000000015": "0.000000002", "1E2": "100.00", "7": "7.00"} {
		if n, err := ParseRate(text); err != nil || n.String() != want {
			t.Errorf("%s is %s, %v; want %s", text, n, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1e999", "NaN", "0x10", "1_000", "1/3", ".5", "9999999999999", "999999999999"} {
		if n, err := ParseRate(text); err == nil {
			t.Errorf("%q is %s, want an error", text, n)
		}
	}
}
