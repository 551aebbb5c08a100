// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// agentFails are the checks of Pod Security's restricted level that the agent fails,
// by where its GPUs come from. docs/install.md says why for each. A check that is
// added here is power that was taken; one that is removed, power given back.
var agentFails = map[string][]string{
	"default": {
		"appArmorProfile",         // to see privileged pods, which are unconfined
		"capabilities_baseline",   // SYS_PTRACE, DAC_READ_SEARCH
		"capabilities_restricted", // the same
		"hostNamespaces",          // hostPID
		"hostPathVolumes",         // cgroups, the kubelet's socket, the spool
		"restrictedVolumes",       // the same
		"runAsNonRoot",            // capabilities are root's
		"runAsUser",               // the same
	},
	"privileged": {
		"allowPrivilegeEscalation", "capabilities_restricted", "hostNamespaces", "hostPathVolumes", "privileged", "restrictedVolumes", "runAsNonRoot", "runAsUser",
	},
}

// TestServerIsRestricted: the server's pod passes the strictest level there is.
func TestServerIsRestricted(t *testing.T) {
	for _, v := range variants(t) {
		for _, o := range objects(t, render(t, v.values, newest)) {
			if s, ok := decoded(t, o).(*appsv1.StatefulSet); ok {
				if failed := failures(t, &s.Spec.Template); len(failed) > 0 {
					t.Errorf("%s: the server fails %v", v.name, failed)
				}
			}
		}
	}
}

// TestWhatTheAgentNeeds: the agent's pod fails exactly the checks that are known.
func TestWhatTheAgentNeeds(t *testing.T) {
	for _, v := range variants(t) {
		want := agentFails["default"]
		if v.name == "privileged" {
			want = agentFails["privileged"]
		}
		if v.name == "runtime-class" {
			want = append(slices.Clone(want), "seLinuxOptions") // spc_t, which is asked for there
		}
		slices.Sort(want)
		for _, o := range objects(t, render(t, v.values, newest)) {
			if d, ok := decoded(t, o).(*appsv1.DaemonSet); ok {
				if got := failures(t, &d.Spec.Template); !slices.Equal(got, want) {
					t.Errorf("%s: the agent fails\n%v, known are\n%v", v.name, got, want)
				}
			}
		}
	}
}

// TestMountsOfTheAgent: everything of the node is mounted read-only, but the spool.
func TestMountsOfTheAgent(t *testing.T) {
	for _, v := range variants(t) {
		for _, o := range objects(t, render(t, v.values, newest)) {
			d, ok := decoded(t, o).(*appsv1.DaemonSet)
			if !ok {
				continue
			}
			spec := d.Spec.Template.Spec
			var fromHost []string
			for _, vol := range spec.Volumes {
				if vol.HostPath != nil {
					fromHost = append(fromHost, vol.Name)
				}
			}
			for _, m := range spec.Containers[0].VolumeMounts {
				if slices.Contains(fromHost, m.Name) && !m.ReadOnly && m.Name != "spool" {
					t.Errorf("%s: %s can be written to", v.name, m.Name)
				}
			}
			allowed := []string{"cgroup", "pod-resources", "spool"}
			if v.name == "privileged" {
				allowed = []string{"cgroup", "driver", "pod-resources"}
			}
			slices.Sort(fromHost)
			if !slices.Equal(fromHost, allowed) {
				t.Errorf("%s: mounts %v of the node, known are %v", v.name, fromHost, allowed)
			}
		}
	}
}

func decoded(t *testing.T, o Object) any {
	t.Helper()
	v, err := decode(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// failures are the checks of the level restricted that a pod fails.
func failures(t *testing.T, template *corev1.PodTemplateSpec) []string {
	t.Helper()
	var failed []string
	for _, c := range policy.DefaultChecks() {
		e, err := policy.NewEvaluator([]policy.Check{c}, nil)
		if err != nil {
			t.Fatal(err)
		}
		results := e.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &template.ObjectMeta, &template.Spec)
		if !policy.AggregateCheckResults(results).Allowed {
			failed = append(failed, strings.TrimPrefix(string(c.ID), "check"))
		}
	}
	slices.Sort(failed)
	return failed
}
