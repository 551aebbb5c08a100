// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"testing"
)

// TestDoubts: the errors that were seen in public lists of prices, one by one.
func TestDoubts(t *testing.T) {
	now := at(t, "2026-12-01")
	sound := func(t *testing.T) Row {
		return Row{ID: "r", Selector: Selector{Provider: "aws", InstanceType: "x", Capacity: OnDemand}, Currency: "USD", Price: Price{Node: per(t, "21.957642")},
			Shape: Shape{GPUs: 8, Model: "NVIDIA A100", GPUMemoryGiB: 40, GPUMemoryTotalGiB: 320}, Source: "s", Retrieved: at(t, "2026-11-01")}
	}
	rules := SanityRules{Now: now, MaxAge: 400 * 24 * hourMS, NeedSource: true}
	for name, c := range map[string]struct {
		rows func(r Row) []Row
		want Doubt // "" for none
		row  int
	}{
		"sound":                       {func(r Row) []Row { return []Row{r} }, "", 0},
		"no price":                    {func(r Row) []Row { r.Price = Price{}; return []Row{r} }, DoubtNoPrice, 0},
		"no currency":                 {func(r Row) []Row { r.Currency = ""; return []Row{r} }, DoubtCurrency, 0},
		"per month, taken per hour":   {func(r Row) []Row { r.Price.Node = per(t, "16029"); return []Row{r} }, DoubtAbsurd, 0},
		"730 times too low":           {func(r Row) []Row { r.Price = Price{GPU: per(t, "0.0013"), HostIncluded: true}; return []Row{r} }, DoubtAbsurd, 0},
		"dear in CNY is not absurd":   {func(r Row) []Row { r.Currency, r.Price.Node = "CNY", per(t, "400"); return []Row{r} }, "", 0},
		"unknown currency":            {func(r Row) []Row { r.Currency, r.Price.Node = "JPY", per(t, "4000"); return []Row{r} }, "", 0},
		"80 in place of 40 is sold":   {func(r Row) []Row { r.Shape.GPUMemoryGiB, r.Shape.GPUMemoryTotalGiB = 80, 640; return []Row{r} }, "", 0},
		"total taken as per GPU":      {func(r Row) []Row { r.Shape.GPUMemoryGiB, r.Shape.GPUMemoryTotalGiB = 320, 0; return []Row{r} }, DoubtModelMemory, 0},
		"L4 with 1430 GB":             {func(r Row) []Row { r.Shape = Shape{GPUs: 8, Model: "L4", GPUMemoryGiB: 178}; return []Row{r} }, DoubtModelMemory, 0},
		"22 of 24 is what is usable":  {func(r Row) []Row { r.Shape = Shape{GPUs: 8, Model: "NVIDIA L4", GPUMemoryGiB: 22}; return []Row{r} }, "", 0},
		"unit wrong by 1024":          {func(r Row) []Row { r.Shape = Shape{GPUs: 1, Model: "H100 SXM", GPUMemoryGiB: 81920}; return []Row{r} }, DoubtModelMemory, 0},
		"count not multiplied":        {func(r Row) []Row { r.Shape.GPUMemoryTotalGiB = 40; return []Row{r} }, DoubtMemorySum, 0},
		"a model nobody knows":        {func(r Row) []Row { r.Shape = Shape{GPUs: 8, Model: "X900", GPUMemoryGiB: 7}; return []Row{r} }, "", 0},
		"not seen for two years":      {func(r Row) []Row { r.Retrieved = at(t, "2024-11-06"); return []Row{r} }, DoubtOld, 0},
		"old, and over":               {func(r Row) []Row { r.Retrieved, r.To = at(t, "2024-11-06"), at(t, "2025-06-01"); return []Row{r} }, "", 0},
		"no source":                   {func(r Row) []Row { r.Source = ""; return []Row{r} }, DoubtSource, 0},
		"two at once":                 {func(r Row) []Row { return []Row{r, r} }, DoubtOverlap, 1},
		"one after the other":         {func(r Row) []Row { a := r; a.To = now; r.From = now; return []Row{a, r} }, "", 0},
		"other region":                {func(r Row) []Row { a := r; a.Region = "us-east-1"; return []Row{a, r} }, "", 0},
		"spot above on demand":        {func(r Row) []Row { s := r; s.Capacity, s.Price.Node = Spot, per(t, "22"); return []Row{s, r} }, DoubtSpot, 0},
		"spot above on demand, after": {func(r Row) []Row { s := r; s.Capacity, s.Price.Node = Spot, per(t, "22"); return []Row{r, s} }, DoubtSpot, 1},
		"spot equal to on demand":     {func(r Row) []Row { s := r; s.Capacity = Spot; return []Row{r, s} }, "", 0},
		"spot above, at another time": {func(r Row) []Row {
			s := r
			s.Capacity, s.Price.Node, s.To, r.From = Spot, per(t, "22"), now, now
			return []Row{r, s}
		}, "", 0},
		"spot above, in another coin": {func(r Row) []Row {
			s := r
			s.Capacity, s.Price.Node, s.Currency = Spot, per(t, "100"), "CNY"
			return []Row{r, s}
		}, "", 0},
		"reserved above on demand, odd": {func(r Row) []Row { s := r; s.Capacity, s.Price.Node = Reserved, per(t, "22"); return []Row{r, s} }, "", 0},
	} {
		rows := c.rows(sound(t))
		got := Doubts(&Book{Name: "b", Rows: rows}, rules)
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: doubts %+v, want none", name, got)
		case c.want != "" && (len(got) != 1 || got[0].Doubt != c.want || got[0].Place != c.row || got[0].Row != "r" || got[0].Says == ""):
			t.Errorf("%s: doubts %+v, want %s of row %d", name, got, c.want, c.row)
		}
	}
}
