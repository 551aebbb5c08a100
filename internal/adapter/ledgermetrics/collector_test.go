// SPDX-License-Identifier: Apache-2.0

package ledgermetrics

import (
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func scrape(t *testing.T, s State) string {
	t.Helper()
	h, err := Handler(func() State { return s })
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("%d, %v", w.Code, err)
	}
	return string(body)
}

func TestSeries(t *testing.T) {
	got := scrape(t, State{
		Version: "v1", Batches: 7, Refused: map[string]uint64{"batch_invalid": 2}, OldestDue: time.UnixMilli(1_764_547_200_500), DueHours: 3,
		ActivityHours: 9, Classes: []Class{{"a", "ml", "waiting", 12.5}},
		Advice: []Advice{{"a", "ml", "mig-profile", "advised", 2, "USD", 1, 7}, {"a", "ml", "idle-reclaim", "advised", 1, "USD", 2.5, 3}, {"a", "ml", "shape", "dismissed", 1, "", 0, 0}},
		Costs: []Cost{
			{Cluster: "a", Class: "workload", Account: "ml", Resource: "gpu", Currency: "USD", Priced: true, Amount: 12.5, GPUHours: 4, UnusedGPUHours: 1},
			{LastHour: true, Class: "platform", Account: "idle", Resource: "cpu", Currency: "USD", Priced: true, Amount: 0.25},
		},
	})
	for _, want := range []string{
		`gputally_workload_class_hours{class="waiting",namespace="ml",workload_cluster="a"} 12.5`, `gputally_activity_hours_total 9`,
		`gputally_advice{kind="mig-profile",namespace="ml",state="advised",workload_cluster="a"} 2`,
		`gputally_advice_cash{currency="USD",namespace="ml",workload_cluster="a"} 3.5`, `gputally_advice_freed{currency="USD",namespace="ml",workload_cluster="a"} 10`,
		`gputally_server_info{version="v1"} 1`, `gputally_server_batches_total 7`, `gputally_server_refused_batches_total{code="batch_invalid"} 2`,
		`gputally_rating_oldest_due_timestamp_seconds 1.7645472005e+09`, `gputally_rating_due_hours 3`,
		`gputally_cost{account="ml",class="workload",currency="USD",resource="gpu",span="month",workload_cluster="a"} 12.5`,
		`gputally_cost_unused_gpu_hours{account="ml",class="workload",currency="USD",resource="gpu",span="month",workload_cluster="a"} 1`,
		`gputally_cost{account="idle",class="platform",currency="USD",resource="cpu",span="hour",workload_cluster=""} 0.25`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no series %s", want)
		}
	}
}

// TestUnknownHasNoSeries: what nobody knows is not 0.
func TestUnknownHasNoSeries(t *testing.T) {
	got := scrape(t, State{Costs: []Cost{{Resource: "gpu", Account: "ml", GPUHours: 1, UnpricedGPUHours: 1}}})
	for _, name := range []string{"gputally_cost{", "gputally_rating_oldest_due_timestamp_seconds ", "gputally_server_last_write_timestamp_seconds "} {
		if strings.Contains(got, "\n"+name) {
			t.Errorf("a series %s of what is unknown", name)
		}
	}
	if !strings.Contains(got, "gputally_cost_unpriced_gpu_hours{") {
		t.Error("what has no price is not told")
	}
}

func TestDocsAreCurrent(t *testing.T) {
	for lang, path := range map[string]string{"en": "../../../docs/server-metrics.md", "zh": "../../../docs/zh/server-metrics.md"} {
		var want bytes.Buffer
		if err := WriteDocs(&want, lang); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s is out of date: make docs (-want +got):\n%s", path, diff)
		}
	}
}
