// SPDX-License-Identifier: Apache-2.0

package listprices

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// TestTheListIsSound: every row has a source that is explained, nothing is
// doubtful, and the file stays small enough to be part of a program.
func TestTheListIsSound(t *testing.T) {
	b, err := Book()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range pricing.Doubts(b, pricing.SanityRules{NeedSource: true}) {
		t.Errorf("%s: %s: %s", d.Row, d.Doubt, d.Says)
	}
	sources, err := Sources()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, s := range sources {
		known[s.Key] = true
		if s.What == "" || s.Licence == "" || !strings.HasPrefix(s.Address, "https://") {
			t.Errorf("source %q lacks what it is, its licence or its address", s.Key)
		}
	}
	for _, r := range b.Rows {
		if !known[r.Source] {
			t.Errorf("%s: source %q is not explained", r.ID, r.Source)
		}
		if r.FirstSeen == 0 || r.Retrieved < r.FirstSeen || r.Provider == "" || r.Region == "" && r.Model == "" {
			t.Errorf("%s: seen from %s to %s, for provider %q, region %q", r.ID, date(r.FirstSeen), date(r.Retrieved), r.Provider, r.Region)
		}
	}
	if size := len(pricesCSV) + len(sourcesCSV); size > 300_000 || len(b.Rows) < 1000 {
		t.Errorf("%d rows in %d bytes", len(b.Rows), size)
	}
	if b.Revision != "2026-09-25" {
		t.Errorf("revision %q is not the day of the newest price", b.Revision)
	}
	var again bytes.Buffer
	if err := Write(&again, b.Rows); err != nil || !bytes.Equal(again.Bytes(), pricesCSV) {
		t.Errorf("written again, the list differs: %v", err)
	}
}

// TestKnownPrices: prices as their sources state them, on both sides of the
// change of June 2025, and none where none is known.
func TestKnownPrices(t *testing.T) {
	b, err := Book()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pricing.New(pricing.DefaultPolicy(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ provider, region, instanceType, day, want string }{
		{"aws", "us-east-1", "p4d.24xlarge", "2025-05-31", "32.7726 USD"},
		{"aws", "us-east-1", "p4d.24xlarge", "2025-06-01", "21.957642 USD"},
		{"aws", "us-east-1", "p5.48xlarge", "2025-05-31", "98.32 USD"},
		{"aws", "us-east-1", "p5.48xlarge", "2026-12-01", "55.04 USD"},
		{"aws", "eu-west-1", "p4d.24xlarge", "2025-05-01", "35.39655 USD"},
		{"aws", "eu-west-1", "p4d.24xlarge", "2026-12-01", "23.71569 USD"},
		{"aws", "us-east-1", "p5en.48xlarge", "2026-12-01", "63.296 USD"},
		{"aws", "us-east-1", "g5.12xlarge", "2026-12-01", "5.672 USD"},
		{"aws", "us-east-1", "g6f.large", "2026-12-01", "0.202 USD"},
		{"aws", "us-east-1", "g7e.2xlarge", "2026-12-01", "3.36312 USD"},
		{"aws", "cn-north-1", "g4dn.xlarge", "2026-12-01", "5.223 CNY"},
		{"aws", "cn-northwest-1", "p4d.24xlarge", "2026-12-01", "172.873412 CNY"},
		{"azure", "eastus", "Standard_NC24ads_A100_v4", "2026-12-01", "3.673 USD"},
		{"azure", "eastus", "Standard_ND96asr_v4", "2026-12-01", "27.197 USD"},
		{"azure", "eastus", "Standard_ND96isr_H100_v5", "2026-12-01", "98.32 USD"},
		{"gcp", "us-central1", "a2-highgpu-1g", "2026-12-01", "3.673385 USD"},
		{"gcp", "us-central1", "a3-highgpu-8g", "2026-12-01", "88.489999903 USD"},
		{"gcp", "europe-west4", "g2-standard-8", "2026-12-01", "0.897201806 USD"},
		{"aws", "us-east-1", "p5e.48xlarge", "2026-12-01", ""}, // sold in blocks: no list price
		{"aws", "us-east-1", "m5.24xlarge", "2026-12-01", ""},
	} {
		at, err := time.Parse(time.DateOnly, c.day)
		if err != nil {
			t.Fatal(err)
		}
		n := &pricing.Node{Name: "n", Provider: c.provider, Region: c.region, InstanceType: c.instanceType, Capacity: pricing.OnDemand}
		cost, err := p.Cost(n, at.UnixMilli(), at.UnixMilli()+3_600_000)
		if err != nil || len(cost) != 1 {
			t.Fatalf("%d costs, %v", len(cost), err)
		}
		got := ""
		if cost[0].Priced {
			got = fmt.Sprint(cost[0].Total, " ", cost[0].Currency)
		}
		if got != c.want {
			t.Errorf("%s in %s on %s costs %q, want %q (%s)", c.instanceType, c.region, c.day, got, c.want, cost[0].Reason)
		}
		n.Capacity = pricing.Spot
		if cost, err := p.Cost(n, at.UnixMilli(), at.UnixMilli()+3_600_000); err != nil || cost[0].Priced {
			t.Errorf("%s as spot has the price on demand: %+v, %v", c.instanceType, cost, err)
		}
	}
}

// TestGPUClouds: a price per GPU by the model that NVML names, host included.
func TestGPUClouds(t *testing.T) {
	b, err := Book()
	if err != nil {
		t.Fatal(err)
	}
	p, err := pricing.New(pricing.DefaultPolicy(), b)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ provider, model, want string }{
		{"coreweave", "NVIDIA H100 80GB HBM3", "49.24"},
		{"coreweave", "NVIDIA A100-SXM4-80GB", "21.60"},
		{"coreweave", "NVIDIA L40S", "18.00"},
		{"lambda", "NVIDIA A100-SXM4-40GB", "15.92"},
		{"runpod", "NVIDIA H100 NVL", "25.52"},
		{"nebius", "NVIDIA H200", "36.00"},
		{"", "NVIDIA H200", ""},
		{"coreweave", "Tesla T4", ""},
	} {
		n := &pricing.Node{Name: "n", Provider: c.provider, CPUMilli: 128_000, MemoryBytes: 1 << 41}
		for i := range 8 {
			n.Slots = append(n.Slots, pricing.Slot{Name: fmt.Sprint("gpu", i), Model: c.model})
		}
		cost, err := p.Cost(n, 1_793_700_000_000, 1_793_703_600_000)
		if err != nil || cost[0].Priced != (c.want != "") || c.want != "" && (cost[0].Total.String() != c.want || cost[0].CPU != 0) {
			t.Errorf("8 × %s of %q: %+v, %v; want %q", c.model, c.provider, cost, err, c.want)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	head := strings.Join(columns, ",") + "\n"
	for text, want := range map[string]string{
		"":             "want the columns",
		head:           "at least one line",
		head + "a,b\n": "wrong number of fields",
		head + "aws,r,t,,on-demand,USD,x,,,,,,,,,,,\n":           `line 2: node_hour: "x"`,
		head + "aws,r,t,,on-demand,USD,1,,,,,,,8.5,,,,\n":        `line 2: gpus: "8.5"`,
		head + "aws,r,t,,on-demand,USD,1,,,,,,,,,,,-1\n":         `line 2: memory_gib: "-1"`,
		head + "aws,r,t,,on-demand,USD,1,,2025-13-01,,,,,,,,,\n": `line 2: from: "2025-13-01"`,
		head + "aws,r,t,,cheap,USD,1,,,,,,,,,,,\n":               "line 2: capacity",
		head + "aws,r,t,,on-demand,,1,,,,,,,,,,,\n":              "line 2: currency",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestHalfGibibytes(t *testing.T) {
	b, err := Book()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Rows {
		if r.InstanceType == "g3s.xlarge" && r.Region == "us-east-1" {
			if want := uint64(61 << 29); r.Shape.MemoryBytes != want || *r.Price.Node != money.Unit*3/4 {
				t.Errorf("g3s.xlarge has %d bytes at %s, want 30.5 GiB at 0.75", r.Shape.MemoryBytes, *r.Price.Node)
			}
			return
		}
	}
	t.Error("g3s.xlarge is not in the list")
}
