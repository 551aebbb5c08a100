// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/tools/image/oci"
)

// descriptor and document are the fields of the standard that these tests look at,
// written again so that a wrong name there is seen here.
type descriptor struct {
	MediaType, ArtifactType, Digest string
	Size                            int64
	Platform                        struct{ OS, Architecture string }
	Annotations                     map[string]string
}

type document struct {
	SchemaVersion int
	MediaType     string
	ArtifactType  string
	Manifests     []descriptor
	Layers        []descriptor
	Config        descriptor
	Subject       descriptor
}

func write(t *testing.T) []byte {
	t.Helper()
	var l oci.Layout
	var images []oci.Descriptor
	for _, arch := range []string{"amd64", "arm64"} {
		d, err := l.AddImage(oci.Image{
			Platform: oci.Platform{OS: "linux", Architecture: arch}, Created: "2026-12-01T00:00:00Z",
			Settings: oci.Settings{User: "65532:65532", Entrypoint: []string{"/x"}, Labels: map[string]string{"a": "b"}},
			Layers:   [][]byte{[]byte("the same below"), []byte("for " + arch)},
		})
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, d)
	}
	if err := l.Attach(images[1], "application/spdx+json", []byte(`{"spdx":1}`), nil); err != nil {
		t.Fatal(err)
	}
	index, err := l.AddIndex(images, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Name(index, "registry.example:5000/team/x:v1"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
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
		if parts[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// follow reads the document that a descriptor points to, and checks size and digest.
func follow(t *testing.T, parts map[string][]byte, d descriptor, into any) []byte {
	t.Helper()
	data, ok := parts["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
	if !ok || int64(len(data)) != d.Size || fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != d.Digest {
		t.Fatalf("descriptor %+v: blob there %v, of %d bytes", d, ok, len(data))
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
	}
	return data
}

func TestIndexLeadsToTheLayersOfEachPlatform(t *testing.T) {
	parts := untar(t, write(t))
	if got := string(parts["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout is %s", got)
	}
	var top, index document
	if err := json.Unmarshal(parts["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"io.containerd.image.name": "registry.example:5000/team/x:v1", "org.opencontainers.image.ref.name": "v1"}
	if diff := cmp.Diff(want, top.Manifests[0].Annotations); diff != "" {
		t.Errorf("annotations of the first entry (-want +got):\n%s", diff)
	}
	follow(t, parts, top.Manifests[0], &index)
	for i, arch := range []string{"amd64", "arm64"} {
		var m document
		follow(t, parts, index.Manifests[i], &m)
		var config struct {
			OS, Architecture string
			Config           struct{ User string }
			RootFS           struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		follow(t, parts, m.Config, &config)
		if p := index.Manifests[i].Platform; p.Architecture != arch || config.Architecture != arch || config.OS != "linux" || config.Config.User != "65532:65532" {
			t.Errorf("entry %d: platform %+v, configuration %+v", i, p, config)
		}
		for n, layer := range m.Layers {
			plain := gunzip(t, follow(t, parts, layer, nil))
			if got := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); got != config.RootFS.DiffIDs[n] {
				t.Errorf("layer %d of %s has digest %s, the configuration says %s", n, arch, got, config.RootFS.DiffIDs[n])
			}
			if n == 1 && string(plain) != "for "+arch {
				t.Errorf("layer 1 of %s is %q", arch, plain)
			}
		}
	}
	if n := len(parts); n != 2+1+2+2+3+1+1+1 { // layout, index.json; index; manifests; configurations; layers; empty; document; artifact
		t.Errorf("%d files in the layout, want 13: the lower layer is the same blob", n)
	}
}

func TestAttachedDocumentRefersToItsImage(t *testing.T) {
	parts := untar(t, write(t))
	var top, index, artifact document
	if err := json.Unmarshal(parts["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	follow(t, parts, top.Manifests[0], &index)
	follow(t, parts, top.Manifests[1], &artifact)
	if artifact.Subject.Digest != index.Manifests[1].Digest || artifact.ArtifactType != "application/spdx+json" || artifact.Config.MediaType != "application/vnd.oci.empty.v1+json" {
		t.Errorf("artifact %+v does not refer to %s", artifact, index.Manifests[1].Digest)
	}
	if got := string(follow(t, parts, artifact.Layers[0], nil)); got != `{"spdx":1}` {
		t.Errorf("the document is %s", got)
	}
}

func TestSameImagesGiveTheSameBytes(t *testing.T) {
	if !bytes.Equal(write(t), write(t)) {
		t.Error("two layouts of the same images differ")
	}
}

func TestReferenceWithoutTagIsRefused(t *testing.T) {
	for _, r := range []string{"gputally", "gputally:v1", "registry:5000/gputally", "registry/gputally:", ""} {
		if err := new(oci.Layout).Name(oci.Descriptor{}, r); err == nil {
			t.Errorf("reference %q was accepted", r)
		}
	}
}

func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
