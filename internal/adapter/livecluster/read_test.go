// SPDX-License-Identifier: Apache-2.0

package livecluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/guard"
)

// readAll says what is handed on, a line each: kind, name and what it is of.
func readAll(t *testing.T, o Options) (got []string, unread []Unread) {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	unread, err = c.Workloads(context.Background(), func(x Object) {
		var o object
		if err := json.Unmarshal(x.JSON, &o); err != nil {
			t.Error(err)
		}
		line := x.Kind + " " + o.Metadata.Namespace + "/" + o.Metadata.Name
		if x.Of != nil {
			line += " of " + x.Of.String()
		}
		got = append(got, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, unread
}

// TestOwners: pods belong to what a person made; templates that another makes are
// not handed on, and a controller of an unknown kind stands by its name.
func TestOwners(t *testing.T) {
	s, file := newAPIServer(t)
	s.put("/apis/apps/v1/deployments", "a", "web", "", nil)
	s.put("/apis/apps/v1/replicasets", "a", "web-1", "Deployment/web/u-web", nil)
	s.put("/apis/apps/v1/replicasets", "a", "own", "", nil)
	s.put("/apis/batch/v1/cronjobs", "a", "nightly", "", nil)
	s.put("/apis/batch/v1/jobs", "a", "nightly-1", "CronJob/nightly/u-nightly", nil)
	s.put("/apis/batch/v1/jobs", "a", "swept", "JobSet/sweep/u-sweep", nil)
	s.put("/apis/batch/v1/jobs", "a", "done", "", map[string]any{"status": map[string]any{"conditions": []any{map[string]any{"type": "Complete", "status": "True"}}}})
	s.put("/api/v1/pods", "a", "web-1-x", "ReplicaSet/web-1/u-web-1", nil)
	s.put("/api/v1/pods", "a", "nightly-1-x", "Job/nightly-1/u-nightly-1", nil)
	s.put("/api/v1/pods", "a", "swept-x", "Job/swept/u-swept", nil)
	s.put("/api/v1/pods", "b", "ray-x", "RayCluster/ray/u-ray", nil)
	s.put("/api/v1/pods", "b", "static", "Node/n1/u-n1", nil)
	s.put("/api/v1/pods", "b", "bare", "", nil)
	got, unread := readAll(t, Options{Kubeconfig: file})
	want := []string{
		"Deployment a/web", "ReplicaSet a/own", "CronJob a/nightly", "Job a/swept",
		"Pod a/web-1-x of a/Deployment/web", "Pod a/nightly-1-x of a/CronJob/nightly", "Pod a/swept-x of a/Job/swept",
		"Pod b/ray-x of b/RayCluster/ray", "Pod b/static", "Pod b/bare",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(unread) > 0 {
		t.Errorf("%s\nunread %v", diff, unread)
	}
	if got, _ := readAll(t, Options{Kubeconfig: file, Namespace: "b"}); len(got) != 3 {
		t.Errorf("of namespace b: %v", got)
	}
}

// TestPages: a long list comes in pages, each object once, also where a page's
// state is gone meanwhile; progress says how far it is.
func TestPages(t *testing.T) {
	s, file := newAPIServer(t)
	const n = 3*pageSize + 7
	for i := range n {
		s.put("/api/v1/pods", "a", fmt.Sprint("p", i), "", nil)
	}
	s.old = 1
	var said []string
	got, _ := readAll(t, Options{Kubeconfig: file, Progress: func(what string, read int, left int64) {
		if what == "pods" {
			said = append(said, fmt.Sprint(read, "+", left))
		}
	}})
	slices.Sort(got)
	if len(got) != n || len(slices.Compact(got)) != n {
		t.Errorf("%d objects, want %d, each once", len(got), n)
	}
	if want := []string{"500+1007", "1000+507", "1500+7", "1507+0"}; !slices.Equal(said, want) || s.old != 0 {
		t.Errorf("progress %v, want %v", said, want)
	}
}

// TestRefusals: where the whole cluster may not be listed its namespaces are, one
// by one, and those that may not be read are named; nothing is skipped silently.
func TestRefusals(t *testing.T) {
	s, file := newAPIServer(t)
	for _, ns := range []string{"a", "b", "c"} {
		s.put("/api/v1/namespaces", "", ns, "", nil)
		s.put("/api/v1/pods", ns, "p-"+ns, "", nil)
	}
	s.only = []string{"b"}
	got, unread := readAll(t, Options{Kubeconfig: file})
	if !slices.Equal(got, []string{"Pod b/p-b"}) {
		t.Errorf("read %v", got)
	}
	text := fmt.Sprint(unread)
	for _, want := range []string{"pods: namespaces not readable: a, c: you may not list them; grant list on pods", "deployments: namespaces not readable: a, c", "runtimeclasses: not readable"} {
		if !strings.Contains(text, want) {
			t.Errorf("unread %s\nwithout %q", text, want)
		}
	}
	for _, u := range unread {
		if u.Optional != (u.What == "runtimeclasses" || u.What == "clusterpolicies") {
			t.Errorf("%s: optional is %v", u.What, u.Optional)
		}
	}

	s.refused = []string{"/api/v1/namespaces"}
	_, unread = readAll(t, Options{Kubeconfig: file})
	if text := fmt.Sprint(unread); !strings.Contains(text, "name a namespace with -n") {
		t.Errorf("unread %s", text)
	}
	got, unread = readAll(t, Options{Kubeconfig: file, Namespace: "c"})
	if len(got) != 0 || !strings.Contains(fmt.Sprint(unread), "pods: namespaces not readable: c") {
		t.Errorf("read %v, unread %v", got, unread)
	}
}

// TestConfigMaps: only those asked for; one that is not there is no loss, one that
// may not be read is named.
func TestConfigMaps(t *testing.T) {
	s, file := newAPIServer(t)
	s.only = []string{"a"}
	c, err := Open(Options{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	unread, err := c.ConfigMaps(context.Background(), []guard.ConfigMapName{{Namespace: "a", Name: "gone"}, {Namespace: "a", Name: "m"}, {Namespace: "z", Name: "m"}}, func(o Object) {
		got = append(got, string(o.JSON))
	})
	if err != nil || len(got) != 1 || !strings.Contains(got[0], `"k":"all"`) {
		t.Errorf("got %v, %v", got, err)
	}
	if len(unread) != 1 || !strings.Contains(unread[0].String(), "configmaps z/m: not readable") || !unread[0].Optional {
		t.Errorf("unread %v", unread)
	}
}

// TestOutOfReach: an API server that does not answer ends the scan, and says
// where to look.
func TestOutOfReach(t *testing.T) {
	_, file := newAPIServer(t)
	if _, err := Open(Options{Kubeconfig: file, Context: "other"}); err == nil || !strings.Contains(err.Error(), "other") {
		t.Errorf("an unknown context: %v", err)
	}
	if _, err := Open(Options{Kubeconfig: file + ".gone"}); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("no such file: %v", err)
	}
	s, file := newAPIServer(t)
	s.lists = nil
	c, err := Open(Options{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Workloads(context.Background(), func(Object) {}); err == nil || !strings.Contains(err.Error(), "read deployments of cluster/lab") {
		t.Errorf("no API: %v", err)
	}
}

// TestRightsAreDocumented: docs/guardrails.md grants list on every kind that is read,
// in its group.
func TestRightsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guardrails.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		group, _, ok := strings.Cut(k.api, "/")
		if !ok {
			group = `""`
		}
		right := regexp.MustCompile(`\{apiGroups: \[` + regexp.QuoteMeta(group) + `\], resources: \[[a-z, ]*\b` + k.plural + `\b[a-z, ]*\], verbs: \[list\]\}`)
		if !right.Match(text) {
			t.Errorf("docs/guardrails.md does not grant list on %s of group %s", k.plural, group)
		}
	}
}
