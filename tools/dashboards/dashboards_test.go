// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const repo = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repo, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFilesAreCurrent: the dashboards in the chart are what the lists say.
func TestFilesAreCurrent(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(repo, "deploy/chart/dashboards/*"))
	if err != nil || len(files) != len(boards()) {
		t.Errorf("deploy/chart/dashboards has %v, want %d files", files, len(boards()))
	}
	for _, b := range boards() {
		want, err := b.file()
		if err != nil {
			t.Fatal(err)
		}
		if read(t, "deploy/chart/dashboards/"+b.name+".json") != string(want) {
			t.Errorf("deploy/chart/dashboards/%s.json: run make manifests", b.name)
		}
	}
}

// TestPanelsTeach: each panel has a unit, says what it shows, and leads to a heading
// of a page that says more.
func TestPanelsTeach(t *testing.T) {
	for _, b := range boards() {
		for _, r := range b.rows {
			for _, p := range r.panels {
				where := b.name + ": " + p.title
				if p.unit == "" || len(p.about) < 12 || !strings.HasSuffix(p.about, ".") || len(p.queries) == 0 {
					t.Errorf("%s wants a unit, queries, and a description in sentences", where)
				}
				page, heading, _ := strings.Cut(p.link, "#")
				if text := read(t, "docs/"+page); heading != "" && !hasHeading(text, heading) {
					t.Errorf("%s: %s has no heading #%s", where, page, heading)
				}
			}
		}
	}
}

func hasHeading(text, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		slug := strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// TestQueriesAreHonest: they ask metrics that there are, fill no gap with 0, and add
// up no signal: two shares of a device are no sum.
func TestQueriesAreHonest(t *testing.T) {
	served := read(t, "docs/metrics.md") + read(t, "docs/server-metrics.md")
	for _, b := range boards() {
		for _, r := range b.rows {
			for _, p := range r.panels {
				for _, q := range p.queries {
					for _, name := range regexp.MustCompile(`\bgputally_[a-z_]+`).FindAllString(q.expr, -1) {
						if !strings.Contains(served, "| `"+name+"`") {
							t.Errorf("%s: %s asks %s, which nothing serves", b.name, p.title, name)
						}
					}
					if regexp.MustCompile(`vector\(|absent|or on|last_over_time`).MatchString(q.expr) {
						t.Errorf("%s: %s draws what is unknown: %s", b.name, p.title, q.expr)
					}
					if regexp.MustCompile(`sum[^(]*\([^(]*gputally_(signal|holder_sm|engine_pool_used)_ratio`).MatchString(q.expr) {
						t.Errorf("%s: %s adds up shares: %s", b.name, p.title, q.expr)
					}
					if strings.Contains(q.expr, "gputally_cost") && !strings.Contains(q.expr, "span=") {
						t.Errorf("%s: %s adds a month to an hour: %s", b.name, p.title, q.expr)
					}
				}
			}
		}
	}
}
