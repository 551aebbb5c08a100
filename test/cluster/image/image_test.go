// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/cluster/image"
)

func TestImageHoldsTheProgramAndItsSettings(t *testing.T) {
	img := image.Image{Reference: "docker.io/x/y:1", Entry: "/opt/run", Program: []byte("program"), Env: []string{"A=b"}}
	var out bytes.Buffer
	if err := img.Write(&out); err != nil {
		t.Fatal(err)
	}
	parts := untar(t, &out)

	type descriptor struct {
		Digest      string
		Annotations map[string]string
	}
	blob := func(d descriptor) []byte { return parts["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")] }
	var index struct{ Manifests []descriptor }
	decode(t, parts["index.json"], &index)
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations["io.containerd.image.name"] != "docker.io/x/y:1" {
		t.Fatalf("index = %s, want one image of that name", parts["index.json"])
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blob(index.Manifests[0]), &manifest)
	if len(manifest.Layers) != 1 {
		t.Fatalf("manifest = %s, want one layer", blob(index.Manifests[0]))
	}
	z, err := gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	if got := untar(t, z)["opt/run"]; string(got) != "program" {
		t.Errorf("the layer's file opt/run = %q, want the program", got)
	}
	var config struct {
		Config struct{ Entrypoint, Env []string }
	}
	decode(t, blob(manifest.Config), &config)
	if diff := cmp.Diff([]string{"PATH=/", "A=b"}, config.Config.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/opt/run"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entry point (-want +got):\n%s", diff)
	}
}

func TestRelativeEntryIsRefused(t *testing.T) {
	if err := (image.Image{Reference: "docker.io/a:1", Entry: "run"}).Write(io.Discard); err == nil {
		t.Error("a relative entry path was accepted")
	}
}

func untar(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	parts := map[string][]byte{}
	for r := tar.NewReader(from); ; {
		h, err := r.Next()
		if err == io.EOF {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		if parts[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func decode(t *testing.T, b []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("decode %q: %v", b, err)
	}
}
