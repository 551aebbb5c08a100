// SPDX-License-Identifier: Apache-2.0

// Package image packs one static program as a container image that containerd can
// import, so that the test node pulls nothing. It owns the archive layout; it does not
// build programs and knows nothing of what they do.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
)

// Image is an image of a single layer that holds a single program.
type Image struct {
	// Reference is the full name and tag, such as docker.io/gputally/pause:1.
	Reference string
	// Entry is the absolute path of the program inside the image.
	Entry string
	// Program is the statically linked executable.
	Program []byte
	// Env holds NAME=value pairs that every container of the image starts with.
	Env []string
}

// Write writes the image as a docker-archive: one layer, its configuration and a manifest.
// The same image gives the same bytes.
func (i Image) Write(w io.Writer) error {
	if i.Reference == "" || len(i.Entry) < 2 || i.Entry[0] != '/' {
		return fmt.Errorf("write image %q: it needs a reference and an absolute entry path, not %q", i.Reference, i.Entry)
	}
	layer, err := archive(file{name: i.Entry[1:], mode: 0o755, data: i.Program})
	if err != nil {
		return fmt.Errorf("write layer of image %s: %w", i.Reference, err)
	}
	layerName := digest(layer) + "/layer.tar"
	config, err := json.Marshal(i.config(digest(layer)))
	if err != nil {
		return fmt.Errorf("write configuration of image %s: %w", i.Reference, err)
	}
	configName := digest(config) + ".json"
	manifest, err := json.Marshal([]manifestEntry{{Config: configName, RepoTags: []string{i.Reference}, Layers: []string{layerName}}})
	if err != nil {
		return fmt.Errorf("write manifest of image %s: %w", i.Reference, err)
	}
	whole, err := archive(
		file{name: layerName, mode: 0o644, data: layer},
		file{name: configName, mode: 0o644, data: config},
		file{name: "manifest.json", mode: 0o644, data: manifest},
	)
	if err != nil {
		return fmt.Errorf("write image %s: %w", i.Reference, err)
	}
	_, err = w.Write(whole)
	return err
}

type manifestEntry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// config is the part of the OCI image configuration that containerd reads.
func (i Image) config(layerDigest string) map[string]any {
	return map[string]any{
		"architecture": "amd64",
		"os":           "linux",
		"config": map[string]any{
			"Entrypoint": []string{i.Entry},
			"Env":        append([]string{"PATH=/"}, i.Env...),
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + layerDigest}},
	}
}

type file struct {
	name string
	mode int64
	data []byte
}

func archive(files ...file) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), t.Close()
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
