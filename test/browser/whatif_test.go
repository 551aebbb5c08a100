// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// whatIf puts rules together on the page: everybody whom they charge has a row, the rows
// are those of the API under the same rules, and they come to what the nodes cost.
func whatIf(t *testing.T, b *tab, server, _ string) {
	b.visit(t, server+"/ui/?lang=en&theme=light#/cost?range=7d")
	b.do(t, chromedp.Click("#rules"), chromedp.WaitVisible("#wi-idle"))
	b.settle(t)
	pick := func(id, to string) {
		script[chromedp.Void](t, b, fmt.Sprintf(`{ const s = document.getElementById('wi-%s'); s.value = '%s'; s.dispatchEvent(new Event('change', {bubbles: true})); } 0`, id, to))
		b.settle(t)
	}
	for _, x := range [][2]string{{"split", "all-gpu"}, {"basis", "reserved"}, {"overhead", "even"}, {"scope", "given"}, {"idle", "owner"}} {
		pick(x[0], x[1])
	}
	b.do(t, chromedp.SendKeys(".choice input", "infrastructure\r"))
	b.settle(t)
	from, to := lastWhole(7 * 24 * time.Hour)
	body := fmt.Sprintf(`{"report":{"from":%q,"to":%q,"by":["namespace"],"view":"distributed"},"variants":[{"name":"x","split":"all-gpu","policy":{"basis":"reserved","scope":"given","distribute":[{"account":"idle","how":"owner","shares":[{"to":"infrastructure","weight":1}]},{"account":"overhead","how":"even"}]}}]}`, from, to)
	resp, err := http.Post(server+"/api/v1/whatif", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var out struct {
		Result struct {
			Variants []struct {
				Report struct {
					Sections []struct{ Rows []row }
				}
			}
		}
	}
	for d := json.NewDecoder(resp.Body); d.More(); {
		if err := d.Decode(&out); err != nil {
			t.Fatal(err)
		}
	}
	if len(out.Result.Variants) != 1 {
		t.Fatalf("the API answered %+v", out)
	}
	rows := script[[]string](t, b, `[...document.querySelectorAll('tbody tr')].map(x => x.innerText.replace(/\n/g, ' '))`)
	named, sum := false, new(big.Int)
	for _, r := range out.Result.Variants[0].Report.Sections[0].Rows {
		name := r.Keys["namespace"]
		if r.Class != "" && r.Class != "workload" {
			name = strings.ToUpper(r.Account[:1]) + r.Account[1:]
		}
		if r.Class == "owner" {
			name, named = r.Account, true
		}
		sum.Add(sum, nano(t, r.Cost.Total))
		if !slices.ContainsFunc(rows, func(text string) bool {
			return strings.HasPrefix(text, name) && strings.Contains(text, "\t"+cents(nano(t, r.Cost.Total))+"\t")
		}) {
			t.Errorf("%s should be charged %s; the rows are %q", name, cents(nano(t, r.Cost.Total)), rows)
		}
	}
	text := script[string](t, b, `document.querySelector('.whatif-total').innerText`)
	if want := "All rows come to " + cents(sum) + " USD · the nodes cost " + cents(sum) + " USD"; !named || !strings.Contains(text, want) || !strings.Contains(text, "the same, to the billionth") {
		t.Errorf("%q; want %q, an owner of its own: %v", text, want, named)
	}
	if !strings.Contains(b.text(t), "Not the bill.") {
		t.Error("nothing says that it is not the bill")
	}
	b.accessible(t, "a what-if")
}
