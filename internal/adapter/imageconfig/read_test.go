// SPDX-License-Identifier: Apache-2.0

package imageconfig

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/guard"
)

const (
	cudaConfig = `{"architecture":"amd64","config":{"Env":["PATH=/bin","NVIDIA_VISIBLE_DEVICES=all","A=b=c"]}}`
	armConfig  = `{"architecture":"arm64","config":{"Env":["NVIDIA_VISIBLE_DEVICES=void"]}}`
	manifest1  = `{"schemaVersion":2,"config":{"digest":"sha256:c1"},"layers":[{"digest":"sha256:layer"}]}`
	manifest2  = `{"schemaVersion":2,"config":{"digest":"sha256:c2"},"layers":[]}`
)

// The files of the archives that tools write.
var (
	dockerSave = map[string]string{
		"manifest.json": `[{"Config":"c1.json","RepoTags":["ollama/ollama:0.5"],"Layers":["layer/layer.tar"]}]`,
		"c1.json":       cudaConfig, "layer/layer.tar": "{not read}" + strings.Repeat("\x00", 5<<20), "repositories": "{}",
	}
	// containerd's export has both forms.
	ctrExport = map[string]string{
		"manifest.json":    `[{"Config":"blobs/sha256/c1","RepoTags":["ollama/ollama:0.5"]}]`,
		"index.json":       `{"manifests":[{"digest":"sha256:m1","annotations":{"io.containerd.image.name":"docker.io/ollama/ollama:0.5","org.opencontainers.image.ref.name":"0.5"}}]}`,
		"blobs/sha256/m1":  manifest1,
		"blobs/sha256/c1":  cudaConfig,
		"oci-layout":       `{"imageLayoutVersion":"1.0.0"}`,
		"blobs/sha256/lay": "\x1f\x8b layer",
	}
	// two architectures in an index of the index, one of them left out with a third, and how it was built.
	buildx = map[string]string{
		"index.json": `{"manifests":[{"digest":"sha256:i1","annotations":{"org.opencontainers.image.ref.name":"reg.example/cuda:12"}}]}`,
		"blobs/sha256/i1": `{"manifests":[{"digest":"sha256:m1"},{"digest":"sha256:m2"},{"digest":"sha256:gone"},
			{"digest":"sha256:m1","annotations":{"vnd.docker.reference.type":"attestation-manifest"}}]}`,
		"blobs/sha256/m1": manifest1, "blobs/sha256/c1": cudaConfig, "blobs/sha256/m2": manifest2, "blobs/sha256/c2": armConfig,
	}
	nameless = map[string]string{
		"index.json":      `{"manifests":[{"digest":"sha256:m1","annotations":{"org.opencontainers.image.ref.name":"latest"}}]}`,
		"blobs/sha256/m1": manifest1, "blobs/sha256/c1": cudaConfig,
	}
)

// tarOf packs files as an archive; with gzip where the name says so.
func tarOf(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for n, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: "./" + n, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := b.Bytes()
	if strings.HasSuffix(name, ".gz") {
		var z bytes.Buffer
		g := gzip.NewWriter(&z)
		_, _ = g.Write(out) // into memory
		_ = g.Close()
		out = z.Bytes()
	}
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func dirOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for n, text := range files {
		p := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFormats: each form that tools write gives the names, digests and environment.
func TestFormats(t *testing.T) {
	cuda := map[string]string{"PATH": "/bin", "NVIDIA_VISIBLE_DEVICES": "all", "A": "b=c"}
	ollama := guard.Image{Names: []string{"docker.io/ollama/ollama:0.5"}, Env: cuda}
	exported := ollama
	exported.Digests = []string{"sha256:m1"}
	both := []guard.Image{
		{Names: []string{"reg.example/cuda:12"}, Digests: []string{"sha256:i1", "sha256:m1"}, Env: cuda},
		{Names: []string{"reg.example/cuda:12"}, Digests: []string{"sha256:i1", "sha256:m2"}, Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "void"}},
	}
	for name, c := range map[string]struct {
		at   string
		want []guard.Image
	}{
		"docker save":       {tarOf(t, "a.tar", dockerSave), []guard.Image{ollama}},
		"docker save, gzip": {tarOf(t, "a.tar.gz", dockerSave), []guard.Image{ollama}},
		"ctr export":        {tarOf(t, "b.tar", ctrExport), []guard.Image{exported}},
		"OCI archive":       {tarOf(t, "c.tar", buildx), both},
		"OCI layout":        {dirOf(t, buildx), both},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read("", c.at)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.want {
				c.want[i].File = c.at
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestGivenName: a name that the user gives stands beside those of the archive.
func TestGivenName(t *testing.T) {
	got, err := Read("team/train:3@sha256:ff", tarOf(t, "n.tar", nameless))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"docker.io/team/train:3"}, got[0].Names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sha256:m1", "sha256:ff"}, got[0].Digests); diff != "" {
		t.Error(diff)
	}
}

// TestMistakes: what is no image archive says what it is not, and how to make one.
func TestMistakes(t *testing.T) {
	text := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(text, bytes.Repeat([]byte("kind: Pod\n"), 100), 0o644); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		text:       "is no tar archive; make one by docker save",
		"gone.tar": "no such file",
		tarOf(t, "d.tar", map[string]string{"a": "{}"}):                                                                                                      "holds neither manifest.json nor index.json",
		tarOf(t, "e.tar", map[string]string{"manifest.json": `[{"Config":"c.json"}]`}):                                                                       `the archive has no file "c.json"`,
		tarOf(t, "f.tar", map[string]string{"index.json": `{"manifests":[]}`}):                                                                               "holds no image",
		tarOf(t, "g.tar", map[string]string{"index.json": `{"manifests":[{"digest":"sha256:m1"}]}`, "blobs/sha256/m1": `{"config":{"digest":"sha256:c1"}}`}): "no configuration sha256:c1",
		tarOf(t, "h.tar", map[string]string{"index.json": "[1]"}):                                                                                            "an index: ",
		tarOf(t, "i.tar", map[string]string{"manifest.json": `[{"Config":"c1.json"}]`, "c1.json": cudaConfig}):                                               "tells no name of its image",
	} {
		_, err := Read("", at)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "image archive") {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
}
