// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestFigures holds what pages say to what the API says, where the page works it out.
func TestFigures(t *testing.T) {
	server, device := small(t)
	b := open(t, server)
	b.size(t, 1440, 900)
	for _, c := range []struct {
		name string
		test func(t *testing.T, b *tab, server, device string)
	}{{"truth", truth}, {"truth exact", truthIsExact}, {"guardrails", guardrails}, {"engine", engine}, {"gone", gone}} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, b, server, device)
			for _, x := range b.complaints() {
				t.Error(x)
			}
		})
	}
}

// nano is a decimal of the API in billionths.
func nano(t *testing.T, text string) *big.Int {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no amount", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(1_000_000_000))
	if !r.IsInt() {
		t.Fatalf("%q is finer than a billionth", text)
	}
	return r.Num()
}

// cents is an amount as the page writes it.
func cents(n *big.Int) string {
	r := new(big.Rat).SetFrac(n, big.NewInt(1_000_000_000))
	text := r.FloatString(2)
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if strings.HasPrefix(text, "-") && (whole != "0" || part != "00") {
		whole = "−" + whole
	}
	return whole + "." + part
}

// row is one of a report.
type row struct {
	Keys    map[string]string
	Class   string
	Account string
	Cost    *struct{ Total, GPU string }

	Quantities struct {
		GPUMS     int64 `json:"gpu_ms"`
		GrantedMS int64 `json:"granted_ms"`
	}
}

func report(t *testing.T, url string) []row {
	t.Helper()
	var r struct{ Sections []struct{ Rows []row } }
	ask(t, url, &r)
	if len(r.Sections) != 1 || len(r.Sections[0].Rows) == 0 {
		t.Fatalf("%s: %+v", url, r)
	}
	return r.Sections[0].Rows
}

// lastHours are the whole hours that a page shows of a range.
func lastHours(d time.Duration) string {
	to := time.Now().UTC()
	up := to.Truncate(time.Hour)
	if up.Before(to) {
		up = up.Add(time.Hour)
	}
	return "from=" + to.Add(-d).Truncate(time.Hour).Format(time.RFC3339) + "&to=" + up.Format(time.RFC3339)
}

// truth: each team's two amounts and their difference are those of the ledger, and the
// reason names who else was on a card that was given whole.
func truth(t *testing.T, b *tab, server, _ string) {
	b.visit(t, server+"/ui/?lang=en&theme=light#/truth?range=7d")
	type team struct{ naive, own *big.Int }
	cost, ms := map[string]*big.Int{}, map[string]*big.Int{}
	rows := report(t, server+"/api/v1/report?by=gpu,mode,namespace,pod&"+lastHours(7*24*time.Hour))
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
		{keys: {gpu: 'c', mode: 'exclusive', namespace: 'y', pod: 'y/1'}, cost: null, quantities: {gpu_ms: 5, granted_ms: 5, leaked_gpu_ms: 0}}]}`
	got := script[string](t, b, `import('/ui/js/naive.js').then(m => { const x = m.bills(`+section+`); return JSON.stringify({sum: x.sum, unpriced: x.unpriced, teams: x.teams.map(r => ({name: r.name, difference: r.difference, reasons: r.reasons.map(e => [e.why, e.amount])}))}, (k, v) => typeof v === 'bigint' ? v.toString() : v); })`, awaited)
	want := `{"sum":{"naive":"90071992547410930000002","own":"90071992547410430000001","assets":"90071992547411430000002"},"unpriced":1,"teams":[{"name":"x","difference":"500000001","reasons":[["part","500000000"]]}]}`
	var a, c any
	if json.Unmarshal([]byte(got), &a) != nil || json.Unmarshal([]byte(want), &c) != nil || fmt.Sprint(a) != fmt.Sprint(c) {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

// guardrails: what a process of the host cost so far is what the ledger has for it, where
// no amount is told it is said why, and in Chinese no English sentence is left of all
// that findings can say.
func guardrails(t *testing.T, b *tab, server, _ string) {
	deliver(t, server, []usage.Batch{everySentence()})
	var all struct {
		Findings []struct {
			Kind, Account, Device, Detail string

			First, Last time.Time
		}
	}
	ask(t, server+"/api/v1/findings?from="+time.Now().UTC().AddDate(0, 0, -7).Format(time.RFC3339), &all)
	b.visit(t, server+"/ui/?lang=en&theme=light#/guardrails?range=7d")
	rows := script[[]string](t, b, `[...document.querySelectorAll('tbody tr')].map(x => x.innerText)`)
	told := 0
	for _, f := range all.Findings {
		want := "moves no money by itself"
		if f.Kind == "external_process" {
			told++
			sum := new(big.Int)
			for _, r := range report(t, server+"/api/v1/report?by=account&where=account=host&where=gpu="+f.Device+"&from="+f.First.Truncate(time.Hour).Format(time.RFC3339)+"&to="+f.Last.Add(time.Hour-1).Truncate(time.Hour).Format(time.RFC3339)) {
				sum.Add(sum, nano(t, r.Cost.GPU))
			}
			if want = cents(sum) + " USD"; sum.Sign() <= 0 {
				t.Errorf("the host's process cost %s", sum)
			}
		}
		found := slices.ContainsFunc(rows, func(text string) bool { return strings.Contains(text, f.Detail) && strings.Contains(text, want) })
		if !found {
			t.Errorf("%s, %q: no row says %q", f.Kind, f.Detail, want)
		}
	}
	if told == 0 || len(all.Findings) < len(attribution.Sentences) {
		t.Errorf("%d findings, %d with an amount", len(all.Findings), told)
	}
	b.visit(t, server+"/ui/?lang=zh&theme=light#/guardrails?range=7d")
	script[chromedp.Void](t, b, `document.querySelectorAll('details').forEach(d => { d.open = true }), 0`)
	for _, text := range script[[]string](t, b, `[...document.querySelectorAll('tbody tr')].flatMap(x => [...x.querySelectorAll('td > strong, li, p, td.cost')].map(y => y.innerText).concat(x.querySelector('details').parentElement.firstChild.textContent))`) {
		if english.MatchString(text) {
			t.Errorf("in Chinese the page says %q", text)
		}
	}
}

// gone: a node that was not heard of for hours is told apart and in no figure, and one
// that the server says is gone leaves the page.
func gone(t *testing.T, b *tab, server, _ string) {
	var before struct {
		Nodes []struct{ Node string }
	}
	ask(t, server+"/api/v1/fleet", &before)
	old := large(1)[0]
	old.Node, old.Cluster, old.Agent, old.StartMS = "old-1", "lab", "agent-old", old.StartMS-3*3_600_000
	for i := range old.Partitions {
		old.Partitions[i].StartMS = old.StartMS
	}
	for i := range old.Holders {
		old.Holders[i].StartMS = old.StartMS
	}
	deliver(t, server, []usage.Batch{old})
	b.visit(t, server+"/ui/?lang=en&theme=light#/fleet")
	b.do(t, chromedp.WaitVisible("ul.away"))
	const fact = `document.querySelector('.fact').innerText`
	if away, text := script[string](t, b, `document.querySelector('ul.away').innerText`), script[string](t, b, fact); !strings.Contains(away, "old-1") || strings.Contains(away, "rack7") || !strings.Contains(text, fmt.Sprintf("nodes: %d", len(before.Nodes))) {
		t.Errorf("away are %q, the figures say %q", away, text)
	}
	script[chromedp.Void](t, b, `{ const real = window.fetch; window.fetch = async (u, o) => { const r = await real(u, o); if (!String(u).includes('/fleet?since=')) return r; const f = await r.json(); f.gone = [{cluster: 'onprem', node: 'rack7-n03'}]; return new Response(JSON.stringify(f), {status: 200}); }; } 0`)
	until(t, 30*time.Second, "the node has left", func() bool {
		return strings.Contains(script[string](t, b, fact), fmt.Sprintf("nodes: %d", len(before.Nodes)-1))
	})
	if strings.Contains(b.text(t), "rack7-n03") {
		t.Error("rack7-n03 is still on the page")
	}
}

// everySentence is a minute in which a node found everything that can be said.
func everySentence() usage.Batch {
	start := time.Now().Truncate(time.Minute).Add(-time.Minute).UnixMilli()
	out := usage.Batch{Version: 1, Node: "lab-1", Cluster: "lab", Agent: "agent-lab", Boot: "boot-1", Seq: 1, StartMS: start, DurationMS: 60_000, IntervalMS: 5000}
	for code, text := range attribution.Sentences {
		for rest, found := text, true; found; {
			var gap string
			if _, rest, found = strings.Cut(rest, "{"); found {
				gap, rest, _ = strings.Cut(rest, "}")
				text = strings.ReplaceAll(text, "{"+gap+"}", "7")
			}
		}
		out.Findings = append(out.Findings, usage.FindingRecord{ForMS: 60_000, Finding: attribution.Finding{Kind: attribution.InventoryConflict, Severity: attribution.Warning,
			Holder: workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + code, Namespace: "lab", Pod: strings.ReplaceAll(code, "_", "-")}, Detail: text, Evidence: []string{text}}})
	}
	return out
}

// english is three words in a row.
var english = regexp.MustCompile(`[A-Za-z]{2,} [A-Za-z]{2,} [a-z]{2,}`)
