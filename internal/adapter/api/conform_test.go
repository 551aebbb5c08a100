// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/goccy/go-yaml"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/test/memstore"
)

// TestAnswersAreAsDocumented: what the server answers to every GET has the shape
// that the OpenAPI document gives it: types, required fields, words.
func TestAnswersAreAsDocumented(t *testing.T) {
	document := readDocument(t)
	l := ledgerOfItsOwn(t)
	s, _ := serve(t, l, nil)
	closing := `{"currency":"EUR","by":"ada","force":"no price"}`
	if resp, err := http.Post(s.URL+api.Prefix+"/months/2026-11/close", "application/json", strings.NewReader(closing)); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	var line struct{ Lines []struct{ ID string } }
	if err := json.NewDecoder(get(t, s.URL+api.Prefix+"/lines?month=2026-11&limit=1").Body).Decode(&line); err != nil {
		t.Fatal(err)
	}
	id := dismissed(t, l)
	nodes, _, _ := fleetOf(t, l).Fleet(0)
	device := string(nodes[0].GPUs[0].UUID)
	questions := map[string]string{
		"/advice": "?at=2026-11-04T08:00:00Z&share=true", "/advice/decisions": "", "/advice/hours": "?month=2026-11&namespace=ml&workload=Job/train", "/advice/plans": "?at=2026-11-04T08:00:00Z",
		"/advice/{id}/verification": "/advice/" + id + "/verification?applied=2026-11-03T03:00:00Z",
		"/status":                   "", "/dimensions": "", "/report": "?month=2026-11&by=label:team,hour&top=1", "/explanation": "?workload=ml/Job/train&month=2026-11",
		"/lines": "?month=2026-11", "/lines/{id}": "/lines/" + line.Lines[0].ID, "/trail": "", "/nodes": "?at=2026-11-03T02:00:00Z",
		"/nodes/{name}/price": "/nodes/aws-1/price?at=2026-11-03T02:00:00Z", "/nodes/{name}/price/comparison": "/nodes/aws-1/price/comparison?at=2026-11-03T02:00:00Z",
		"/months": "", "/months/{month}": "/months/2026-11", "/months/{month}/statement": "/months/2026-11/statement?currency=EUR&account=ml",
		"/bills": "", "/bills/reconciliation": "?month=2026-11", "/checks/ledger": "", "/checks/months": "", "/checks/prices": "?month=2026-11", "/export": "?month=2026-11",
		"/fleet": "", "/gpus/{uuid}/timeline": "/gpus/" + device + "/timeline?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z", "/findings": "?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z&cost=true",
	}
	for path, item := range document.paths {
		if item["get"] == nil {
			continue
		}
		short := strings.TrimPrefix(path, api.Prefix)
		q, ok := questions[short]
		if !ok {
			t.Errorf("GET %s is asked by no test", short)
			continue
		}
		if !strings.HasPrefix(q, "/") {
			q = short + q
		}
		t.Run(short, func(t *testing.T) { document.conforms(t, item["get"], s.URL+api.Prefix+q) })
	}
}

// dismissed is the id of a recommendation that somebody has dismissed.
func dismissed(t *testing.T, l *memstore.Ledger) string {
	t.Helper()
	a, err := l.Adviser.Advice(t.Context(), inquiry.AdviceQuery{AtMS: memstore.Start.AddDate(0, 0, 1).UnixMilli()})
	if err != nil || len(a.Workloads) == 0 {
		t.Fatalf("%+v, %v", a, err)
	}
	d, err := l.Adviser.Decide(t.Context(), inquiry.Decision{ID: a.Workloads[0].Recommendations[0].ID, State: advice.Dismissed, Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	return d.ID
}

// document is an OpenAPI document with the schemas that its code makes, by name.
type document struct {
	paths    map[string]map[string]map[string]any
	registry huma.Registry
}

func readDocument(t *testing.T) *document {
	t.Helper()
	text, err := api.Document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]map[string]any
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Paths) < 15 {
		t.Fatalf("%d paths", len(doc.Paths))
	}
	return &document{doc.Paths, api.Schemas()}
}

// conforms asks, and looks at the answer, line by line where it comes so.
func (d *document) conforms(t *testing.T, op map[string]any, url string) {
	resp := get(t, url)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	var content map[string]any
	for k, v := range op["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any) {
		if name, _, _ := strings.Cut(k, ";"); name == kind {
			content = v.(map[string]any)
		}
	}
	if content == nil {
		t.Fatalf("%s answers %q, which is not documented", url, kind)
	}
	ref, _ := content["schema"].(map[string]any)["$ref"].(string)
	if ref == "" {
		return // bytes
	}
	for sc := bufio.NewReader(resp.Body); ; {
		text, err := sc.ReadBytes('\n')
		if len(text) > 0 {
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				t.Fatal(err)
			}
			var res huma.ValidateResult
			huma.Validate(d.registry, d.registry.SchemaFromRef(ref), huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, &res)
			for _, e := range res.Errors {
				t.Errorf("%s: %v", url, e)
			}
		}
		if err != nil {
			return
		}
	}
}
