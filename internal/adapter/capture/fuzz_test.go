// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gputally/gputally/internal/core/workload"
)

// FuzzRead: whatever the text, Read returns a file that can be played, or an
// *Error that names the file.
func FuzzRead(f *testing.F) {
	stories, err := filepath.Glob("../../../test/scenario/testdata/[CX]0*.yaml")
	if err != nil || len(stories) == 0 {
		f.Fatalf("no stories to begin with: %v", err)
	}
	for _, file := range stories {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(head + "- {at: 0, gpus: {GPU-1: {used_mib: 5}}}\n"))
	f.Add([]byte(`{"capture":1,"window":{"start":"2026-11-03T10:00:00Z"},"samples":"entries","nodes":[{"name":"n"}]}` + "\n" + `{"at":0,"gpus":{"GPU-1":{"index":0,"used_bytes":5,"total_bytes":9}}}` + "\n"))
	for _, odd := range []string{"", "{", "[", "- ? - ? :", "capture: &a [*a]", "capture: !!binary x", "\x00", "a:\n\tb", "<<: {a: 1}", "'", "? ", "--- --- ...", "{a: {b: [", "%YAML 1.2\n---\ncapture: 1"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(bytes.NewReader(text), "fuzz.yaml")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != "fuzz.yaml" || e.Msg == "" {
				t.Fatalf("error does not name its place: %T %v", err, err)
			}
			return
		}
		for _, n := range got.Nodes {
			count := 0
			for s := range got.Samples(n.Name) {
				if s.Node != n.Name {
					t.Fatalf("a sample of %q in those of %q", s.Node, n.Name)
				}
				if count++; count > 1000 {
					break
				}
			}
		}
	})
}

// FuzzRedactCgroup: a redacted cgroup text names the same sort of owner, with
// the pseudonyms of its identifiers.
func FuzzRedactCgroup(f *testing.F) {
	for _, text := range []string{
		"0::/", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_5555555555aa.slice/cri-containerd-" + idA + ".scope",
		"11:rdma:/\n12:cpuset:/kubepods/pod" + podA + "/" + idA, "0::/kubepods/besteffort/pod" + hashA + "/" + idA + " (deleted)",
		"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod11111111_2222_3333_4444_5555555555aa.slice:cri-containerd:" + idA,
		"0::/user.slice/user-1042.slice/session-2.scope", "0::/system.slice/docker-" + idA + ".scope", "0::/machine.slice/libpod-conmon-" + idA + ".scope", "0::/docker/" + idA,
		"0::/acme.slice/x.service", "0::/../../kubepods/pod" + podA, "12:cpu:/slurm/uid_1000/job_7/step_0",
		// Found by this test: an engine nobody knows, half a word, digits that run into each other.
		"0::/system.slice/docWer-" + idA + ".scope", "0::/kubepods/kupods-burstable-pod11111111_2222_3333_4444_5555555555aa.slice/" + idA,
		"0::/kubepods/besteffort/pod0123456789abcdef0123456789abcdebbbbbbbaabcccccaaaaaaaaabbbbbbbf", "0::/kubepods/Bdddddddpod" + hashA + "/" + idA,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if regexp.MustCompile(`[^\n !-~]`).MatchString(text) {
			t.Skip("units are named in printable ASCII")
		}
		r := NewRedactor()
		before := workload.ParseCgroup(text)
		after := workload.ParseCgroup(r.cgroup(text))
		if before.Kind != after.Kind || before.Monitor != after.Monitor ||
			r.identifiers(before.PodUID) != after.PodUID || r.identifiers(before.ContainerID) != after.ContainerID {
			t.Errorf("%q is read as %+v, redacted to %q as %+v", text, before, r.cgroup(text), after)
		}
	})
}
