// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/guard"
)

func readText(t *testing.T, text string) Result {
	t.Helper()
	return Read([]string{Stdin}, Options{Namespace: "default", Stdin: strings.NewReader(text)})
}

// scanned says what a scan finds, a line each.
func scanned(r Result) (out []string) {
	report := guard.Scan(r.Input, guard.Policy{})
	line := func(f guard.Finding, more string) {
		out = append(out, fmt.Sprintf("%d:%d %s %s %s/%s %s=%s%s", f.Document, f.Line, f.Rule, f.Severity, f.Object, f.Container, f.Field, f.Value, more))
	}
	for _, f := range report.Findings {
		line(f, "")
	}
	for _, e := range report.Exempted {
		line(e.Finding, " exempt: "+e.Exemption.Owner)
	}
	return out
}

// TestCases: real reports, from the manifest to findings with document, line,
// field and value.
func TestCases(t *testing.T) {
	r := Read([]string{"testdata/cases.yaml"}, Options{Namespace: "default"})
	if len(r.Mistakes) > 0 {
		t.Fatal(r.Mistakes)
	}
	want := []string{
		`1:11 GT-G001 high dev/Pod/notebook/nb spec.containers[0].env[0].value=all`,
		`2:23 GT-G001 high default/Deployment/zero/main spec.template.spec.containers[0].env[0].value=0`,
		`3:36 GT-G004 high default/CronJob/nightly/proxy spec.jobTemplate.spec.template.spec.runtimeClassName=nvidia`,
		`4:58 GT-G005 high lab/Pod/bench/main spec.containers[0].securityContext.privileged=true`,
		`4:82 GT-G001 high mon/DaemonSet/dcgm-exporter/exporter spec.template.spec.containers[0].envFrom[0].configMapRef.name=all exempt: platform`,
		`4:78 GT-G006 medium mon/DaemonSet/dcgm-exporter/exporter spec.template.spec.volumes[1].hostPath.path=/ exempt: platform`,
	}
	got := scanned(r)
	for i := range want { // items of a List have the list's path before theirs
		if i >= 3 {
			item := 0
			if i > 3 {
				item = 1
			}
			want[i] = strings.Replace(want[i], " spec.", fmt.Sprintf(" items[%d].spec.", item), 1)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(r.Skipped) != 1 || r.Skipped[0].Object != "Rollout web" || !r.Skipped[0].Template || !strings.Contains(r.Skipped[0].Reason, "spec.template.spec") {
		t.Errorf("skipped %+v, want the Rollout", r.Skipped)
	}
}

// TestKinds: every kind that makes pods is read at its own path, and by its own
// group only.
func TestKinds(t *testing.T) {
	pod := `{"containers":[{"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}]}`
	template := `{"spec":` + pod + `}`
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"Pod":                   {`{"apiVersion":"v1","kind":"Pod","spec":` + pod + `}`, "spec"},
		"PodTemplate":           {`{"apiVersion":"v1","kind":"PodTemplate","template":` + template + `}`, "template.spec"},
		"ReplicationController": {`{"apiVersion":"v1","kind":"ReplicationController","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"Deployment":            {`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"StatefulSet":           {`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"DaemonSet":             {`{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"ReplicaSet":            {`{"apiVersion":"apps/v1","kind":"ReplicaSet","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"Job":                   {`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":` + template + `}}`, "spec.template.spec"},
		"CronJob":               {`{"apiVersion":"batch/v1","kind":"CronJob","spec":{"jobTemplate":{"spec":{"template":` + template + `}}}}`, "spec.jobTemplate.spec.template.spec"},
		"PodList":               {`{"apiVersion":"v1","kind":"PodList","items":[{"spec":` + pod + `}]}`, "items[0].spec"},
		"DeploymentList":        {`{"apiVersion":"apps/v1","kind":"DeploymentList","items":[{"spec":{"template":` + template + `}}]}`, "items[0].spec.template.spec"},
		"Volcano's Job":         {`{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","spec":{"tasks":[{"template":` + template + `}]}}`, "skipped spec.tasks[0].template.spec"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readText(t, c.text)
			if where, ok := strings.CutPrefix(c.want, "skipped "); ok {
				if len(r.Skipped) != 1 || !r.Skipped[0].Template || !strings.Contains(r.Skipped[0].Reason, where) {
					t.Fatalf("skipped %+v, want the template at %s", r.Skipped, where)
				}
				return
			}
			f := guard.Scan(r.Input, guard.Policy{}).Findings
			if len(r.Mistakes) > 0 || len(f) != 1 || f[0].Field != c.want+".containers[0].env[0].value" {
				t.Errorf("mistakes %v, findings %+v", r.Mistakes, f)
			}
		})
	}
}

// TestWaysToWrite: the same leak in the many ways that YAML and JSON allow.
func TestWaysToWrite(t *testing.T) {
	for name, text := range map[string]string{
		"an alias":         "kind: Pod\nspec:\n  initContainers: [{name: a, env: &e [{name: NVIDIA_VISIBLE_DEVICES, value: void}, {name: NVIDIA_VISIBLE_DEVICES, value: all}]}]\n  containers:\n  - name: c\n    resources: {limits: {nvidia.com/gpu: 0}}\n    env: *e\n",
		"a merge key":      "kind: Pod\nspec:\n  containers:\n  - &a\n    name: c\n    env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]\n  - <<: *a\n    name: d\n",
		"quoted names":     "\"kind\": 'Pod'\nspec:\n  containers:\n  - {\"name\": c, \"env\": [{'name': \"NVIDIA_VISIBLE\\u005fDEVICES\", value: 'all'}]}\n  - {name: d, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}\n",
		"tags":             "kind: !!str Pod\nspec:\n  containers:\n  - {name: c, env: [{name: !!str NVIDIA_VISIBLE_DEVICES, value: !!str all}]}\n  - {name: d, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}\n",
		"blocks of text":   "kind: Pod\nspec:\n  containers:\n  - name: c\n    env:\n    - name: NVIDIA_VISIBLE_DEVICES\n      value: >-\n        all\n  - name: d\n    env:\n    - name: NVIDIA_VISIBLE_DEVICES\n      value: |\n        all\n",
		"Windows' lines":   "kind: Pod\r\nspec:\r\n  containers:\r\n  - name: c\r\n    env:\r\n    - name: NVIDIA_VISIBLE_DEVICES\r\n      value: all\r\n  - name: d\r\n    env:\r\n    - name: NVIDIA_VISIBLE_DEVICES\r\n      value: all\r\n",
		"a byte order":     "\ufeffkind: Pod\nspec: {containers: [{name: c, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}, {name: d, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}\n",
		"JSON, two of it":  `{"kind":"Pod","spec":{"containers":[{"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}]}}{"kind":"Pod","spec":{"containers":[{"name":"c","env":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]}]}}`,
		"JSON with tabs":   "{\n\t\"kind\": \"Pod\",\n\t\"spec\": {\"containers\": [{\"env\": [{\"name\": \"NVIDIA_VISIBLE_DEVICES\", \"value\": \"all\"}]}, {\"env\": [{\"name\": \"NVIDIA_VISIBLE_DEVICES\", \"value\": \"all\"}]}]}\n}",
		"YAML with braces": "{kind: Pod, spec: {containers: [{name: c, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}, {name: d, env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]}]}}",
	} {
		t.Run(name, func(t *testing.T) {
			r := readText(t, text)
			if got := scanned(r); len(r.Mistakes) > 0 || len(got) != 2 {
				t.Errorf("mistakes %v, findings %q; want two", r.Mistakes, got)
			}
		})
	}
}

// TestMistakes: what is wrong is told with its place, and the good documents
// beside it are read.
func TestMistakes(t *testing.T) {
	const good = "\n---\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: c}]}\n"
	for name, c := range map[string]struct{ text, want string }{
		"not YAML":      {"kind: Pod\nspec: [", "stdin: document 1, line 2: this is not valid YAML"},
		"a template":    {"kind: Pod\nmetadata:\n  name: {{ .Release.Name }}-x\nspec: {}", "render it first"},
		"twice":         {"kind: Pod\nspec: {}\nspec: {}", "document 1, line 3"},
		"twice, JSON":   {"{\"kind\": \"Pod\",\n\"spec\": {},\n\"spec\": {}}", "given twice"},
		"no alias":      {"kind: Pod\nspec: *none", "document 1, line 2"},
		"no kind":       {"a: 1", "document 1, line 1: kind: is missing"},
		"no mapping":    {"hello", "should be a mapping"},
		"wrong shape":   {"kind: Pod\nspec:\n  containers: all", "document 1, line 3: spec.containers: should be a list, and is a plain value"},
		"wrong value":   {"kind: Pod\nspec:\n  runtimeClassName:\n  - nvidia\n  containers: []", "line 4: spec.runtimeClassName: should be a plain value"},
		"no pod":        {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}", "spec.template.spec: is missing"},
		"cut off, JSON": {`{"kind": "Pod", "spec": `, "document 1, line 1: this is not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readText(t, c.text+good)
			if len(r.Mistakes) != 1 || !strings.Contains(r.Mistakes[0].Error(), c.want) {
				t.Errorf("mistakes %v, want one with %q", r.Mistakes, c.want)
			}
			n := len(r.Input.Workloads)
			if n == 0 || r.Input.Workloads[n-1].Name != "good" {
				t.Errorf("workloads %+v, want the good one, too", r.Input.Workloads)
			}
		})
	}
}

// TestNothingIsNotClean: an empty input is a mistake: the command before the
// pipe may have failed.
func TestNothingIsNotClean(t *testing.T) {
	for _, text := range []string{"", "\n", "---\n# nothing\n---\n", "null"} {
		if r := readText(t, text); len(r.Mistakes) != 1 {
			t.Errorf("%q: mistakes %v, want one", text, r.Mistakes)
		}
	}
	r := Read([]string{filepath.Join(t.TempDir(), "gone.yaml"), t.TempDir()}, Options{})
	if len(r.Mistakes) != 2 || !strings.Contains(r.Mistakes[0].Error(), "gone.yaml: cannot be read") || !strings.Contains(r.Mistakes[1].Error(), "holds no .yaml") {
		t.Errorf("mistakes %v", r.Mistakes)
	}
}

// TestDirectory: manifests below a directory are read, the values of a chart
// named as no objects, hidden and other files left alone.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/pod.yaml": "kind: Pod\nmetadata: {name: a}\nspec: {containers: []}", "b.json": `{"kind":"Pod","metadata":{"name":"b"},"spec":{"containers":[]}}`,
		"values.yaml": "image: x", "empty.yml": "# nothing", ".git/x.yaml": "[", "notes.txt": "[",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := Read([]string{dir}, Options{})
	var names []string
	for _, w := range r.Input.Workloads {
		names = append(names, w.Name)
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || len(r.Mistakes) > 0 {
		t.Error(diff, r.Mistakes)
	}
	if len(r.Skipped) != 1 || filepath.Base(r.Skipped[0].File) != "values.yaml" || r.Skipped[0].Template {
		t.Errorf("skipped %+v, want values.yaml", r.Skipped)
	}
}
