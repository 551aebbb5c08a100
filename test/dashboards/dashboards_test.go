// SPDX-License-Identifier: Apache-2.0

package dashboards

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dashboard is what is asked here of a file that Grafana reads.
type dashboard struct {
	UID        string `json:"uid"`
	Templating struct {
		List []struct {
			Name, Definition string
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID      int    `json:"id"`
		Title   string `json:"title"`
		Targets []struct {
			RefID string `json:"refId"`
			Expr  string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

func dashboards(t *testing.T) (all []dashboard) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo, "deploy/chart/dashboards/*.json"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		all = append(all, d)
	}
	return all
}

// later is why panels may be empty here: the server works the fleet's advice out when
// it begins, which is before it has records here, and then every half minute.
// TestEveryQueryFindsSomething: each query of each panel and each choice at the top has
// an answer, since the world has a reason for each: a leak, a lost GPU, an XID, all ways
// of sharing, an engine; and what is drawn adds up. Classes and advice come last: hours
// must be rated and looked at, and the server works advice out every half minute.
func TestEveryQueryFindsSomething(t *testing.T) {
	need(t, "prometheus") // before anything is built
	w := staged(t)
	p := watch(t, w)
	boards := dashboards(t)
	asked := 0
	for _, d := range boards {
		for _, panel := range d.Panels {
			asked += len(panel.Targets)
		}
	}
	until(t, 4*time.Minute, func() string {
		var missing []string
		for _, d := range boards {
			for _, panel := range d.Panels {
				for _, q := range panel.Targets {
					where := d.UID + ": " + panel.Title
					found, err := p.ask(filled(q.Expr))
					if err != nil {
						t.Fatalf("%s %s: %v", where, q.RefID, err)
					}
					if !finite(found) {
						missing = append(missing, where+" "+q.RefID)
					}
				}
			}
		}
		return strings.Join(missing, "\n")
	})
	t.Logf("%d queries of %d dashboards were asked", asked, len(boards))
	t.Run("choices", func(t *testing.T) { choices(t, p, boards) })
	t.Run("sums", func(t *testing.T) { sums(t, p) })
	t.Run("alerts", func(t *testing.T) { fires(t, p) })
	t.Run("guide", func(t *testing.T) { guide(t, w) })
	t.Run("told", func(t *testing.T) { told(t, w) })
}

// filled puts everything in for Grafana's variables.
func filled(expr string) string {
	return strings.NewReplacer("$cluster", ".*", "$node", ".*", "$namespace", ".*", "$gpu", ".*", "$__rate_interval", "10s").Replace(expr)
}

// finite says that there are series, and that all of them are numbers.
func finite(found []answer) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(a answer) bool {
		v := value(a)
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
}

func value(a answer) float64 {
	v, err := strconv.ParseFloat(fmt.Sprint(a.Value[1]), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// choices: what a variable offers is there.
func choices(t *testing.T, p prometheus, boards []dashboard) {
	for _, d := range boards {
		for _, v := range d.Templating.List {
			expr, label := "", ""
			switch {
			case v.Definition == "": // the data source
				continue
			case strings.HasPrefix(v.Definition, "query_result("):
				expr = strings.TrimSuffix(strings.TrimPrefix(v.Definition, "query_result("), ")")
				label = "gpu_uuid"
			default:
				inside := strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")")
				at := strings.LastIndex(inside, ", ")
				expr, label = inside[:at], inside[at+2:]
			}
			found, err := p.ask(filled(expr))
			if err != nil {
				t.Errorf("%s: %s: %v", d.UID, v.Name, err)
				continue
			}
			if !slices.ContainsFunc(found, func(a answer) bool { return a.Metric[label] != "" }) {
				t.Errorf("%s: %s offers nothing: %s has no %s", d.UID, v.Name, expr, label)
			}
		}
	}
}

// sums: what is stacked comes to what it is part of, though GPUs are shared.
func sums(t *testing.T, p prometheus) {
	one := func(expr string) float64 {
		t.Helper()
		found, err := p.ask(expr)
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v %v", expr, found, err)
		}
		return value(found[0])
	}
	// Each difference is one query, so that both sides are of one moment.
	if n := one(`sum(gputally_partition_memory_bytes) - sum(gputally_partition_memory_capacity_bytes)`); n != 0 {
		t.Errorf("the classes of memory come to %.0f more than the capacity", n)
	}
	if n := one(`sum(gputally_memory_used_bytes{holder_kind!="unknown"}) - sum(gputally_partition_memory_bytes{class="used"})`); n != 0 {
		t.Errorf("holders have %.0f more than the class used", n)
	}
	// 24 GPUs of the demo, one of them lost, and one more; 3 pods share one of them.
	if n := one(panelQuery(t, "gputally-fleet", "GPUs")); n != 25 {
		t.Errorf("%v GPUs, want 25", n)
	}
	if n := one(`min(gputally_source_up{source="nvml"})`); n != 1 {
		t.Error("an agent cannot read NVML")
	}
	if n := one(`sum(gputally_device_events_total{xid="48"})`); n != 1 {
		t.Errorf("%v XIDs 48, want 1", n)
	}
	if n := one(`max(gputally_signal_ratio)`); n > 1 {
		t.Errorf("a device is busy %v of the time", n)
	}
}

func panelQuery(t *testing.T, uid, title string) string {
	t.Helper()
	for _, d := range dashboards(t) {
		for _, panel := range d.Panels {
			if d.UID == uid && panel.Title == title {
				return filled(panel.Targets[0].Expr)
			}
		}
	}
	t.Fatalf("%s has no panel %s", uid, title)
	return ""
}

// fires: a real Prometheus takes the rules, evaluates them without an error, and
// those that this world gives a reason are pending or fire; most are quiet.
func fires(t *testing.T, p prometheus) {
	want := []string{"GputallyGPULost", "GputallyUnallocatedUse", "GputallyXID"}
	quiet := []string{"GputallyAgentDown", "GputallyServerDown", "GputallyWritesFail", "GputallyRecordsLost", "GputallySpoolFillsUp", "GputallySpoolGrows", "GputallyProgramXID"}
	text, err := get(p.url + "/api/v1/rules")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name, State, Health, LastError string
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	active, rules := []string{}, 0
	for _, g := range r.Data.Groups {
		for _, rule := range g.Rules {
			rules++
			if rule.Health != "ok" {
				t.Errorf("%s: %s %s", rule.Name, rule.Health, rule.LastError)
			}
			if rule.State != "inactive" {
				active = append(active, rule.Name)
			}
		}
	}
	if rules < 20 {
		t.Errorf("Prometheus has %d rules", rules)
	}
	for _, name := range want {
		if !slices.Contains(active, name) {
			t.Errorf("%s is quiet; active are %v", name, active)
		}
	}
	for _, name := range quiet {
		if slices.Contains(active, name) {
			why, err := p.ask(fmt.Sprintf("ALERTS{alertname=%q}", name))
			t.Errorf("%s is active: %v %v", name, why, err)
		}
	}
	t.Logf("%d rules, active: %v", rules, active)
}
