// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func imageOf(name string) func(*Workload) { return first(func(c *Container) { c.Image = text(name) }) }

// TestFullName: a reference is compared in its long form.
func TestFullName(t *testing.T) {
	for in, want := range map[string][2]string{
		"ollama/ollama":               {"docker.io/ollama/ollama:latest", ""},
		"cuda":                        {"docker.io/library/cuda:latest", ""},
		"nvcr.io/nvidia/pytorch:24":   {"nvcr.io/nvidia/pytorch:24", ""},
		"localhost/x":                 {"localhost/x:latest", ""},
		"reg:5000/x":                  {"reg:5000/x:latest", ""},
		"reg:5000/x:1@sha256:ab":      {"reg:5000/x:1", "sha256:ab"},
		"nvcr.io/nvidia/x@sha256:ab1": {"nvcr.io/nvidia/x", "sha256:ab1"},
	} {
		name, digest := FullName(in)
		if got := [2]string{name, digest}; got != want {
			t.Errorf("%s is %v, want %v", in, got, want)
		}
	}
}

// TestImageEnvironment: what the image says counts where the spec says nothing, not
// for a container that was granted a GPU; an image that is known to say nothing
// makes NVIDIA's runtime harmless.
func TestImageEnvironment(t *testing.T) {
	images := []Image{
		{Names: []string{"docker.io/library/cuda:12"}, Digests: []string{"sha256:c"}, Env: map[string]string{visibleDevices: "all", cudaVersion: "12"}, File: "cuda.tar"},
		{Names: []string{"docker.io/library/old:1"}, Env: map[string]string{cudaVersion: "8"}, File: "old.tar"},
		{Names: []string{"docker.io/library/plain:1"}, Env: map[string]string{"PATH": "/bin"}, File: "plain.tar"},
		{Names: []string{"docker.io/library/both:1"}, Env: map[string]string{}, File: "both.tar"},
		{Names: []string{"docker.io/library/both:1"}, Env: map[string]string{visibleDevices: "all"}, File: "both.tar"},
		{Names: []string{"docker.io/library/unused:1"}, Env: map[string]string{}, File: "unused.tar"},
	}
	for name, c := range map[string]struct {
		pod  Workload
		want []string
	}{
		"asks for none":      {pod(imageOf("cuda:12")), []string{"GT-G016 high"}},
		"by digest":          {pod(imageOf("mirror/x:9@sha256:c")), []string{"GT-G016 high"}},
		"another digest":     {pod(imageOf("cuda:12@sha256:d")), nil},
		"another tag":        {pod(imageOf("cuda:13")), nil},
		"privileged":         {pod(imageOf("cuda:12"), privileged()), []string{"GT-G016 critical", "GT-G005 high"}},
		"asks":               {pod(imageOf("cuda:12"), wants("nvidia.com/gpu", "1")), nil},
		"the spec refuses":   {pod(imageOf("cuda:12"), env(visibleDevices, "void")), nil},
		"envFrom may refuse": {pod(imageOf("cuda:12"), source(FromSecret, "s", "")), []string{"GT-G003 low"}},
		"no reference":       {pod(imageOf("cuda:12"), env("X", "$("+visibleDevices+")"), env(visibleDevices, "$(X)")), []string{"GT-G001 high"}},
		"old":                {pod(imageOf("old:1")), []string{"GT-G013 high"}},
		"old, runtime class": {pod(imageOf("old:1"), runtime("nvidia")), []string{"GT-G004 high", "GT-G013 high"}},
		"plain":              {pod(imageOf("plain:1"), runtime("nvidia")), nil},
		"not known":          {pod(imageOf("other:1"), runtime("nvidia")), []string{"GT-G004 high"}},
		"one of two":         {pod(imageOf("both:1")), []string{"GT-G016 high"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			r := Scan(Input{Workloads: []Workload{c.pod}, Images: images}, Policy{})
			for _, f := range r.Findings {
				got = append(got, fmt.Sprint(f.Rule, " ", f.Severity))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	r := Scan(Input{Workloads: []Workload{pod(imageOf("cuda:12"))}, Images: images[:2]}, Policy{})
	if diff := cmp.Diff([]string{"old.tar"}, r.UnseenImages); diff != "" {
		t.Error(diff)
	}
}
