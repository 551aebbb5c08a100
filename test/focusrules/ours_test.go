// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/focus"
	"github.com/gputally/gputally/internal/core/money"
)

// options are what holds of our export. It has no commitments and reservations
// of its own and one currency.
func options(t testing.TB) Options {
	o := Options{Supported: map[string]bool{}, Currencies: currencies(t), Waived: map[string]string{
		"CostAndUsage-D-004-C": "gputally publishes no unit prices; its SKU columns are checked all the same",
	}}
	for _, c := range []string{
		"ACCOUNT_NAMING", "AVAILABILITY_ZONE", "BILLING_BASED_ON_PROVISIONED_RESOURCES", "MULTIPLE_PRICING_CATEGORIES", "PUBLIC_PRICE_LIST",
		"REGION", "RESOURCE_TYPE_ASSIGNMENT", "SUB_ACCOUNT", "TAGGING", "USAGE_MEASUREMENT", "UNIT_PRICING",
	} {
		o.Supported[c+"_SUPPORTED"] = true
	}
	return o
}

func month(m time.Month) focus.Span {
	start := time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC)
	return focus.Span{Start: start, End: start.AddDate(0, 1, 0)}
}

func nano(text string) money.Nano {
	n, err := money.Parse(text)
	if err != nil {
		panic(err)
	}
	return n
}

// node is an hour of a GPU node, on demand or spot, in a cloud or on premises.
func node(id, pricing string, hour int, price string) focus.Origin {
	start := time.Date(2026, 9, 1, hour, 0, 0, 0, time.UTC)
	cost := nano(price)
	return focus.Origin{
		ID: id, BillingAccountID: "123456789012", BillingAccountName: "ML platform", SubAccountID: "210987654321", SubAccountName: "training",
		Billing: month(time.September), Charge: focus.Span{Start: start, End: start.Add(time.Hour)}, Currency: "USD",
		Costs: focus.Costs{Billed: cost, Effective: cost, List: nano("32.7726"), Contracted: cost}, Category: focus.Usage, Description: "One hour of p4d.24xlarge",
		PricingCategory: pricing, Quantity: focus.One, Unit: "Hours", ServiceProvider: "AWS", ServiceName: "Amazon Elastic Compute Cloud",
		ResourceID: "i-02445ff7024245edd", ResourceName: "gpu-node-1", ResourceType: "Instance", RegionID: "us-east-1", RegionName: "US East (N. Virginia)", Zone: "us-east-1a",
		SkuID: "p4d.24xlarge", SkuMeter: "Instance Hours", SkuPriceID: "list/p4d.24xlarge", InstanceType: "p4d.24xlarge", GPUCount: 8,
		Tags: map[string]string{"cluster": "prod"}, Method: "gputally-held-v1", Price: focus.Price{Source: "list", Grade: "listed", Policy: "held"},
	}
}

func pod(uid, effective string) focus.Row {
	return focus.Row{ResourceID: uid, ResourceName: "ml/" + uid, Costs: focus.Costs{Effective: nano(effective)},
		Tags: map[string]string{"team": "vision", "cluster": "prod"}, Detail: focus.Detail{Kind: "direct", Grade: "measured", Namespace: "ml"}}
}

func account(name, effective string) focus.Row {
	return focus.Row{Costs: focus.Costs{Effective: nano(effective)}, Detail: focus.Detail{PlatformAccount: name, Grade: "measured"}}
}

// ours is an export with every kind of charge that we write: splits with
// pods, platform accounts and a price of 0, whole charges, corrections.
func ours(t testing.TB) string {
	t.Helper()
	october := month(time.October)
	elements := pod("a", "14.638428")
	elements.Elements = []focus.Element{{Unit: "GiB-Hours", Used: "213.3", Amount: nano("12")}, {Unit: "Core-Hours", Used: "64", Amount: nano("2.638428")}}
	first := focus.Split{Origin: node("n1/10", "Standard", 10, "21.957642"), Rows: []focus.Row{elements, pod("b", "5"), account("idle", "2"), account("overhead", "0.3"), account("stranded", "0.019214")}}
	thirds := focus.Split{Origin: node("n1/11", "Dynamic", 11, "1"), Rows: []focus.Row{pod("a", "0.333333334"), pod("b", "0.333333333"), account("idle", "0.333333333")}}
	free := focus.Split{Origin: node("n1/12", "Other", 12, "0"), Rows: []focus.Row{pod("a", "0"), account("idle", "0")}}
	tax := whole("tax", focus.Tax, "2.1")
	credit := whole("credit", focus.Credit, "-5")
	purchase := node("disk", "Committed", 13, "100")
	purchase.Category, purchase.Frequency, purchase.Method = focus.Purchase, "Recurring", ""
	moved := focus.Split{Origin: first.Origin, Rows: []focus.Row{pod("a", "10.638428"), pod("c", "9"), account("idle", "2"), account("overhead", "0.3"), account("stranded", "0.019214")}}
	delta, err := focus.Correct(first, moved, october, focus.Delta, "the claim was c's")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := focus.Correct(thirds, focus.Split{Origin: thirds.Origin, Rows: []focus.Row{pod("c", "1")}}, october, focus.Ledger, "all of it was c's")
	if err != nil {
		t.Fatal(err)
	}
	cents := focus.Costs{Billed: 1_000_000, Effective: 1_000_000, List: 1_000_000, Contracted: 1_000_000}
	bulk := first.Origin
	bulk.SkuPriceID = ""
	var b bytes.Buffer
	w, err := focus.NewCSV(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []focus.Split{first, thirds, free, {Origin: tax}, {Origin: credit}, {Origin: purchase}, delta, ledger,
		focus.Late(focus.Split{Origin: node("n1/09", "Standard", 9, "3"), Rows: []focus.Row{pod("late", "3")}}, october, "records came late"),
		focus.Drift(first.Origin, "drift/1", cents, october, "rounding"), focus.Drift(bulk, "drift/2", cents, october, "rounding")} {
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// whole is a charge that is not split and pays for no resource.
func whole(id string, category focus.Category, amount string) focus.Origin {
	o := node(id, "", 0, amount)
	o.Category, o.Description, o.Method = category, string(category), ""
	o.List = o.Effective
	o.Quantity, o.Unit, o.SkuID, o.SkuMeter, o.SkuPriceID, o.InstanceType, o.GPUCount = 0, "", "", "", "", "", 0
	o.ResourceID, o.ResourceName, o.ResourceType = "", "", ""
	return o
}

// The rules of 1.3, broken one by one.
func TestBrokenSplitsAreFound(t *testing.T) {
	good := ours(t)
	for want, change := range map[string]func(*Table){
		"AllocatedRatio sums to":               func(t *Table) { t.set(0, "AllocatedMethodDetails", `{"Elements":[{"AllocatedRatio":0.5}]}`) },
		"AllocatedRatio \"half\" is no number": func(t *Table) { t.set(0, "AllocatedMethodDetails", `{"Elements":[{"AllocatedRatio":"half"}]}`) },
		"UsageQuantity without UsageUnit": func(t *Table) {
			t.set(0, "AllocatedMethodDetails", `{"Elements":[{"AllocatedRatio":1,"UsageQuantity":1}]}`)
		},
		"the key Share is none of FOCUS":        func(t *Table) { t.set(0, "AllocatedMethodDetails", `{"Elements":[{"AllocatedRatio":1,"Share":1}]}`) },
		"no Elements":                           func(t *Table) { t.set(0, "AllocatedMethodDetails", `{}`) },
		"both or neither":                       func(t *Table) { t.set(0, "AllocatedResourceName", "") },
		"row 3: a platform account has":         func(t *Table) { t.set(2, "AllocatedResourceId", "x"); t.set(2, "AllocatedResourceName", "x") },
		"the unallocated part has no platform":  func(t *Table) { t.set(2, "x_PlatformAccount", "") },
		"AllocatedTags repeat cluster of Tags":  func(t *Table) { t.set(0, "AllocatedTags", `{"cluster":"prod"}`) },
		"ServiceProviderName is null":           func(t *Table) { t.set(0, "ServiceProviderName", "") },
		"a charge that is not split has":        func(t *Table) { t.set(0, "AllocatedMethodId", "") },
		"the column HostProviderName is absent": func(t *Table) { delete(t.index, "HostProviderName") },
	} {
		tab := table(t, good)
		change(tab)
		if broken := strings.Join(CheckSplit(tab, "x_OriginChargeId"), "\n"); !strings.Contains(broken, want) {
			t.Errorf("found %q, want %q", broken, want)
		}
	}
}

func (t *Table) set(row int, column, text string) {
	t.Rows[row][t.index[column]] = Cell{text, text == ""}
}
