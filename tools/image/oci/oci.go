// SPDX-License-Identifier: Apache-2.0

// Package oci writes container images as an OCI image layout in one tar file, which
// containerd, podman, skopeo, crane and Docker 25 and newer read. It owns the layout,
// its JSON and its digests. What is in a layer is not its matter, and it pushes nothing.
//
// The same images give the same bytes: nothing of the machine or the clock gets in.
package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The media types of the OCI image specification 1.1.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeEmpty    = "application/vnd.oci.empty.v1+json"
)

// Platform is what an image runs on, in Go's words.
type Platform struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
}

// String is OS/ARCHITECTURE, such as linux/arm64.
func (p Platform) String() string { return p.OS + "/" + p.Architecture }

// Settings are what a container of the image starts with.
type Settings struct {
	User       string            `json:"User,omitempty"`
	Env        []string          `json:"Env,omitempty"`
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Labels     map[string]string `json:"Labels,omitempty"`
}

// Image is an image for one platform.
type Image struct {
	Platform Platform
	Settings Settings
	// Created is when, in RFC 3339, or empty.
	Created string
	// Layers are tar files, the lowest first.
	Layers [][]byte
	// Annotations stand on the manifest.
	Annotations map[string]string
}

// Descriptor points to a blob.
type Descriptor struct {
	MediaType    string            `json:"mediaType"`
	ArtifactType string            `json:"artifactType,omitempty"`
	Digest       string            `json:"digest"`
	Size         int64             `json:"size"`
	Platform     *Platform         `json:"platform,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// Layout collects images. The zero value is empty and ready.
type Layout struct {
	blobs map[string][]byte // by hex digest
	top   []Descriptor
}

// AddImage adds an image's layers, configuration and manifest. The caller names the
// descriptor, or puts it into an index.
func (l *Layout) AddImage(i Image) (Descriptor, error) {
	config := imageConfig{Created: i.Created, Platform: i.Platform, Settings: i.Settings, RootFS: rootFS{Type: "layers"}}
	m := manifest{SchemaVersion: 2, MediaType: typeManifest, Annotations: i.Annotations}
	for _, layer := range i.Layers {
		packed, err := pack(layer)
		if err != nil {
			return Descriptor{}, fmt.Errorf("compress a layer for %s: %w", i.Platform, err)
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digest(layer))
		config.History = append(config.History, history{Created: i.Created, CreatedBy: "tools/image"})
		m.Layers = append(m.Layers, l.add(typeLayer, packed))
	}
	var err error
	if m.Config, err = l.addJSON(typeConfig, config); err != nil {
		return Descriptor{}, err
	}
	d, err := l.addJSON(typeManifest, m)
	d.Platform = &i.Platform
	return d, err
}

// AddIndex adds an image for several platforms.
func (l *Layout) AddIndex(images []Descriptor, annotations map[string]string) (Descriptor, error) {
	return l.addJSON(typeIndex, index{SchemaVersion: 2, MediaType: typeIndex, Manifests: images, Annotations: annotations})
}

// Attach adds a document about an image as an artifact that refers to it (a referrer),
// and lists it in the layout.
func (l *Layout) Attach(subject Descriptor, artifactType string, document []byte, annotations map[string]string) error {
	to := Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	d, err := l.addJSON(typeManifest, manifest{
		SchemaVersion: 2, MediaType: typeManifest, ArtifactType: artifactType, Config: l.add(typeEmpty, []byte("{}")),
		Layers: []Descriptor{l.add(artifactType, document)}, Subject: &to, Annotations: annotations,
	})
	if err != nil {
		return err
	}
	d.ArtifactType, d.Annotations = artifactType, annotations
	l.top = append(l.top, d)
	return nil
}

// Name lists an image or index in the layout under a full reference, such as
// docker.io/gputally/gputally:v1.
func (l *Layout) Name(d Descriptor, reference string) error {
	slash, colon := strings.LastIndex(reference, "/"), strings.LastIndex(reference, ":")
	if slash < 1 || colon < slash+2 || colon == len(reference)-1 {
		return fmt.Errorf("image reference %q: write REGISTRY/NAME:TAG", reference)
	}
	d.Annotations = map[string]string{
		// containerd takes the whole name from its own annotation, others the tag from the standard's.
		"io.containerd.image.name":          reference,
		"org.opencontainers.image.ref.name": reference[colon+1:],
	}
	l.top = append([]Descriptor{d}, l.top...)
	return nil
}

// Write writes the layout as a tar file.
func (l *Layout) Write(w io.Writer) error {
	t := tar.NewWriter(w)
	put := func(name string, data []byte) error {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data)), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	list, err := json.Marshal(index{SchemaVersion: 2, MediaType: typeIndex, Manifests: l.top})
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}
	if err := put("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return fmt.Errorf("write image layout: %w", err)
	}
	if err := put("index.json", list); err != nil {
		return fmt.Errorf("write image layout: %w", err)
	}
	for _, name := range l.names() {
		if err := put("blobs/sha256/"+name, l.blobs[name]); err != nil {
			return fmt.Errorf("write blob %s: %w", name, err)
		}
	}
	return t.Close()
}

func (l *Layout) names() []string {
	var names []string
	for name := range l.blobs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *Layout) add(mediaType string, data []byte) Descriptor {
	if l.blobs == nil {
		l.blobs = map[string][]byte{}
	}
	d := digest(data)
	l.blobs[strings.TrimPrefix(d, "sha256:")] = data
	return Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(data))}
}

func (l *Layout) addJSON(mediaType string, v any) (Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Descriptor{}, fmt.Errorf("write %s: %w", mediaType, err)
	}
	return l.add(mediaType, data), nil
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
