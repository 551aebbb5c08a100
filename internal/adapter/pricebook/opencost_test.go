// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/pricing"
)

const openCostHead = "EndTimestamp,InstanceID,Region,AssetClass,InstanceIDField,InstanceType,MarketPriceHourly,Version\n"

// The first line is the one that OpenCost's own schema file shows.
const openCostFile = openCostHead + `2019-04-17 23:34:22 UTC,gke-standard-cluster-1-pool-1-91dc432d-cg69,,node,metadata.name,,0.1337,
# a comment
,i-01045ab6d13179700,,node,spec.providerID,,1.5,v1
,/subscriptions/s/vm/1,,node,spec.providerID,Standard_NC6,0.9,v1
,pool-a,us-east-1,node,metadata.labels.pool,,2.00000000049,v1
,g5.2xlarge,us-east-1,node,metadata.labels.node.kubernetes.io/instance-type,g5.2xlarge,1.212,v1
,Quadro_RTX_4000,,gpu,gpu.nvidia.com/class,,0.75,v1
,hdd,,pv,spec.storageClassName,,0.0001,v1
`

func TestOpenCost(t *testing.T) {
	got, err := ReadOpenCost(strings.NewReader(openCostFile), "prices.csv", "USD")
	if err != nil {
		t.Fatal(err)
	}
	class := map[string]string{"gpu.nvidia.com/class": "Quadro_RTX_4000"}
	both := map[string]string{"gpu.nvidia.com/class": "Quadro_RTX_4000", "pool": "pool-a"}
	row := func(id string, s pricing.Selector, p pricing.Price) pricing.Row {
		return pricing.Row{ID: id, Selector: s, Currency: "USD", Price: p}
	}
	gpu := nano(t, "0.75")
	want := []pricing.Row{
		row("line 2 + line 8", pricing.Selector{Node: "gke-standard-cluster-1-pool-1-91dc432d-cg69", Labels: class}, pricing.Price{Host: nano(t, "0.1337"), GPU: gpu}),
		row("line 2", pricing.Selector{Node: "gke-standard-cluster-1-pool-1-91dc432d-cg69"}, pricing.Price{Node: nano(t, "0.1337")}),
		row("line 4 + line 8", pricing.Selector{ProviderID: "i-01045ab6d13179700", Labels: class}, pricing.Price{Host: nano(t, "1.5"), GPU: gpu}),
		row("line 4", pricing.Selector{ProviderID: "i-01045ab6d13179700"}, pricing.Price{Node: nano(t, "1.5")}),
		row("line 5 + line 8", pricing.Selector{ProviderID: "/subscriptions/s/vm/1", Labels: class}, pricing.Price{Host: nano(t, "0.9"), GPU: gpu}),
		row("line 5", pricing.Selector{ProviderID: "/subscriptions/s/vm/1"}, pricing.Price{Node: nano(t, "0.9")}),
		row("line 6 + line 8", pricing.Selector{Region: "us-east-1", Labels: both}, pricing.Price{Host: nano(t, "2"), GPU: gpu}),
		row("line 6", pricing.Selector{Region: "us-east-1", Labels: map[string]string{"pool": "pool-a"}}, pricing.Price{Node: nano(t, "2")}),
		row("line 7 + line 8", pricing.Selector{Region: "us-east-1", InstanceType: "g5.2xlarge", Labels: class}, pricing.Price{Host: nano(t, "1.212"), GPU: gpu}),
		row("line 7", pricing.Selector{Region: "us-east-1", InstanceType: "g5.2xlarge"}, pricing.Price{Node: nano(t, "1.212")}),
		row(`type "Standard_NC6" in "" + line 8`, pricing.Selector{InstanceType: "Standard_NC6", Labels: class}, pricing.Price{Host: nano(t, "0.9"), GPU: gpu}),
		row(`type "Standard_NC6" in ""`, pricing.Selector{InstanceType: "Standard_NC6"}, pricing.Price{Node: nano(t, "0.9")}),
	}
	if diff := cmp.Diff(want, got.Book.Rows); diff != "" || got.Skipped != 1 {
		t.Errorf("skipped %d, rows (-want +got):\n%s", got.Skipped, diff)
	}
	// A file without the line of names is read by the order of its columns.
	bare, err := ReadOpenCost(strings.NewReader(strings.TrimPrefix(openCostFile, openCostHead)), "prices.csv", "USD")
	if err != nil || len(bare.Book.Rows) != len(want) {
		t.Errorf("without a header: %d rows, %v", len(bare.Book.Rows), err)
	}
}

// TestGPUPriceIsCountedOncePerGPU: the GPU price of the CSV is per GPU and comes
// on top of the host's, once for each, and not on nodes without GPUs.
func TestGPUPriceIsCountedOncePerGPU(t *testing.T) {
	got, err := ReadOpenCost(strings.NewReader(openCostFile), "prices.csv", "USD")
	if err != nil {
		t.Fatal(err)
	}
	p, err := pricing.New(pricing.DefaultPolicy(), &got.Book)
	if err != nil {
		t.Fatal(err)
	}
	n := &pricing.Node{Name: "n", ProviderID: "aws:///us-east-1a/i-01045ab6d13179700", Labels: map[string]string{"gpu.nvidia.com/class": "quadro_rtx_4000"}, CPUMilli: 4000, MemoryBytes: 1 << 34}
	for gpus, want := range map[int]string{0: "1.50", 2: "3.00"} {
		n.Slots = []pricing.Slot{{Name: "gpu0"}, {Name: "gpu1"}}[:gpus]
		cost, err := p.Cost(n, 0, 3_600_000)
		if err != nil || len(cost) != 1 || cost[0].Total.String() != want {
			t.Errorf("with %d GPUs: %+v, %v; want %s", gpus, cost, err, want)
		}
	}
}

// TestNoMeanOfDifferentPrices: two nodes of a type at two prices say nothing of
// a third.
func TestNoMeanOfDifferentPrices(t *testing.T) {
	got, err := ReadOpenCost(strings.NewReader(openCostHead+",a,,node,metadata.name,x,1,\n,b,,node,metadata.name,x,3,\n,c,,node,metadata.name,y,1,\n,d,,node,metadata.name,y,1,\n"), "p.csv", "EUR")
	if err != nil || len(got.Book.Rows) != 5 || got.Book.Rows[4].InstanceType != "y" || got.Book.Rows[4].Currency != "EUR" {
		t.Errorf("rows %+v, %v; want four nodes and type y", got.Book.Rows, err)
	}
}

func TestOpenCostMistakes(t *testing.T) {
	for text, want := range map[string]string{
		openCostHead + ",a,,node,metadata.name,,x,\n":          `p.csv:2: MarketPriceHourly: read price "x"`,
		openCostHead + ",a,,node,metadata.name,,-1,\n":         `read price "-1"`,
		openCostHead + ",a,,node,metadata.name,1\n":            "p.csv:2: has 6 fields, and the file has 8 columns",
		openCostHead + ",a,,disk,metadata.name,,1,\n":          `p.csv:2: AssetClass: "disk"`,
		openCostHead + ",a,,node,metadata.annotations.x,,1,\n": `p.csv:2: InstanceIDField: "metadata.annotations.x" cannot choose a node here`,
		openCostHead + ",,,node,metadata.name,,1,\n":           "chooses no node",
		openCostHead + "\"a\n":                                 "this is not valid CSV",
		"EndTimestamp,InstanceID,Cost,MarketPriceHourly\n":     "p.csv:1: Cost: is no column of this format",
		"EndTimestamp,EndTimestamp,InstanceID\n":               "there twice",
		"just some text\n":                                     "has 1 fields",
	} {
		if _, err := ReadOpenCost(strings.NewReader(text), "p.csv", "USD"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := ReadOpenCost(strings.NewReader(openCostFile), "p.csv", ""); err == nil || !strings.Contains(err.Error(), "currency") {
		t.Errorf("without a currency: %v", err)
	}
}

func FuzzReadOpenCost(f *testing.F) {
	f.Add([]byte(openCostFile))
	f.Add([]byte("\ufeff" + openCostFile))
	f.Add([]byte(",a,,gpu,x,,1,\n,a,,gpu,x,,1,\n,a,,node,spec.providerID,t,1,"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ReadOpenCost(strings.NewReader(string(text)), "fuzz.csv", "USD")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != "fuzz.csv" || e.Msg == "" {
				t.Fatalf("error does not name its place: %T %v", err, err)
			}
			return
		}
		if _, err := pricing.New(pricing.DefaultPolicy(), &got.Book); err != nil {
			t.Fatalf("a book that can be read cannot be used: %v", err)
		}
	})
}
