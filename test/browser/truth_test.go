// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

// truth: each team's two amounts and their difference are those of the ledger, and the
// reason names who else was on a card that was given whole.
func truth(t *testing.T, b *tab, server, _ string) {
	b.visit(t, server+"/ui/?lang=en&theme=light#/truth?range=7d")
	type team struct{ naive, own *big.Int }
	cost, ms := map[string]*big.Int{}, map[string]*big.Int{}
	rows := report(t, server+"/api/v1/report?by=gpu,mode,namespace,entry_kind&"+lastHours(7*24*time.Hour))
	for _, r := range rows {
		if g := r.Keys["gpu"]; g != "" {
			if cost[g] == nil {
				cost[g], ms[g] = new(big.Int), new(big.Int)
			}
			cost[g].Add(cost[g], nano(t, r.Cost.GPU))
			ms[g].Add(ms[g], big.NewInt(r.Quantities.GPUMS))
		}
	}
	teams := map[string]*team{}
	for _, r := range rows {
		g := r.Keys["gpu"]
		if g == "" || r.Class == "platform" {
			continue
		}
		x := teams[r.Keys["namespace"]]
		if x == nil {
			x = &team{new(big.Int), new(big.Int)}
			teams[r.Keys["namespace"]] = x
		}
		// a×b/c, half up, in whole billionths
		n := new(big.Int).Mul(cost[g], big.NewInt(2*r.Quantities.GrantedMS))
		x.naive.Add(x.naive, n.Add(n, ms[g]).Div(n, new(big.Int).Lsh(ms[g], 1)))
		x.own.Add(x.own, nano(t, r.Cost.GPU))
	}
	for name, x := range teams {
		cells := script[[]string](t, b, `[...document.querySelectorAll('tr[data-team=`+name+`] td')].map(x => x.innerText)`)
		d := new(big.Int).Sub(x.naive, x.own)
		difference := cents(d)
		if d.Cmp(big.NewInt(5_000_000)) >= 0 {
			difference = "+" + difference
		}
		if want := []string{cents(x.naive), cents(x.own), difference}; len(cells) != 5 || fmt.Sprint(cells[1:4]) != fmt.Sprint(want) {
			t.Errorf("%s: the page says %q, the ledger %q", name, cells, want)
			continue
		}
		if same := strings.Contains(cells[4], "Both ways say the same"); same != strings.HasSuffix(difference, "0.00") {
			t.Errorf("%s: a difference of %s is told as %q", name, difference, cells[4])
		}
	}
	if text := script[string](t, b, `document.querySelector('tr[data-team=physics] td:last-child').innerText`); !strings.Contains(text, "not its own on them, too: Host") {
		t.Errorf("why physics is billed more: %q", text)
	}
}

// truthIsExact: amounts that no float can hold come out to the billionth, a GPU without
// a price is in neither sum, and every difference is made of its reasons.
func truthIsExact(t *testing.T, b *tab, server, _ string) {
	const section = `{rows: [
		{keys: {gpu: 'a', mode: 'exclusive', namespace: 'x', pod: 'x/1'}, cost: {gpu: '90071992547409.930000001', grades: []}, quantities: {gpu_ms: 3, granted_ms: 3, leaked_gpu_ms: 0}},
		{keys: {gpu: 'a', mode: 'exclusive'}, class: 'platform', account: 'host', cost: {gpu: '0.000000001', grades: []}, quantities: {gpu_ms: 0, granted_ms: 0, leaked_gpu_ms: 0}},
		{keys: {gpu: 'b', mode: 'mig', namespace: 'x', pod: 'x/2'}, cost: {gpu: '0.5', grades: []}, quantities: {gpu_ms: 1, granted_ms: 2, leaked_gpu_ms: 0}},
		{keys: {gpu: 'b', mode: 'none'}, class: 'platform', account: 'idle', cost: {gpu: '1', grades: []}, quantities: {gpu_ms: 2, granted_ms: 0, leaked_gpu_ms: 0}},
		{keys: {gpu: 'c', mode: 'exclusive', namespace: 'y', pod: 'y/1'}, cost: null, quantities: {gpu_ms: 5, granted_ms: 5, leaked_gpu_ms: 0}},
		{keys: {gpu: 'd', mode: 'exclusive', namespace: 'given', pod: 'given/1'}, cost: {gpu: '3', grades: []}, quantities: {gpu_ms: 3, granted_ms: 4, leaked_gpu_ms: 0}},
		{keys: {gpu: 'd', mode: 'exclusive', namespace: 'taker', pod: 'taker/1'}, cost: {gpu: '1', grades: []}, quantities: {gpu_ms: 1, granted_ms: 0, leaked_gpu_ms: 1}},
		{keys: {gpu: 'd', mode: 'exclusive'}, class: 'platform', account: 'unmeasured', cost: {gpu: '1', grades: []}, quantities: {gpu_ms: 1, granted_ms: 0, leaked_gpu_ms: 0}}]}`
	got := script[string](t, b, `import('/ui/js/naive.js').then(m => { const x = m.bills(`+section+`); return JSON.stringify({sum: x.sum, unpriced: x.unpriced, teams: x.teams.map(r => ({name: r.name, difference: r.difference, reasons: r.reasons.map(e => [e.why, e.amount, e.others.map(o => o.account || o.leak).join()])}))}, (k, v) => typeof v === 'bigint' ? v.toString() : v); })`, awaited)
	want := `{"sum":{"naive":"90071992547414930000002","own":"90071992547414430000001","assets":"90071992547416430000002"},"unpriced":1,"teams":[{"name":"given","difference":"1000000000","reasons":[["others","1000000000","taker"]]},{"name":"taker","difference":"-1000000000","reasons":[["leak","-1000000000",""]]},{"name":"x","difference":"500000001","reasons":[["part","500000000",""]]}]}`
	var a, c any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &c) != nil || fmt.Sprint(a) != fmt.Sprint(c) {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}
