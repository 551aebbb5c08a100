// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const staticHash = "0123456789abcdef0123456789abcdef"

func indexedPods() []Pod {
	early, late := time.Unix(100, 0), time.Unix(200, 0)
	id := func(c string) string { return strings.Repeat(c, 64) }
	return []Pod{
		{Namespace: "kube-system", Name: "burn-node1", UID: "mirror", Annotations: map[string]string{AnnotationConfigHash: staticHash, AnnotationConfigMirror: staticHash}},
		// Anyone can write this annotation; the other one makes a mirror.
		{Namespace: "t", Name: "forger", UID: "forger", Phase: PhaseRunning, Annotations: map[string]string{AnnotationConfigHash: staticHash}, Containers: []Container{{Name: "c", StartedAt: &late}}},
		{Namespace: "t", Name: "train", UID: "gone", Gone: true, Containers: []Container{{Name: "c", ID: id("1"), StartedAt: &late}}},
		{Namespace: "t", Name: "train", UID: "ended", Phase: PhaseFailed, Containers: []Container{{Name: "c", ID: id("2"), StartedAt: &late}}},
		{Namespace: "t", Name: "train", UID: "live", Phase: PhaseRunning, Containers: []Container{
			{Name: "c", ID: id("3"), StartedAt: &early}, {Name: "setup", Kind: ContainerInit, ID: id("4")},
			{Name: "debug", Kind: ContainerEphemeral, ID: "containerd://" + id("5")}, {Name: "not started"}}},
		{Namespace: "u", Name: "job", UID: "first", Phase: PhaseSucceeded, Containers: []Container{{Name: "c", StartedAt: &early}}},
		{Namespace: "u", Name: "job", UID: "second", Phase: PhaseSucceeded, Containers: []Container{{Name: "c", StartedAt: &late}}},
	}
}

func TestPodIndex(t *testing.T) {
	pods := indexedPods()
	for range 2 {
		x := NewPodIndex(pods)
		for uid, want := range map[string]string{"mirror": "mirror", staticHash: "mirror", "gone": "gone", "live": "live", "": "", "nobody": ""} {
			if p, ok := x.ByUID(uid); ok != (want != "") || p.UID != want {
				t.Errorf("ByUID(%q) = %q, %v", uid, p.UID, ok)
			}
		}
		for id, want := range map[string]string{"1": "gone c", "2": "ended c", "3": "live c", "4": "live setup", "5": "live debug", "6": " "} {
			p, c, ok := x.ByContainer(strings.Repeat(id, 64))
			if ok != (want != " ") || p.UID+" "+c.Name != want {
				t.Errorf("ByContainer(%s…) = %q %q, %v", id, p.UID, c.Name, ok)
			}
		}
		if _, _, ok := x.ByContainer(""); ok {
			t.Error("the empty container id names a container")
		}
		if p, ok := x.ByName("t", "train"); !ok || p.UID != "live" {
			t.Errorf("ByName(t, train) = %q", p.UID)
		}
		if p, ok := x.ByName("u", "job"); !ok || p.UID != "second" {
			t.Errorf("ByName(u, job) = %q", p.UID)
		}
		if p, ok := x.ByName("t", "job"); ok {
			t.Errorf("ByName(t, job) = %q", p.UID)
		}
		var all []string
		for _, p := range x.AllByName("t", "train") {
			all = append(all, p.UID)
		}
		if !slices.Equal(all, []string{"live", "ended", "gone"}) {
			t.Errorf("AllByName(t, train) = %v", all)
		}
		slices.Reverse(pods) // the order of pods must not matter
	}
	if _, ok := (PodIndex{}).ByUID("x"); ok {
		t.Error("an index of nothing has found something")
	}
}

func TestPodEnded(t *testing.T) {
	at := time.Unix(100, 0)
	done, running, waiting := Container{FinishedAt: &at}, Container{Running: true}, Container{}
	crashed := Container{FinishedAt: &at, Running: true} // a last termination, and running again
	init := Container{Kind: ContainerInit, FinishedAt: &at}
	sidecar := Container{Kind: ContainerSidecar, Running: true}
	for _, c := range []struct {
		name       string
		pod        Pod
		containers []Container
		want       bool
	}{
		{"running", Pod{Phase: PhaseRunning}, []Container{running}, false},
		{"succeeded", Pod{Phase: PhaseSucceeded}, nil, true},
		{"failed", Pod{Phase: PhaseFailed}, []Container{running}, true},
		{"gone", Pod{Phase: PhaseRunning, Gone: true}, []Container{running}, true},
		{"all finished, never again", Pod{RestartPolicy: RestartNever}, []Container{init, done, done}, true},
		{"all finished, on failure", Pod{RestartPolicy: RestartOnFailure}, []Container{done}, false},
		{"all finished, always", Pod{RestartPolicy: RestartAlways}, []Container{done}, false},
		{"all finished, policy not known", Pod{}, []Container{done}, false},
		{"one still runs", Pod{RestartPolicy: RestartNever}, []Container{done, running}, false},
		{"one has not started", Pod{RestartPolicy: RestartNever}, []Container{done, waiting}, false},
		{"running after a crash", Pod{RestartPolicy: RestartNever}, []Container{crashed}, false},
		{"a sidecar still runs", Pod{RestartPolicy: RestartNever}, []Container{sidecar, done}, false},
		{"only init containers known", Pod{RestartPolicy: RestartNever}, []Container{init}, false},
		{"no containers known", Pod{RestartPolicy: RestartNever}, nil, false},
	} {
		c.pod.Containers = c.containers
		if got := c.pod.Ended(); got != c.want {
			t.Errorf("%s: Ended() = %v", c.name, got)
		}
	}
}
