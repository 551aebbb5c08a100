// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// TestRoleOfThePlugin: the Role for kubectl gputally is the one that docs/kubectl.md
// asks for.
func TestRoleOfThePlugin(t *testing.T) {
	_, text, _ := strings.Cut(read(t, repo+"/docs/kubectl.md"), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	var want rbacv1.Role
	if err := yaml.UnmarshalStrict([]byte(text), &want); err != nil || want.Kind != "Role" {
		t.Fatalf("docs/kubectl.md has the Role %v: %v", want, err)
	}
	for _, o := range objects(t, render(t, nil, newest)) {
		if r, ok := decoded(t, o).(*rbacv1.Role); ok {
			if r.Name != want.Name || fmt.Sprint(r.Rules) != fmt.Sprint(want.Rules) {
				t.Errorf("docs/kubectl.md says %v, the chart has %v", want, r)
			}
			return
		}
	}
	t.Error("the chart has no Role")
}

// TestWhatThePluginLooksFor: kubectl gputally finds pods by their labels, and ports
// by their names (internal/adapter/kubeforward).
func TestWhatThePluginLooksFor(t *testing.T) {
	for component, c := range map[string]struct {
		pod  corev1.PodTemplateSpec
		port string
	}{"server": {serverOf(t, "{}"), "api"}, "agent": {agentOf(t, "{}"), "metrics"}} {
		if l := c.pod.Labels; l["app.kubernetes.io/part-of"] != "gputally" || l["app.kubernetes.io/component"] != component {
			t.Errorf("%s has the labels %v", component, l)
		}
		if p := c.pod.Spec.Containers[0].Ports; len(p) != 1 || p[0].Name != c.port {
			t.Errorf("%s has the ports %v", component, p)
		}
	}
}
