// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/cluster/image"
)

func TestArchiveNamesItsPartsByTheirDigest(t *testing.T) {
	img := image.Image{Reference: "docker.io/x/y:1", Entry: "/run", Program: []byte("program"), Env: []string{"A=b"}}
	var out bytes.Buffer
	if err := img.Write(&out); err != nil {
		t.Fatal(err)
	}
	parts := untar(t, out.Bytes())

	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	decode(t, parts["manifest.json"], &manifest)
	if len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("manifest = %s, want one image of one layer", parts["manifest.json"])
	}
	if diff := cmp.Diff([]string{"docker.io/x/y:1"}, manifest[0].RepoTags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	layer := parts[manifest[0].Layers[0]]
	if got := untar(t, layer)["run"]; string(got) != "program" {
		t.Errorf("the layer's file run = %q, want the program", got)
	}

	var config struct {
		Config struct{ Entrypoint, Env []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(t, parts[manifest[0].Config], &config)
	if diff := cmp.Diff([]string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}, config.RootFS.DiffIDs); diff != "" {
		t.Errorf("layer digests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"PATH=/", "A=b"}, config.Config.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/run"}, config.Config.Entrypoint); diff != "" {
		t.Errorf("entry point (-want +got):\n%s", diff)
	}
}

func TestRelativeEntryIsRefused(t *testing.T) {
	if err := (image.Image{Reference: "a:1", Entry: "run"}).Write(io.Discard); err == nil {
		t.Error("a relative entry path was accepted")
	}
}

func untar(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	parts := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return parts
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		parts[h.Name] = data
	}
}

func decode(t *testing.T, b []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("decode %q: %v", b, err)
	}
}
