// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheTableOfTheDocs: the table of rules in docs/pricing.md is what the code
// makes of a p4d.24xlarge, and has every rule.
func TestTheTableOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/pricing.md")
	if err != nil {
		t.Fatal(err)
	}
	shares := []Policy{ratio(700, 195, 105), ratio(950, 30, 20)}
	hourly, node, seen := amount(t, "21.957642"), shape(8, "A100", 96, 1152), map[Rule]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)`(?: \\(default\\))? \\| [^|]+ \\| ([0-9.]+|as given) \\|([^|]*)\\|([^|]*)\\|([^|]*)\\|([^|]*)\\|$").FindAllStringSubmatch(string(doc), -1) {
		id := Rule(m[1])
		seen[id] = true
		if id == RuleGPURate {
			continue
		}
		p := rule(id)
		if id == RuleFixed {
			p, shares = shares[0], shares[1:]
		}
		s := p.splitBy(node, &hourly, "USD")
		var got HourParts
		if err := got.of(hourly, &s.weights); err != nil {
			t.Fatal(err)
		}
		share := new(big.Rat).Quo(nanos(got.GPUs), nanos(hourly))
		want := []string{four(got.GPUs), four(got.GPUs / 8), four(got.CPU), four(got.Memory), share.Mul(share, big.NewRat(100, 1)).FloatString(1) + " %"}
		for i, cell := range m[2:] {
			if tidy := strings.TrimSpace(cell); strings.TrimSuffix(want[i], ".0 %") != strings.TrimSuffix(tidy, " %") && want[i] != tidy && (want[i] != "0.0000" || tidy != "0") {
				t.Errorf("%s: the table says %q where the code says %q", id, tidy, want[i])
			}
		}
	}
	for _, r := range Rules() {
		if !seen[r] {
			t.Errorf("the table has no row for %s", r)
		}
	}
	for _, d := range []Doubt{DoubtNoPrice, DoubtAbsurd, DoubtSpot, DoubtModelMemory, DoubtMemorySum, DoubtOld, DoubtOverlap, DoubtCurrency, DoubtSource, DoubtBilledTwice, DoubtBillCurrencies} {
		if !strings.Contains(string(doc), "| `"+string(d)+"` |") {
			t.Errorf("docs/pricing.md does not explain %s", d)
		}
	}
}
