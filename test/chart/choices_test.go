// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func agentOf(t *testing.T, values string) corev1.PodTemplateSpec {
	t.Helper()
	for _, o := range objects(t, render(t, inline(t, values), newest)) {
		if d, ok := decoded(t, o).(*appsv1.DaemonSet); ok {
			return d.Spec.Template
		}
	}
	t.Fatal("no DaemonSet")
	return corev1.PodTemplateSpec{}
}

func serverOf(t *testing.T, values string) corev1.PodTemplateSpec {
	t.Helper()
	for _, o := range objects(t, render(t, inline(t, values), newest)) {
		if s, ok := decoded(t, o).(*appsv1.StatefulSet); ok {
			return s.Spec.Template
		}
	}
	t.Fatal("no StatefulSet")
	return corev1.PodTemplateSpec{}
}

// TestAccessToGPUs: each mode gives the pod what it promises, and nothing of another.
func TestAccessToGPUs(t *testing.T) {
	type given struct {
		runtimeClass, visible, annotation string
		privileged                        bool
		claims, driver                    int
	}
	of := func(p corev1.PodTemplateSpec) (g given) {
		if p.Spec.RuntimeClassName != nil {
			g.runtimeClass = *p.Spec.RuntimeClassName
		}
		c := p.Spec.Containers[0]
		for _, e := range c.Env {
			if e.Name == "NVIDIA_VISIBLE_DEVICES" {
				g.visible = e.Value
			}
		}
		g.annotation = p.Annotations["nvidia.cdi.k8s.io/container.agent"]
		g.privileged = *c.SecurityContext.Privileged
		g.claims = min(len(p.Spec.ResourceClaims), len(c.Resources.Claims))
		for _, v := range p.Spec.Volumes {
			if v.Name == "driver" {
				g.driver++
			}
		}
		return g
	}
	for values, want := range map[string]given{
		"{}": {runtimeClass: "nvidia", visible: "all"},
		"agent: {gpuAccess: {runtimeClassName: ''}}":                          {visible: "all"},
		"agent: {gpuAccess: {mode: nri, cdiDevices: [a.b/c=d, a.b/c=e]}}":     {visible: "void", annotation: "a.b/c=d,a.b/c=e"},
		"agent: {gpuAccess: {visibleDevices: management.nvidia.com/gpu=all}}": {runtimeClass: "nvidia", visible: "management.nvidia.com/gpu=all"},
		"agent: {gpuAccess: {mode: dra}}":                                     {visible: "void", claims: 1},
		"agent: {gpuAccess: {mode: privileged}}":                              {visible: "void", privileged: true, driver: 1},
	} {
		if got := of(agentOf(t, values)); got != want {
			t.Errorf("%s gives %+v, want %+v", values, got, want)
		}
	}
}

// TestTakenAway: what may be left out by null or an empty value is left out.
func TestTakenAway(t *testing.T) {
	if p := agentOf(t, "agent: {affinity: null, appArmorProfile: null, tolerations: [], priorityClassName: ''}"); p.Spec.Affinity != nil ||
		p.Spec.Containers[0].SecurityContext.AppArmorProfile != nil || len(p.Spec.Tolerations) != 0 || p.Spec.PriorityClassName != "" {
		t.Errorf("something was left: %+v", p.Spec)
	}
	p := agentOf(t, "agent: {spool: {hostPath: ''}}")
	if i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "spool" }); p.Spec.Volumes[i].EmptyDir == nil {
		t.Errorf("the spool is %+v", p.Spec.Volumes[i])
	}
	r := render(t, inline(t, "{networkPolicy: {enabled: false}, server: {podDisruptionBudget: {enabled: false}}, rbac: {create: false, people: false}}"), newest)
	for _, o := range objects(t, r) {
		if slices.Contains([]string{"NetworkPolicy", "PodDisruptionBudget", "ClusterRole", "ClusterRoleBinding"}, o.Kind) {
			t.Errorf("there is a %s %s", o.Kind, o.Name)
		}
	}
}

// TestMemoryOfTheServer: the container has 512 MiB more than the database.
func TestMemoryOfTheServer(t *testing.T) {
	limits := serverOf(t, "server: {memory: 6000}").Spec.Containers[0].Resources.Limits
	if got := limits.Memory().Value(); got != 6512<<20 {
		t.Errorf("the limit is %d MiB", got>>20)
	}
	if !limits.Cpu().IsZero() {
		t.Errorf("the limit of CPU is %v", limits.Cpu())
	}
}

// TestRestarts: changed settings start the server again; changed prices do not, for
// it reads them by itself. A new version of the chart alone starts no agent again.
func TestRestarts(t *testing.T) {
	with := func(values string) string { return serverOf(t, values).Annotations["gputally.io/config"] }
	book := "server: {priceBooks: [{name: a, content: 'currency: %'}]}"
	if with("{}") == with("server: {config: {late: 3h}}") {
		t.Error("a changed setting does not start the server again")
	}
	if with(strings.Replace(book, "%", "EUR", 1)) != with(strings.Replace(book, "%", "USD", 1)) {
		t.Error("a changed price starts the server again")
	}
	c := load(t)
	before, err := Render(c, nil, Release{Name: "gputally", Namespace: "gputally", KubeVersion: newest})
	if err != nil {
		t.Fatal(err)
	}
	c.Metadata.Version = "9.9.9"
	after, err := Render(c, nil, Release{Name: "gputally", Namespace: "gputally", KubeVersion: newest})
	if err != nil {
		t.Fatal(err)
	}
	template := func(r Rendered) string {
		_, text, _ := strings.Cut(r["agent-daemonset.yaml"], "\n  template:")
		return text
	}
	if template(before) == "" || template(before) != template(after) {
		t.Error("a new version of the chart starts every agent again")
	}
}

// TestOtherNames: releases of other names and namespaces find their own parts.
func TestOtherNames(t *testing.T) {
	for _, release := range []Release{{"bill", "finance", newest}, {"gputally-eu", "gpu", newest}, {strings.Repeat("long", 13), "n", newest}, {"123", "456", newest}} {
		r, err := Render(load(t), inline(t, "monitoring: {rules: true, podMonitor: true}"), release)
		if err != nil {
			t.Fatal(err)
		}
		services, args := "", ""
		for _, o := range objects(t, r) {
			if len(o.Name) > 63 {
				t.Errorf("%s: %s has %d letters", release.Name, o.Name, len(o.Name))
			}
			switch v := decoded(t, o).(type) {
			case *corev1.Service:
				services = v.Name + "." + v.Namespace + ".svc"
			case *appsv1.DaemonSet:
				args = strings.Join(v.Spec.Template.Spec.Containers[0].Args, "\n")
			}
		}
		if !strings.Contains(args, "--server=https://"+services+":9403\n") || services == "" {
			t.Errorf("%s: the Service is %s, the agents ship to\n%s", release.Name, services, args)
		}
		if !strings.Contains(args, "--daemons="+release.Namespace+"/app.kubernetes.io/name=gputally,") {
			t.Errorf("%s: the agent does not know itself:\n%s", release.Name, args)
		}
		if strings.Contains(r["prometheusrule.yaml"], `"gputally/gputally`) {
			t.Errorf("%s: an alert asks for another release", release.Name)
		}
	}
}
