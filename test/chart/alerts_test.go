// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// foreign are the metrics in alerts that others serve: Prometheus and the kubelet.
var foreign = []string{"up", "kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"}

// rules are the chart's alerts, as they are installed.
func rules(t *testing.T) []monitoring.Rule {
	t.Helper()
	var out []monitoring.Rule
	for _, o := range objects(t, render(t, inline(t, "monitoring: {rules: true}"), newest)) {
		if r, ok := decoded(t, o).(*monitoring.PrometheusRule); ok {
			for _, g := range r.Spec.Groups {
				out = append(out, g.Rules...)
			}
		}
	}
	if len(out) < 20 {
		t.Fatalf("%d alerts", len(out))
	}
	return out
}

// TestAlertsAskWhatThereIs: each expression is PromQL, and each metric in it is one
// that our programs serve, by their own documents.
func TestAlertsAskWhatThereIs(t *testing.T) {
	served := read(t, repo+"/docs/metrics.md") + read(t, repo+"/docs/server-metrics.md")
	for _, r := range rules(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr.String())
		if err != nil {
			t.Errorf("%s: %v", r.Alert, err)
			continue
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && !slices.Contains(foreign, s.Name) && !strings.Contains(served, "| `"+s.Name+"`") {
				t.Errorf("%s asks %s, which is in neither docs/metrics.md nor docs/server-metrics.md", r.Alert, s.Name)
			}
			return nil
		})
	}
}

// TestAlertsAreExplained: each alert says what is wrong, how bad it is, and where to
// read what to do; that document has a heading for it, and for nothing else.
func TestAlertsAreExplained(t *testing.T) {
	doc := read(t, repo+"/docs/alerts.md")
	var want []string
	for _, r := range rules(t) {
		want = append(want, r.Alert)
		for _, key := range []string{"summary", "description", "runbook_url"} {
			if r.Annotations[key] == "" {
				t.Errorf("%s has no %s", r.Alert, key)
			}
		}
		if !strings.HasSuffix(r.Annotations["runbook_url"], "/docs/alerts.md#"+strings.ToLower(r.Alert)) {
			t.Errorf("%s: runbook_url is %s", r.Alert, r.Annotations["runbook_url"])
		}
		if s := r.Labels["severity"]; !slices.Contains([]string{"info", "warning", "critical", "{{ $labels.severity }}"}, s) {
			t.Errorf("%s has the severity %q", r.Alert, s)
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(doc, -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("docs/alerts.md explains\n%v, the alerts are\n%v", got, want)
	}
}

// alertCase is a situation, and what an alert says of it. No summary: it is quiet.
type alertCase struct {
	Alert   string   `json:"alert"`
	About   string   `json:"about"`
	Series  []string `json:"series"`
	Summary []string `json:"summary"`
}

// TestAlertsFire: each alert fires in a situation in testdata/alerts.yaml, and is
// quiet in another, as Prometheus's own engine evaluates it.
func TestAlertsFire(t *testing.T) {
	var cases []alertCase
	if err := yaml.UnmarshalStrict([]byte(read(t, "testdata/alerts.yaml")), &cases); err != nil {
		t.Fatal(err)
	}
	byName := map[string]monitoring.Rule{}
	for _, r := range rules(t) {
		byName[r.Alert] = r
	}
	fired, quiet := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		t.Run(c.Alert+"/"+c.About, func(t *testing.T) {
			r, ok := byName[c.Alert]
			if !ok {
				t.Fatalf("there is no alert %s", c.Alert)
			}
			var got []string
			for _, s := range parseSeries(t, c.Series).query(t, r.Expr.String()) {
				got = append(got, fill(t, r.Annotations["summary"], s))
				fill(t, r.Annotations["description"], s)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.Summary) {
				t.Errorf("says %q, want %q", got, c.Summary)
			}
			fired[c.Alert], quiet[c.Alert] = fired[c.Alert] || len(c.Summary) > 0, quiet[c.Alert] || len(c.Summary) == 0
		})
	}
	for name := range byName {
		if !fired[name] || !quiet[name] {
			t.Errorf("testdata/alerts.yaml: %s wants a situation in which it fires, and one in which it does not", name)
		}
	}
}

// fill fills an annotation in as Prometheus does. A label that the alert does not
// have is a mistake: nobody would be named.
func fill(t *testing.T, text string, s promql.Sample) string {
	t.Helper()
	number := func(v float64) string { return fmt.Sprint(v) }
	fs := template.FuncMap{"humanize": number, "humanizeDuration": number, "humanizePercentage": number}
	const head = "{{ $labels := .Labels }}{{ $value := .Value }}"
	tmpl, err := template.New("").Funcs(fs).Option("missingkey=error").Parse(head + text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, map[string]any{"Labels": s.Metric.Map(), "Value": s.F}); err != nil {
		t.Errorf("%v", err)
	}
	return out.String()
}
