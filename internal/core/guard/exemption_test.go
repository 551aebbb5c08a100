// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExemptions: exempted findings are told apart, with who says so and why;
// an exemption that fits nothing is told, too.
func TestExemptions(t *testing.T) {
	exporter := pod(kind("DaemonSet"), runtime("nvidia"))
	exporter.Object = Object{Kind: "DaemonSet", Namespace: "gpu-operator", Name: "dcgm-exporter"}
	monitor := pod(env(visibleDevices, "all"), note(ExemptNote, "ml-platform: checks the GPUs: hourly"))
	leak := pod(env(visibleDevices, "all"))
	leak.Name = "leak"
	var policy Policy
	for _, text := range []string{"gpu-operator/daemonset/dcgm-exporter=metrics of every GPU", "lab/Pod/gone=was here"} {
		e, err := ParseExemption(text)
		if err != nil {
			t.Fatal(err)
		}
		policy.Exempt = append(policy.Exempt, e)
	}
	r := Scan(Input{Workloads: []Workload{exporter, monitor, leak}}, policy)
	if len(r.Findings) != 1 || r.Findings[0].Object.Name != "leak" {
		t.Errorf("findings %+v, want one of leak", r.Findings)
	}
	got := map[string][3]string{}
	for _, e := range r.Exempted {
		got[e.Finding.Object.Name] = [3]string{e.Exemption.By, e.Exemption.Owner, e.Exemption.Reason}
	}
	want := map[string][3]string{
		"dcgm-exporter": {ByCommand, "", "metrics of every GPU"},
		"p":             {ByAnnotation, "ml-platform", "checks the GPUs: hourly"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Unused) != 1 || r.Unused[0].Object.Name != "gone" {
		t.Errorf("unused %+v, want that of gone", r.Unused)
	}
}

func TestParseExemption(t *testing.T) {
	for text, want := range map[string]string{
		"a/Pod/b":          "gives no reason",
		"a/Pod/b= ":        "gives no reason",
		"Pod/b=why":        "names no single object",
		"a//b=why":         "names no single object",
		"a/Pod/b/c=why":    "names no single object",
		"a/Pod/*=anything": "is a pattern",
	} {
		if _, err := ParseExemption(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", text, err, want)
		}
	}
}

// TestRulesAreWhole: every rule has its texts and severities, ids are in order
// and belong to one rule.
func TestRulesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for i, r := range Rules() {
		if r.Name == "" || r.Title == "" || r.When == "" || r.Why == "" || r.Fix == "" || len(r.Severities) == 0 {
			t.Errorf("rule %s lacks a text", r.ID)
		}
		if seen[string(r.ID)] || seen[r.Name] || i > 0 && Rules()[i-1].ID >= r.ID {
			t.Errorf("rule %s is not the only one of its id and name, or out of order", r.ID)
		}
		seen[string(r.ID)], seen[r.Name] = true, true
		for j := 1; j < len(r.Severities); j++ {
			if r.Severities[j-1] <= r.Severities[j] {
				t.Errorf("rule %s: severities are not from most to least", r.ID)
			}
		}
	}
}
