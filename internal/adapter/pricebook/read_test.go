// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"errors"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// example is the book that docs/formats/pricebook.md shows.
func example(t testing.TB) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/formats/pricebook.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(doc)
	if m == nil {
		t.Fatal("docs/formats/pricebook.md shows no example")
	}
	return string(m[1])
}

func ms(t *testing.T, day string) int64 {
	t.Helper()
	m, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return m.UnixMilli()
}

func nano(t *testing.T, text string) *money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return &n
}

var rats = cmp.Comparer(func(a, b *big.Rat) bool { return a == b || a != nil && b != nil && a.Cmp(b) == 0 })

func TestTheDocumentedBook(t *testing.T) {
	f, err := Read(strings.NewReader(example(t)), "dir/book.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []pricing.Row{
		{ID: "spot-pool", Selector: pricing.Selector{Labels: map[string]string{"karpenter.sh/nodepool": "gpu-spot"}, Capacity: pricing.Spot}, From: ms(t, "2026-06-01"), Price: pricing.Price{Node: nano(t, "9.95")}},
		{ID: "p4d-old", Selector: pricing.Selector{Provider: "aws", Region: "us-east-1", InstanceType: "p4d.24xlarge"}, To: ms(t, "2026-03-01"), Price: pricing.Price{Node: nano(t, "28.1")}},
		{ID: "p4d", Selector: pricing.Selector{Provider: "aws", Region: "us-east-1", InstanceType: "p4d.24xlarge"}, From: ms(t, "2026-03-01"), Price: pricing.Price{Node: nano(t, "19.76")}, Source: "contract 4711"},
		{ID: "h100", Selector: pricing.Selector{Provider: "example-cloud", Model: "H100 80GB HBM3"}, Price: pricing.Price{GPU: nano(t, "2.85"), HostIncluded: true}},
		{ID: "a6000", Selector: pricing.Selector{Model: "NVIDIA RTX A6000"}, Price: pricing.Price{GPU: nano(t, "1"), HostIncluded: true}},
		{ID: "t4", Selector: pricing.Selector{Model: "T4"}, Price: pricing.Price{GPU: nano(t, "0.35"), VCPU: nano(t, "0.031611"), GiB: nano(t, "0.004237")}},
		{ID: "rack-7", Selector: pricing.Selector{Labels: map[string]string{"rack": "r7"}}, Price: pricing.Price{OnPrem: &pricing.OnPrem{Purchase: *nano(t, "392000"), Residual: *nano(t, "98000"), LifeHours: 35040, PowerKW: big.NewRat(56, 10), PUE: big.NewRat(14, 10), TariffKWh: *nano(t, "0.12"), FixedMonth: *nano(t, "3000")}}},
	}
	for i := range want {
		want[i].Currency = "USD"
	}
	if diff := cmp.Diff(want, f.Book.Rows, rats); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if f.Book.Name != "acme-2026" || f.Book.Grade != pricing.Listed || !strings.HasPrefix(f.Book.Revision, "sha256:") {
		t.Errorf("book %q, %q, %q", f.Book.Name, f.Book.Grade, f.Book.Revision)
	}
	if diff := cmp.Diff([]pricing.Known{{Cluster: "lambda-1", Provider: "lambda", Region: "us-tx-3"}}, f.Book.Known); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	convert := []pricing.Conversion{{
		Currency: "CNY", Into: "USD", Rate: big.NewRat(1391, 10_000), From: ms(t, "2026-11-01"), To: ms(t, "2026-12-01"), Source: "central bank, average of November",
	}}
	if diff := cmp.Diff(convert, f.Book.Convert, rats); diff != "" {
		t.Errorf("convert (-want +got):\n%s", diff)
	}
	policy := pricing.DefaultPolicy()
	policy.References = policy.References[:1] // what is given takes the place of the default
	if diff := cmp.Diff(policy, *f.Policy, rats); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if _, err := pricing.New(*f.Policy, &f.Book); err != nil {
		t.Error(err)
	}
	other, err := Read(strings.NewReader(example(t)+"\n"), "b.yaml")
	if err != nil || other.Book.Revision == f.Book.Revision {
		t.Errorf("another text has the same revision %q, %v", other.Book.Revision, err)
	}
}

const head = "pricebook: 1\ncurrency: USD\n"

func TestEveryField(t *testing.T) {
	f, err := Read(strings.NewReader(head+`
split:
  rule: gpu-rate
  references:
  - name: m7i/r7i
    pair: [{vcpu: 96, memory_gib: 384, node_hour: 4.8384}, {vcpu: 96, memory_gib: 768, node_hour: 6.3504}]
  ratio: {gpu: 0.95, cpu: 0.03, memory: 0.02}
  gpu_rates: [{model: A100*, gpu_hour: "1.8"}, {model: H800, gpu_hour: 12, currency: CNY}]
nodes:
- {cluster: lambda-1, provider: lambda, region: us-tx, zone: a}
- {node: n7, labels: {pool: p}, instance_type: t, capacity: reserved}
rows:
- node: n1
  provider_id: aws:///z/i-1
  zone: z
  cluster: c
  currency: CNY
  host_hour: 1
  gpu_hour: 2
  from: "2026-03-01T08:00:00+08:00"
  first_seen: 2025-01-01
  retrieved: 2026-01-01
  source: |
    a page
  gpus: 8
  gpu_model: A100
  gpu_memory_gib: 40
  vcpu: 96
  memory_gib: 30.5
- {instance_type: x, gpu_hour: 1, host_included: false}
- {instance_type: y, node_month: 1460, gpu_month: 365}
- {node: "17", on_prem: {purchase: 10, life_months: 18}}
`), "book.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []pricing.Row{
		{ID: "row 1", Selector: pricing.Selector{Node: "n1", ProviderID: "aws:///z/i-1", Zone: "z", Cluster: "c"}, Currency: "CNY", Price: pricing.Price{Host: nano(t, "1"), GPU: nano(t, "2")},
			From: ms(t, "2026-03-01"), FirstSeen: ms(t, "2025-01-01"), Retrieved: ms(t, "2026-01-01"), Source: "a page\n",
			Shape: pricing.Shape{GPUs: 8, Model: "A100", GPUMemoryGiB: 40, CPUMilli: 96_000, MemoryBytes: 61 << 29}},
		{ID: "row 2", Selector: pricing.Selector{InstanceType: "x"}, Currency: "USD", Price: pricing.Price{GPU: nano(t, "1")}},
		{ID: "row 3", Selector: pricing.Selector{InstanceType: "y"}, Currency: "USD", Price: pricing.Price{Node: nano(t, "2"), GPU: nano(t, "0.5")}},
		{ID: "row 4", Selector: pricing.Selector{Node: "17"}, Currency: "USD", Price: pricing.Price{OnPrem: &pricing.OnPrem{Purchase: *nano(t, "10"), LifeHours: 18 * 730}}},
	}
	if diff := cmp.Diff(want, f.Book.Rows, rats); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	known := []pricing.Known{
		{Cluster: "lambda-1", Provider: "lambda", Region: "us-tx", Zone: "a"},
		{Node: "n7", Labels: map[string]string{"pool": "p"}, InstanceType: "t", Capacity: pricing.Reserved},
	}
	if diff := cmp.Diff(known, f.Book.Known); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	policy := pricing.Policy{
		Rule:       pricing.RuleGPURate,
		References: []pricing.Reference{{Name: "m7i/r7i", Currency: "USD", VCPU: *nano(t, "0.03465"), GiB: *nano(t, "0.0039375")}},
		Ratio:      pricing.Ratio{GPU: big.NewRat(95, 100), CPU: big.NewRat(3, 100), Memory: big.NewRat(2, 100)},
		GPURates:   []pricing.ModelRate{{Model: "A100*", Hourly: *nano(t, "1.8"), Currency: "USD"}, {Model: "H800", Hourly: *nano(t, "12"), Currency: "CNY"}},
	}
	if diff := cmp.Diff(policy, *f.Policy, rats); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// TestMistakes: each names file, line and field, and says what to do.
func TestMistakes(t *testing.T) {
	row := func(s string) string { return head + "rows:\n- " + s + "\n" }
	for text, want := range map[string]string{
		"":                                                       "b.yaml: holds no document",
		"pricebook: 2\n":                                         `b.yaml:1: pricebook: should be 1, the version of the format, and is "2"`,
		"[]":                                                     `b.yaml:1: should be a mapping`,
		"pricebook: [":                                           "b.yaml:1: this is not valid YAML",
		head + "price: 1\n":                                      "b.yaml:3: price: is not a field that belongs here; there are pricebook, name, currency, split, nodes, convert, rows",
		head + "rows: 3\n":                                       "b.yaml:3: rows: should be a list",
		head + "rows:\n- 3\n":                                    "b.yaml:4: rows[0]: should be a mapping",
		row("node_hour: 1\n  node_hour: 2"):                      "node_hour",
		row("node_hour: 1\n  colour: red"):                       "b.yaml:5: rows[0].colour: is not a field that belongs here",
		row("node_hour: 1e3"):                                    `b.yaml:4: rows[0].node_hour: read amount "1e3": write a decimal number`,
		row("node_hour: 0.0000000001"):                           "more than nine decimal places",
		row("node_hour: -1"):                                     "b.yaml:4: rows[0]: the price -1.00 is negative",
		row("node_hour: [1]"):                                    "b.yaml:4: rows[0].node_hour: should be a plain value",
		row("node_hour:"):                                        "b.yaml:4: rows[0].node_hour: should be a plain value; leave the field out",
		row("node_hour: 1\n  node_month: 1"):                     "b.yaml:5: rows[0].node_month: stands beside node_hour: keep the one that is meant",
		row("model: L4\n  node_hour: 1"):                         "b.yaml:4: rows[0]: a model chooses devices",
		row("model: L4"):                                         "b.yaml:4: rows[0]: it has no price",
		row("node_hour: 1\n  from: yesterday"):                   `b.yaml:5: rows[0].from: "yesterday" is no moment`,
		row("node_hour: 1\n  from: 2026-02-30"):                  `"2026-02-30" is no moment`,
		row("node_hour: 1\n  currency: dollars"):                 `b.yaml:5: rows[0].currency: currency "dollars"`,
		row("node_hour: 1\n  capacity: cheap"):                   `capacity "cheap": write on-demand, spot or reserved`,
		row("node_hour: 1\n  gpus: 1.5"):                         `b.yaml:5: rows[0].gpus: "1.5" is no whole number`,
		row("node_hour: 1\n  memory_gib: many"):                  "rows[0].memory_gib",
		row("node_hour: 1\n  labels: a"):                         "rows[0].labels: should be a mapping",
		row("node_hour: 1\n  labels: {}"):                        "rows[0].labels: is empty",
		row("node_hour: 1\n  labels: {a: [1]}"):                  "b.yaml:5: rows[0].labels.a: should be a plain value",
		row("node_hour: &a 1\n  gpu_hour: *a"):                   "rows[0].node_hour: should be a plain value",
		row("gpu_hour: 1\n  host_included: maybe"):               `rows[0].host_included: "maybe": write true or false`,
		row("node_hour: 1\n  host_included: true"):               "host_included goes with gpu_hour alone",
		row("on_prem: {purchase: 1}"):                            "b.yaml:4: rows[0].on_prem: give the life",
		row("on_prem: {purchase: 1, life: 4}"):                   "rows[0].on_prem.life: is not a field that belongs here",
		row("on_prem: {life_years: 1, power_kw: 1}"):             "rows[0].on_prem.tariff_kwh: is missing",
		row("{id: a, node_hour: 1}\n- {id: a, node_hour: 1}"):    `b.yaml:5: rows[1].id: "a" names the row on line 4 already`,
		"pricebook: 1\nrows: [{node_hour: 1}]":                   "rows[0].currency: is missing: give it here, or once for all rows",
		head + "nodes: [{provider: x}]":                          "b.yaml:3: nodes[0]: it chooses no nodes: give cluster, node or labels",
		head + "nodes: [{cluster: x}]":                           "nodes[0]: it says nothing: give provider, region",
		head + "nodes: [{cluster: x, capacity: cheap}]":          `nodes[0]: capacity "cheap": write on-demand, spot or reserved`,
		head + "nodes: [{cluster: x, model: y}]":                 "nodes[0].model: is not a field that belongs here",
		head + "convert: [{currency: EUR, into: USD}]":           "b.yaml:3: convert[0]: it needs a rate above 0: how many USD one EUR is",
		head + "convert: [{currency: EUR, into: USD, rate: -1}]": `convert[0].rate: "-1": write a decimal number`,
		head + "convert:\n- {currency: EUR, into: USD, rate: 1.1}\n- {currency: EUR, into: CHF, rate: 0.9}": "b.yaml:5: convert[1]: there are two rates for EUR at one time, 1.1 and 0.9",
		head + "convert: [{currency: EUR, into: USD, rate: 1.1, from: \"2026-11-01T00:30:00Z\"}]":           "convert[0]: it must begin and end with an hour of UTC",
		head + "split: {rule: halves}":                                          `b.yaml:3: split: split rule "halves": write one of aws-scad`,
		head + "split: {rule: fixed-ratio, ratio: {gpu: 1}}":                    "fixed-ratio: give a share",
		head + "split: {rule: fixed-ratio, ratio: {gpu: 1, cpu: 1, memory: 0}}": "sum to 2.0",
		head + "split: {gpu_rates: [{model: x}]}":                               "split.gpu_rates[0].gpu_hour: is missing",
		head + "split: {references: [{vcpu_hour: 1, pair: []}]}":                "either vcpu_hour and gib_hour, or a pair",
		head + "split: {references: [{pair: [{vcpu: 1, memory_gib: 1, node_hour: 1}, {vcpu: 2, memory_gib: 2, node_hour: 1}]}]}": "same memory per CPU",
	} {
		_, err := Read(strings.NewReader(text), "b.yaml")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	_, err := Read(strings.NewReader(head+"rows:\n- {a: 1, node_hour: x}\n- {b: 1, node_hour: 1}\n"), "b.yaml")
	if err == nil || len(strings.Split(err.Error(), "\n")) != 3 {
		t.Errorf("three mistakes are reported as %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example(f)))
	for _, odd := range []string{"", "{", "[", "- ? - ? :", "pricebook: &a [*a]", "pricebook: !!binary x", "\x00", "a:\n\tb", "<<: {a: 1}", "'", "? ", "{a: {b: [", "%YAML 1.2\n---\npricebook: 1",
		head + "rows: [{labels: {1: 2, true: null}, node_hour: 0x10}]", head + "split: {rule: gpu-rate, gpu_rates: [{model: '', gpu_hour: 1}]}", head + "rows: [{on_prem: {life_years: 1, power_kw: 999999999999, tariff_kwh: 9223372036, pue: 9999}}]"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(strings.NewReader(string(text)), "fuzz.yaml")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != "fuzz.yaml" || e.Msg == "" {
				t.Fatalf("error does not name its place: %T %v", err, err)
			}
			return
		}
		policy := pricing.DefaultPolicy()
		if got.Policy != nil {
			policy = *got.Policy
		}
		if _, err := pricing.New(policy, &got.Book); err != nil {
			t.Fatalf("a book that can be read cannot be used: %v", err)
		}
		pricing.Doubts(&got.Book, pricing.SanityRules{})
	})
}
