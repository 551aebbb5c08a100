// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// CheckSplit checks what FOCUS 1.3 adds, for which no rule model is at hand: the
// columns of participating entities and of split cost allocation (attribute
// DataGeneratorCalculatedSplitCostAllocationHandling). Rows of one origin are
// told by the column origin. It returns what is broken.
func CheckSplit(t *Table, origin string) (broken []string) {
	bad := func(row int, format string, a ...any) {
		broken = append(broken, fmt.Sprintf("row %d: ", row+1)+fmt.Sprintf(format, a...))
	}
	for _, column := range []string{"ServiceProviderName", "HostProviderName", "AllocatedMethodId", "AllocatedMethodDetails", "AllocatedResourceId", "AllocatedResourceName", "AllocatedTags"} {
		if !t.Has(column) {
			broken = append(broken, "the column "+column+" is absent")
		}
	}
	if len(broken) > 0 {
		return broken
	}
	ratios, moves, corrects := map[string]*big.Rat{}, map[string]bool{}, map[string]bool{}
	for row := range t.Rows {
		get := func(column string) Cell { return t.at(row, column) }
		for _, column := range []string{"ServiceProviderName", "HostProviderName"} {
			if get(column).Null {
				bad(row, "%s is null", column)
			}
		}
		split := !get("AllocatedMethodId").Null
		id, name, tags, details := get("AllocatedResourceId"), get("AllocatedResourceName"), get("AllocatedTags"), get("AllocatedMethodDetails")
		if !split && !(id.Null && name.Null && tags.Null && details.Null) {
			bad(row, "a charge that is not split has AllocatedResourceId %q, name %q, tags %q, details %q", id.Text, name.Text, tags.Text, details.Text)
		}
		if id.Null != name.Null {
			bad(row, "AllocatedResourceId is %q, AllocatedResourceName %q: both or neither", id.Text, name.Text)
		}
		if split && id.Null && t.at(row, "x_PlatformAccount").Null {
			bad(row, "the unallocated part has no platform account")
		}
		if !id.Null && !t.at(row, "x_PlatformAccount").Null {
			bad(row, "a platform account has AllocatedResourceId %q: the unallocated part must have none", id.Text)
		}
		for _, why := range tagsTwice(tags, get("Tags")) {
			bad(row, "%s", why)
		}
		if !split {
			continue
		}
		// A charge may be corrected in each of several later periods.
		key := get(origin).Text + " " + get("ChargeClass").Text + " " + get("BillingPeriodStart").Text
		sum, err := ratioOf(details.Text)
		if err != nil {
			bad(row, "AllocatedMethodDetails %q: %s", details.Text, err)
			continue
		}
		if ratios[key] == nil {
			ratios[key] = new(big.Rat)
		}
		ratios[key].Add(ratios[key], sum)
		moves[key] = moves[key] || sum.Sign() < 0 // an earlier split's money moves
		corrects[key] = !get("ChargeClass").Null
	}
	for _, key := range slices.Sorted(maps.Keys(ratios)) {
		want := big.NewRat(1, 1)
		if moves[key] || corrects[key] && ratios[key].Sign() == 0 { // or the whole of it costs something else
			want = new(big.Rat)
		}
		if ratios[key].Cmp(want) != 0 {
			broken = append(broken, fmt.Sprintf("origin %s: AllocatedRatio sums to %s", key, ratios[key].FloatString(12)))
		}
	}
	return broken
}

func tagsTwice(allocated, origin Cell) (why []string) {
	var a, o map[string]any
	if allocated.Null || origin.Null {
		return nil
	}
	if json.Unmarshal([]byte(allocated.Text), &a) != nil || json.Unmarshal([]byte(origin.Text), &o) != nil {
		return []string{"AllocatedTags or Tags are no object"}
	}
	for _, k := range slices.Sorted(maps.Keys(a)) {
		if v, same := o[k]; same && v == a[k] {
			why = append(why, fmt.Sprintf("AllocatedTags repeat %s of Tags", k))
		}
	}
	return why
}

// ratioOf sums the elements' ratios and checks their keys.
func ratioOf(details string) (*big.Rat, error) {
	var d struct{ Elements []map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(details), &d); err != nil {
		return nil, err
	}
	if len(d.Elements) == 0 {
		return nil, fmt.Errorf("no Elements")
	}
	sum := new(big.Rat)
	for _, e := range d.Elements {
		ratio, ok := number(string(e["AllocatedRatio"]))
		if !ok {
			return nil, fmt.Errorf("AllocatedRatio %s is no number", e["AllocatedRatio"])
		}
		sum.Add(sum, ratio)
		if e["UsageQuantity"] != nil && e["UsageUnit"] == nil {
			return nil, fmt.Errorf("UsageQuantity without UsageUnit")
		}
		for k := range e {
			if k != "AllocatedRatio" && k != "UsageUnit" && k != "UsageQuantity" && !strings.HasPrefix(k, "x_") {
				return nil, fmt.Errorf("the key %s is none of FOCUS and has no x_", k)
			}
		}
	}
	return sum, nil
}
