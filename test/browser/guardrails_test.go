// SPDX-License-Identifier: Apache-2.0

package browser

import (
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
