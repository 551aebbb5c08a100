// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

func month(m time.Month) Span {
	start := time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC)
	return Span{start, start.AddDate(0, 1, 0)}
}

func nano(text string) money.Nano {
	n, err := money.Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

// nodeHour is an hour of a p4d.24xlarge.
func nodeHour() Origin {
	start := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	price := nano("21.957642")
	return Origin{
		ID: "aws/i-02445ff7024245edd/2026-09-01T10", BillingAccountID: "123456789012", BillingAccountName: "ML platform",
		SubAccountID: "210987654321", SubAccountName: "training", Billing: month(time.September), Charge: Span{start, start.Add(time.Hour)},
		Currency: "USD", Costs: Costs{price, price, nano("32.7726"), price}, Category: Usage, Description: "One hour of p4d.24xlarge",
		PricingCategory: "Standard", Quantity: One, Unit: "Hours", ServiceProvider: "AWS", ServiceName: "Amazon Elastic Compute Cloud",
		ResourceID: "i-02445ff7024245edd", ResourceName: "gpu-node-1", ResourceType: "Instance", RegionID: "us-east-1", RegionName: "US East (N. Virginia)",
		SkuID: "p4d.24xlarge", SkuMeter: "Instance Hours", SkuPriceID: "list/p4d.24xlarge", InstanceType: "p4d.24xlarge", GPUCount: 8,
		Tags: map[string]string{"cluster": "prod"}, Method: "gputally-held-v1",
		Price: Price{Source: "list", Row: "p4d.24xlarge", Revision: "2026-07-20", Grade: "listed", Split: "residual", Policy: "held"},
	}
}

func pod(uid, name, effective string) Row {
	return Row{ResourceID: uid, ResourceName: "ml/" + name, Costs: Costs{Effective: nano(effective)}, Tags: map[string]string{"team": "vision", "cluster": "prod"},
		Detail: Detail{Kind: "direct", Grade: "measured", Namespace: "ml", Pod: name, Cluster: "prod", Node: "gpu-node-1"}}
}

func account(name, note, effective string) Row {
	return Row{Costs: Costs{Effective: nano(effective)}, Detail: Detail{PlatformAccount: name, Note: note, Kind: "direct", Grade: "measured"}}
}

func split() Split {
	train := pod("11111111-aaaa", "train-0", "14.638428")
	train.Elements = []Element{{Unit: "GiB-Hours", Used: "213.3", Amount: nano("12")}, {Unit: "Core-Hours", Used: "64", Amount: nano("2.638428")}}
	return Split{nodeHour(), []Row{train, pod("22222222-bbbb", "infer-0", "5"), account("idle", "", "2"), account("overhead", "driver_reserve", "0.3"), account("stranded", "", "0.019214")}}
}

func written(t testing.TB, splits ...Split) []map[string]string {
	t.Helper()
	var b bytes.Buffer
	w, err := NewCSV(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range splits {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || !slices.Equal(rows[0], Columns()) {
		t.Fatalf("%v, header %v", err, rows[0])
	}
	var out []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, cell := range row {
			if cell != "" {
				m[rows[0][i]] = cell
			}
		}
		out = append(out, m)
	}
	return out
}

func TestARowOfASplit(t *testing.T) {
	rows := written(t, split())
	want := map[string]string{
		"AllocatedMethodDetails": `{"Elements":[{"AllocatedRatio":0.54650677,"UsageUnit":"GiB-Hours","UsageQuantity":213.3},{"AllocatedRatio":0.120159897,"UsageUnit":"Core-Hours","UsageQuantity":64}]}`,
		"AllocatedMethodId":      "gputally-held-v1", "AllocatedResourceId": "11111111-aaaa", "AllocatedResourceName": "ml/train-0", "AllocatedTags": `{"team":"vision"}`,
		"BilledCost": "14.638428", "EffectiveCost": "14.638428", "ContractedCost": "14.638428", "ListCost": "21.8484",
		"BillingAccountId": "123456789012", "BillingAccountName": "ML platform", "BillingCurrency": "USD",
		"BillingPeriodStart": "2026-09-01T00:00:00Z", "BillingPeriodEnd": "2026-10-01T00:00:00Z", "ChargePeriodStart": "2026-09-01T10:00:00Z", "ChargePeriodEnd": "2026-09-01T11:00:00Z",
		"ChargeCategory": "Usage", "ChargeDescription": "One hour of p4d.24xlarge", "ChargeFrequency": "Usage-Based",
		"ConsumedQuantity": "0.666666667", "ConsumedUnit": "Hours", "PricingQuantity": "0.666666667", "PricingUnit": "Hours", "PricingCategory": "Standard",
		"HostProviderName": "AWS", "InvoiceIssuerName": "AWS", "ProviderName": "AWS", "PublisherName": "AWS", "ServiceProviderName": "AWS",
		"RegionId": "us-east-1", "RegionName": "US East (N. Virginia)", "ResourceId": "i-02445ff7024245edd", "ResourceName": "gpu-node-1", "ResourceType": "Instance",
		"ServiceCategory": "Compute", "ServiceName": "Amazon Elastic Compute Cloud", "ServiceSubcategory": "Virtual Machines",
		"SkuId": "p4d.24xlarge", "SkuMeter": "Instance Hours", "SkuPriceDetails": `{"GpuCount":8,"InstanceType":"p4d.24xlarge"}`, "SkuPriceId": "list/p4d.24xlarge",
		"SubAccountId": "210987654321", "SubAccountName": "training", "Tags": `{"cluster":"prod"}`,
		"x_Cluster": "prod", "x_Grade": "measured", "x_Kind": "direct", "x_Namespace": "ml", "x_Node": "gpu-node-1", "x_OriginChargeId": "aws/i-02445ff7024245edd/2026-09-01T10", "x_PodName": "train-0",
		"x_Policy": "held", "x_PriceGrade": "listed", "x_PriceRevision": "2026-07-20", "x_PriceRow": "p4d.24xlarge", "x_PriceSource": "list", "x_PriceSplit": "residual",
	}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if r := rows[3]; r["AllocatedResourceId"] != "" || r["AllocatedResourceName"] != "" || r["AllocatedTags"] != "" || r["x_PlatformAccount"] != "overhead" || r["x_PlatformAccountNote"] != "driver_reserve" || r["AllocatedMethodId"] == "" {
		t.Errorf("a platform account: %v", r)
	}
}

func TestColumnsAreInOrder(t *testing.T) {
	if !slices.IsSorted(Columns()) {
		t.Errorf("columns are not in alphabetical order, ours last: %v", Columns())
	}
}

// Whatever is split: every column that can be summed sums to the origin's, to
// the last digit, and the ratios to 1.
func TestPartsAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sign := rapid.SampledFrom([]money.Nano{1, 1, -1}).Draw(t, "sign")
		s := Split{Origin: nodeHour()}
		s.Origin.Effective = 0
		for i := range rapid.IntRange(1, 8).Draw(t, "rows") {
			r := account("idle", string(rune('a'+i)), "0")
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				e := Element{Amount: sign * money.Nano(rapid.Int64Range(0, 1e15).Draw(t, "amount"))}
				r.Elements = append(r.Elements, e)
				r.Effective += e.Amount
			}
			s.Origin.Effective += r.Effective
			s.Rows = append(s.Rows, r)
		}
		s.Origin.Billed = money.Nano(rapid.Int64Range(-1e15, 1e15).Draw(t, "billed"))
		s.Origin.Quantity = Quantity(rapid.Int64Range(1, 1e12).Draw(t, "quantity"))
		done, err := s.Complete()
		if err == nil {
			err = done.Check()
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := done.Complete()
		if err != nil || !cmp.Equal(done, again) {
			t.Fatalf("completing twice changes it: %v", err)
		}
	})
}

func TestWhatIsRefused(t *testing.T) {
	for want, change := range map[string]func(*Split){
		`split of origin charge "aws/i-02445ff7024245edd/2026-09-01T10": EffectiveCost of its 5 allocated charges sums to 21.957642001`: func(s *Split) {
			s.Rows[1].Effective++
		},
		"BilledCost of its 5 allocated charges sums to 0.000000001, of the origin it is 21.957642": func(s *Split) { s.Rows[1].Billed = 1 },
		"the elements of the charge of ml/train-0 (11111111-aaaa) sum to":                          func(s *Split) { s.Rows[0].Elements[0].Amount--; s.Rows[0].Elements[0].Amount-- },
		"the charge of ml/train-0 (11111111-aaaa) is there twice": func(s *Split) {
			half := s.Rows[0]
			half.Effective, half.Elements = 0, nil
			s.Rows = append(s.Rows, half)
		},
		"belongs to no resource and no platform account":    func(s *Split) { s.Rows[2].Detail.PlatformAccount = "" },
		`"x" has a name and no id`:                          func(s *Split) { s.Rows[2].ResourceName = "x" },
		"has tags, and is no resource":                      func(s *Split) { s.Rows[2].Tags = map[string]string{"a": "b"} },
		"whose use is no decimal number":                    func(s *Split) { s.Rows[0].Elements[0].Used = "1e5" },
		"have different signs":                              func(s *Split) { s.Rows[1].Effective = -5 },
		"it has no method (AllocatedMethodId)":              func(s *Split) { s.Origin.Method = "" },
		"it has no id":                                      func(s *Split) { s.Origin.ID = "" },
		`currency "dollar"`:                                 func(s *Split) { s.Origin.Currency = "dollar" },
		"it has no billing account name":                    func(s *Split) { s.Origin.BillingAccountName = "" },
		`its resource "i-02445ff7024245edd" has not a type`: func(s *Split) { s.Origin.ResourceType = "" },
		"Usage needs quantity":                              func(s *Split) { s.Origin.SkuPriceID = "" },
		`its category "Refund" is none of FOCUS`:            func(s *Split) { s.Origin.Category = "Refund" },
		"outside its billing period":                        func(s *Split) { s.Origin.Billing = month(time.October) },
		"must lie before the open billing period":           func(s *Split) { s.Origin.Correction = true },
		"a tax has no quantity":                             func(s *Split) { s.Origin.Category = Tax },
		"has no length":                                     func(s *Split) { s.Origin.Charge.End = s.Origin.Charge.Start },
	} {
		s := split()
		s.Rows = slices.Clone(s.Rows)
		s.Rows[0].Elements = slices.Clone(s.Rows[0].Elements)
		change(&s)
		w, _ := NewCSV(io.Discard)
		if err := w.Write(s); err == nil || !strings.Contains(err.Error(), want) || s.Origin.ID != "" && !strings.Contains(err.Error(), s.Origin.ID) {
			t.Errorf("%v\nwant %q and the origin's id", err, want)
		}
		if w.Rows != 0 {
			t.Errorf("%d rows were written of a refused split", w.Rows)
		}
	}
	w, _ := NewCSV(io.Discard)
	if err := w.Write(split()); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(split()); err == nil || !strings.Contains(err.Error(), "it would count twice") {
		t.Errorf("the same origin again: %v", err)
	}
}

// Parquet holds what CSV holds, cell by cell, with decimals as decimals.
func TestParquetSaysWhatCSVSays(t *testing.T) {
	tax := nodeHour()
	tax.ID, tax.Category, tax.Quantity, tax.Unit, tax.Method = "tax", Tax, 0, "", ""
	tax.SkuID, tax.SkuMeter, tax.SkuPriceID, tax.PricingCategory, tax.InstanceType, tax.GPUCount = "", "", "", "", "", 0
	tax.Costs = Costs{-5, -5, -5, -5}
	splits := []Split{split(), {Origin: tax}}
	want := written(t, splits...)
	var b bytes.Buffer
	w := NewParquet(&b)
	for _, s := range splits {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range f.Schema().Columns() {
		names = append(names, p[0])
	}
	if !slices.Equal(names, Columns()) {
		t.Errorf("columns: %v", names)
	}
	rows := f.RowGroups()[0].Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, len(want)+1)
	if n, err := rows.ReadRows(buffer); n != len(want) || err != io.EOF {
		t.Fatalf("%d rows, %v", n, err)
	}
	for i, row := range buffer[:len(want)] {
		got := map[string]string{}
		for _, v := range row {
			if c := columns[v.Column()]; !v.IsNull() {
				got[c.name] = cell(c, v)
			}
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("row %d (-CSV +Parquet):\n%s", i, diff)
		}
	}
}

func cell(c column, v parquet.Value) string {
	switch c.kind {
	case decimal:
		n := new(big.Int).SetBytes(v.ByteArray())
		if n.Bit(127) == 1 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
		}
		return money.Nano(n.Int64()).String()
	case instant:
		return stamp(time.UnixMilli(v.Int64()))
	}
	return v.String()
}

func TestRatiosAreExactNumbers(t *testing.T) {
	for _, r := range written(t, split()) {
		var d struct {
			Elements []struct{ AllocatedRatio json.Number }
		}
		if err := json.Unmarshal([]byte(r["AllocatedMethodDetails"]), &d); err != nil || len(d.Elements) == 0 {
			t.Errorf("%v in %q", err, r["AllocatedMethodDetails"])
		}
	}
}
