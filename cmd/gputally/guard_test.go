// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	leakyPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: nb, namespace: dev}\nspec:\n  containers:\n  - name: main\n    env:\n    - {name: NVIDIA_VISIBLE_DEVICES, value: all}\n"
	cleanPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: ok}\nspec: {containers: [{name: main}]}\n"
	mountPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: mount}\nspec: {volumes: [{name: d, hostPath: {path: /dev}}], containers: [{name: main, volumeMounts: [{name: d, mountPath: /d}]}]}\n"
	badYAML  = "kind: Pod\nspec: [\n"
	rollout  = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: main}]}}}\n"
)

// guardRun runs gputally guard scan over a file with the documents.
func guardRun(t *testing.T, documents []string, flags ...string) (code int, stdout, stderr string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a b.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	code = run(append([]string{"guard", "scan", "-f", file}, flags...), &out, &err)
	return code, out.String(), err.String()
}

// TestGuardExitCodes: clean, found, wrong; what could be read is reported also
// where something else could not.
func TestGuardExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		flags     []string
		code      int
		out, err  string
	}{
		"clean":            {[]string{cleanPod}, nil, 0, "1 container of 1 workload in 1 file: no finding.", ""},
		"found":            {[]string{cleanPod, leakyPod}, nil, 1, ".yaml:13 (document 2)", "1 finding of severity high or above"},
		"below":            {[]string{leakyPod}, []string{"--fail-on", "critical"}, 0, "1 high", ""},
		"low passes":       {[]string{mountPod}, nil, 0, "1 low", ""},
		"low fails":        {[]string{mountPod}, []string{"--fail-on", "low"}, 1, "1 low", "severity low or above"},
		"never":            {[]string{leakyPod}, []string{"--fail-on", "none"}, 0, "GT-G001", ""},
		"wrong and found":  {[]string{badYAML, leakyPod}, nil, 2, "GT-G001", "document 1, line 2: this is not valid YAML"},
		"exempted":         {[]string{leakyPod}, []string{"--exempt", "dev/Pod/nb=lab of the platform team"}, 0, "lab of the platform team", ""},
		"exempted nothing": {[]string{leakyPod}, []string{"--exempt", "dev/Pod/other=x"}, 1, "GT-G001", "--exempt dev/Pod/other: no such object"},
		"no reason":        {[]string{leakyPod}, []string{"--exempt", "dev/Pod/nb"}, 2, "", "gives no reason"},
		"no severity":      {[]string{leakyPod}, []string{"--fail-on", "severe"}, 2, "", `"severe" is no severity`},
		"no format":        {[]string{leakyPod}, []string{"-o", "xml"}, 2, "", `--output is "xml"`},
		"not looked at":    {[]string{cleanPod, rollout}, nil, 0, "Rollout web", ""},
		"no file":          {[]string{cleanPod}, []string{"-f", "gone.yaml"}, 2, "no finding", "gone.yaml: cannot be read"},
		"a namespace":      {[]string{cleanPod, mountPod}, []string{"-n", "team-a"}, 0, "team-a/Pod/mount", ""},
		"terminal control": {[]string{strings.Replace(leakyPod, "value: all", `value: "all\e[2J"`, 1)}, nil, 1, "all�[2J", ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := guardRun(t, c.documents, c.flags...)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(err, c.err) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, out, err)
			}
		})
	}
	for _, c := range []struct {
		flags []string
		err   string
	}{
		{[]string{"--kubeconfig", "gone.yaml"}, "gone.yaml"},
		{[]string{"-f", "x.yaml", "--context", "prod"}, "give one or the other"},
		{[]string{"-A", "-n", "team"}, "give one or the other"},
		{[]string{"-f", "x.yaml", "--seen"}, "name agents with --agent"},
		{[]string{"-f", "x.yaml", "--agent", "ftp://x"}, "--agent: agent address"},
	} {
		var out, err bytes.Buffer
		if code := run(append([]string{"guard", "scan"}, c.flags...), &out, &err); code != 2 || !strings.Contains(err.String(), c.err) {
			t.Errorf("%v: exit code %d, %s", c.flags, code, err.String())
		}
	}
}

// TestGuardStandardInput: what helm or kustomize write comes through a pipe; a
// pipe with nothing in it is not clean.
func TestGuardStandardInput(t *testing.T) {
	for text, want := range map[string]string{leakyPod: "1 finding of severity high", "": "1 mistake in the input", cleanPod: ""} {
		root := newRoot()
		var out bytes.Buffer
		root.SetIn(strings.NewReader(text))
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs([]string{"guard", "scan", "-f", "-"})
		got := ""
		if err := root.Execute(); err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q\n%s", text, got, want, out.String())
		}
	}
}

// TestGuardJSON: every finding says where, what, why and how to mend it; lists
// are lists where they are empty.
func TestGuardJSON(t *testing.T) {
	_, out, _ := guardRun(t, []string{cleanPod, leakyPod, rollout}, "-o", "json")
	var got struct {
		Looked   map[string]int   `json:"looked_at"`
		Findings []map[string]any `json:"findings"`
		Exempted []any            `json:"exempted"`
		Skipped  []map[string]any `json:"not_looked_at"`
		Mistakes []any            `json:"mistakes"`
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 1 || got.Exempted == nil || got.Mistakes == nil || len(got.Skipped) != 1 || got.Looked["containers"] != 2 || got.Looked["documents"] != 3 {
		t.Fatalf("%s", out)
	}
	f := got.Findings[0]
	for key, want := range map[string]any{
		"rule": "GT-G001", "severity": "high", "container": "main", "role": "container", "document": 2.0, "line": 13.0,
		"field": "spec.containers[0].env[0].value", "value": "all",
	} {
		if f[key] != want {
			t.Errorf("%s is %v, want %v", key, f[key], want)
		}
	}
	for _, key := range []string{"what", "why", "fix", "file"} {
		if s, _ := f[key].(string); s == "" {
			t.Errorf("%s is empty", key)
		}
	}
}

// TestGuardDocs: docs/guardrails.md is what the rules say.
func TestGuardDocs(t *testing.T) {
	docsAreUpToDate(t, "guardrails.md", writeGuardDocs)
}

// TestGuardImages: an archive's environment counts for the containers of its
// image; one that nobody uses, and one that is none, are told.
func TestGuardImages(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"manifest.json": `[{"Config":"c1.json","RepoTags":["ollama/ollama:0.5"]}]`,
		"c1.json":       `{"config":{"Env":["NVIDIA_VISIBLE_DEVICES=all"]}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ollama := strings.Replace(cleanPod, "{name: main}", "{name: main, image: 'docker.io/ollama/ollama:0.5'}", 1)
	mirror := strings.Replace(cleanPod, "{name: main}", "{name: main, image: mirror/llm}", 1)
	for name, c := range map[string]struct {
		document, archive string
		code              int
		out, err          string
	}{
		"used":   {ollama, dir, 1, "spec.containers[0].image=docker.io/ollama/ollama:0.5", "1 finding"},
		"named":  {mirror, "mirror/llm=" + dir, 1, "GT-G016", ""},
		"unused": {mirror, dir, 0, "no finding", "no container of the input uses this image"},
		"none":   {ollama, "gone.tar", 2, "no finding", "gone.tar: read image archive: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, err := guardRun(t, []string{c.document}, "--image-archive", c.archive)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(err, c.err) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, out, err)
			}
		})
	}
}

// TestGuardAgents: what an agent saw is told beside what the manifests say; one that
// does not answer is no clean node.
func TestGuardAgents(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"agent":{"node":"gpu-1"},"result":{"node":"gpu-1","findings":[
			{"kind":"exposure","severity":"warning","holder":{"kind":"pod","namespace":"default","pod":"ok","pod_uid":"u"},"partitions":["GPU-1"]},
			{"kind":"exposure","severity":"warning","holder":{"kind":"pod","namespace":"other","pod":"x","pod_uid":"v"},"partitions":["GPU-1"]}]}}`)
	}))
	code, out, _ := guardRun(t, []string{cleanPod}, "--agent", agent.URL, "-n", "default")
	if code != 1 || !strings.Contains(out, "GT-G023") || !strings.Contains(out, "node/gpu-1") || strings.Contains(out, "other/Pod/x") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	agent.Close()
	if code, _, err := guardRun(t, []string{cleanPod}, "--agent", agent.URL); code != 2 || !strings.Contains(err, "connection refused") {
		t.Errorf("an agent that is away: exit code %d\n%s", code, err)
	}
}
