// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"regexp"
	"strings"
	"testing"
)

// TestSettingsThatTheChartWrites: each key in the rendered configuration, for all
// sets of values, is a setting of the server.
func TestSettingsThatTheChartWrites(t *testing.T) {
	doc := read(t, repo+"/docs/server-config.md")
	for _, v := range variants(t) {
		found := 0
		for _, o := range objects(t, render(t, v.values, newest)) {
			_, text, ok := strings.Cut(o.Text, "server.yaml: |")
			if !ok {
				continue
			}
			for _, m := range regexp.MustCompile(`(?m)^    ([a-z-]+):`).FindAllStringSubmatch(text, -1) {
				found++
				if !strings.Contains(doc, "| `"+m[1]+"` |") {
					t.Errorf("%s: the chart writes %s, which docs/server-config.md does not know", v.name, m[1])
				}
			}
		}
		if v.name != "agents-only" && found < 5 {
			t.Errorf("%s: %d settings found", v.name, found)
		}
	}
}

// TestFlagsOfTheAgent: each argument of the agent is one of docs/flags.md.
func TestFlagsOfTheAgent(t *testing.T) {
	doc := read(t, repo+"/docs/flags.md")
	for _, v := range variants(t) {
		for _, m := range regexp.MustCompile(`(?m)^            - "?(--[a-z-]+)=`).FindAllStringSubmatch(render(t, v.values, newest)["agent-daemonset.yaml"], -1) {
			if !strings.Contains(doc, "| `"+m[1]+" ") && !strings.Contains(doc, "| `"+m[1]+"` ") {
				t.Errorf("%s: the chart gives the agent %s, which docs/flags.md does not know", v.name, m[1])
			}
		}
	}
}
