// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// of makes the workload a pod of another one.
func of(owner Object, name string) func(*Workload) {
	return func(w *Workload) { w.Of, w.Name = &owner, name }
}

// TestPodsOfOneWorkload: fifty pods of a Deployment are one finding, at the
// Deployment; what only its pods have is told once, with how many have it.
func TestPodsOfOneWorkload(t *testing.T) {
	web := Object{Kind: "Deployment", Namespace: "lab", Name: "web"}
	template := pod(env(visibleDevices, "all"))
	template.Object = web
	in := Input{Workloads: []Workload{template}}
	for _, name := range []string{"web-1", "web-2", "web-3", "web-4"} {
		in.Workloads = append(in.Workloads, pod(env(visibleDevices, "all"), privilegedBy(name == "web-2" || name == "web-4"), of(web, name)))
	}
	r := Scan(in, Policy{})
	type told struct {
		Rule  ID
		Sev   string
		Pods  *Pods
		Field string
	}
	var got []told
	for _, f := range r.Findings {
		if f.Object != web {
			t.Errorf("a finding names %s", f.Object)
		}
		got = append(got, told{f.Rule, f.Severity.String(), f.Pods, f.Field})
	}
	want := []told{
		{ByVariable, "critical", &Pods{2, []string{"web-2", "web-4"}}, "field"},
		{ByVariable, "high", &Pods{2, []string{"web-1", "web-3"}}, "field"},
		{Privileged, "high", &Pods{2, []string{"web-2", "web-4"}}, "field"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Workloads != 1 || r.Pods != 4 || r.Containers != 5 {
		t.Errorf("looked at %d workloads, %d pods, %d containers", r.Workloads, r.Pods, r.Containers)
	}
}

func privilegedBy(is bool) func(*Workload) {
	if is {
		return privileged()
	}
	return func(*Workload) {}
}

// TestExemptionCoversPods: the exemption of a DaemonSet is that of its pods,
// which do not bear it; and its pods are as severe as it is.
func TestExemptionCoversPods(t *testing.T) {
	ds := Object{Kind: "DaemonSet", Namespace: "mon", Name: "agent"}
	template := pod(privileged())
	template.Object = ds
	template.Notes = []Note{{ExemptNote, text("platform: reads the node")}}
	other := Object{Kind: "DaemonSet", Namespace: "mon", Name: "other"}
	r := Scan(Input{Workloads: []Workload{
		template, pod(privileged(), of(ds, "agent-x")), pod(privileged(), of(ds, "agent-y")), pod(privileged(), of(other, "other-z")),
	}}, Policy{})
	if len(r.Exempted) != 1 || r.Exempted[0].Pods.Count != 2 || r.Exempted[0].Exemption.Owner != "platform" {
		t.Errorf("exempted %+v", r.Exempted)
	}
	if len(r.Findings) != 1 || r.Findings[0].Severity != Low || r.Findings[0].Object != other {
		t.Errorf("found %+v", r.Findings)
	}
}

// TestLookups: a ConfigMap is looked up where a variable of the rules may come from it, and
// where the device plugin is configured by it.
func TestLookups(t *testing.T) {
	plugin := pod(imageOf("nvcr.io/nvidia/k8s-device-plugin:v0.20.0"), kind("DaemonSet"))
	plugin.Pod.Volumes = []Volume{{Name: "config", ConfigMap: "plugin-config"}}
	other := pod(kind("DaemonSet"))
	other.Pod.Volumes = plugin.Pod.Volumes
	in := Input{Workloads: []Workload{
		plugin, other,
		pod(from(visibleDevices, FromConfigMap, "gpus", "k"), from("COLOUR", FromConfigMap, "colours", "k"), from("NVIDIA_GDS", FromSecret, "s", "k")),
		pod(source(FromConfigMap, "all", ""), source(FromSecret, "secret", "")),
		pod(from("WHICH", FromConfigMap, "which", "k"), env(visibleDevices, "$(WHICH)")),
		pod(source(FromConfigMap, "all", "")),
	}}
	want := []ConfigMapName{{"lab", "all"}, {"lab", "gpus"}, {"lab", "plugin-config"}, {"lab", "which"}}
	if diff := cmp.Diff(want, in.Lookups()); diff != "" {
		t.Error(diff)
	}
}
