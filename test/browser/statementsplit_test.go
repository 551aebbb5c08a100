// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// TestStatementOfSeveralRules: a month is closed under one rule of splitting, then
// another is put in force. The statement of the closed month names the former alone,
// whatever is in force; that of the next month has both: its own hours under the
// latter, and under the former what came late for the closed one.
func TestStatementOfSeveralRules(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	rule := func(name string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte("policy: 1\nid: several\nsplit: "+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule("residual")
	server := start(t, "--policy-file", policy)
	b := open(t, server)
	now := time.Now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	last, former := this.AddDate(0, -1, 0), this.AddDate(0, -2, 0)
	bring := func(node string, until time.Time) {
		t.Helper()
		var batches []usage.Batch
		for x := range history.New(2026, until.Add(-8*time.Hour), until).Batches(node) {
			batches = append(batches, x)
		}
		deliver(t, server, batches)
		rated(t, server)
	}
	bring(history.NodeAWS, last)
	resp, err := http.Post(server+"/api/v1/months/"+former.Format("2006-01")+"/close", "application/json", strings.NewReader(`{"currency":"USD","level":"namespace","by":"ada","force":"a test"}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	rule("opencost")
	until(t, time.Minute, "the other rule is in force", func() bool {
		var s struct{ Split string }
		ask(t, server+"/api/v1/status", &s)
		return s.Split == "opencost"
	})
	bring(history.NodeRack, last)
	bring(history.NodeAWS, this)

	b.size(t, 1280, 800)
	b.visit(t, server+"/ui/?lang=en&theme=light#/statement?month="+former.Format("2006-01"))
	if text := b.text(t); !strings.Contains(text, "residual — ") || strings.Contains(text, "opencost") {
		t.Errorf("the closed month was priced under residual alone:\n%s", text)
	}
	rows := report(t, server+"/api/v1/report?booked=true&month="+last.Format("2006-01")+"&by=split")
	if len(rows) != 2 {
		t.Fatalf("by rule the next month is %+v", rows)
	}
	b.visit(t, server+"/ui/?lang=en&theme=light#/statement?month="+last.Format("2006-01"))
	text := b.text(t)
	for _, r := range rows {
		if want := r.Keys["split"] + " " + cents(nano(t, r.Cost.Total)) + " USD — "; nano(t, r.Cost.Total).Sign() <= 0 || !strings.Contains(text, want) {
			t.Errorf("%q is not on the statement of the next month:\n%s", want, text)
		}
	}
	b.picture(t, "statement-rules")
	b.accessible(t, "a month of two rules")
	b.visit(t, server+"/ui/?lang=zh&theme=light#/statement?month="+last.Format("2006-01"))
	if text := b.text(t); !strings.Contains(text, "拆分规则") || !strings.Contains(text, "OpenCost 权重") {
		t.Errorf("in Chinese:\n%s", text)
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}
