// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// roles are the ClusterRoles of the chart, by name.
func roles(t *testing.T) map[string][]rbacv1.PolicyRule {
	t.Helper()
	out := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects(t, render(t, nil, newest)) {
		if r, ok := decoded(t, o).(*rbacv1.ClusterRole); ok {
			out[r.Name] = r.Rules
		}
	}
	return out
}

// TestRightsAreListed: docs/install.md has a row for each verb on each resource that
// a role allows, and no other.
func TestRightsAreListed(t *testing.T) {
	var want []string
	for _, rules := range []struct{ who, role string }{{"agent", "gputally-agent"}, {"server", "gputally-server"}} {
		for _, r := range roles(t)[rules.role] {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					want = append(want, rules.who+" "+verb+" "+resource)
				}
			}
		}
	}
	var got []string
	row := regexp.MustCompile(`(?m)^\| (agent|server) \| ([a-z, ]+) \| ([a-z, ]+) \|`)
	for _, m := range row.FindAllStringSubmatch(read(t, repo+"/docs/install.md"), -1) {
		for _, resource := range strings.Split(m[3], ", ") {
			for _, verb := range strings.Split(m[2], ", ") {
				got = append(got, m[1]+" "+verb+" "+resource)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) == 0 || !slices.Equal(want, got) {
		t.Errorf("docs/install.md lists\n%v, the chart allows\n%v", got, want)
	}
}

// TestRightsOfTheAgentAreThoseOfItsCode: the package that speaks to the API server
// lists what it asks for; the chart allows that, and no more.
func TestRightsOfTheAgentAreThoseOfItsCode(t *testing.T) {
	code := read(t, repo+"/internal/adapter/kubeapi/doc.go")
	for _, r := range roles(t)["gputally-agent"] {
		for _, resource := range r.Resources {
			if !regexp.MustCompile(`\b` + resource + `\b`).MatchString(code) {
				t.Errorf("the chart allows %v on %s, of which internal/adapter/kubeapi says nothing", r.Verbs, resource)
			}
		}
	}
}

// TestNobodyMayChangeTheCluster: no role has a verb that changes an object, but the
// reviews that the server asks for.
func TestNobodyMayChangeTheCluster(t *testing.T) {
	for name, rules := range roles(t) {
		for _, r := range rules {
			for _, verb := range r.Verbs {
				reads := slices.Contains([]string{"get", "list", "watch"}, verb)
				asks := verb == "create" && name == "gputally-server"
				if len(r.NonResourceURLs) == 0 && !reads && !asks || slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "secrets") {
					t.Errorf("%s may %s %v", name, verb, r.Resources)
				}
			}
		}
	}
}

// TestEvents: the agent may create Events only where it is to, and nothing besides.
func TestEvents(t *testing.T) {
	without := roles(t)["gputally-agent"]
	for _, o := range objects(t, render(t, inline(t, "agent: {events: true}"), newest)) {
		r, ok := decoded(t, o).(*rbacv1.ClusterRole)
		if !ok || r.Name != "gputally-agent" {
			continue
		}
		want := append(slices.Clone(without), rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}})
		if fmt.Sprint(r.Rules) != fmt.Sprint(want) {
			t.Errorf("the rules are %v", r.Rules)
		}
	}
	if args := agentOf(t, "agent: {events: true}").Spec.Containers[0].Args; !slices.Contains(args, "--events=true") {
		t.Errorf("the arguments are %q", args)
	}
	if args := agentOf(t, "{}").Spec.Containers[0].Args; slices.Contains(args, "--events=true") {
		t.Errorf("the arguments are %q", args)
	}
}

// TestRolesOfPeople: the ClusterRoles for people are those that docs/security.md
// explains.
func TestRolesOfPeople(t *testing.T) {
	_, text, _ := strings.Cut(read(t, repo+"/docs/security.md"), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	want := map[string][]rbacv1.PolicyRule{}
	for _, doc := range strings.Split(text, "---\n") {
		var r rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(doc), &r); err != nil {
			t.Fatal(err)
		}
		want[r.Name] = r.Rules
	}
	if len(want) != 3 {
		t.Fatalf("docs/security.md has the roles %v", want)
	}
	for name, rules := range want {
		if got := roles(t)[name]; fmt.Sprint(got) != fmt.Sprint(rules) {
			t.Errorf("%s: docs/security.md says %v, the chart has %v", name, rules, got)
		}
	}
}
