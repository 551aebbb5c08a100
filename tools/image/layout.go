// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gputally/gputally/tools/image/oci"
)

// spdxType is the media type of a bill of materials.
const spdxType = "application/spdx+json"

// imageFile is the image's name in the folder for it.
const imageFile = "gputally.oci.tar"

func sbomFile(a architecture) string { return "gputally-linux-" + a.name + ".spdx.json" }

// writeLayout writes the image for all platforms with its bills of materials: beside it,
// and in it as artifacts that refer to their image.
func writeLayout(o options, chosen []architecture) error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("make folder for the image: %w", err)
	}
	var layout oci.Layout
	var images []oci.Descriptor
	for _, a := range chosen {
		m, err := makeTrees(o, a)
		if err != nil {
			return err
		}
		if err := addImage(&layout, o, &m); err != nil {
			return err
		}
		images = append(images, m.image)
		if err := addBill(&layout, o, m); err != nil {
			return err
		}
		fmt.Printf("%-12s %s\n", m.image.Platform, m.image.Digest)
	}
	index, err := layout.AddIndex(images, labels(o))
	if err != nil {
		return err
	}
	if err := layout.Name(index, o.name+":"+o.version); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := layout.Write(&b); err != nil {
		return err
	}
	fmt.Printf("%-12s %s\n%s:%s in %s (%d MB)\n", "index", index.Digest, o.name, o.version, filepath.Join(o.out, imageFile), b.Len()/1_000_000)
	return save(filepath.Join(o.out, imageFile), b.Bytes())
}

func addImage(l *oci.Layout, o options, m *made) error {
	i := oci.Image{
		Platform: oci.Platform{OS: "linux", Architecture: m.arch.name},
		Created:  o.created.Format(time.RFC3339),
		Settings: oci.Settings{
			User:       fmt.Sprintf("%d:%d", user, user),
			Env:        []string{"PATH=/usr/local/bin:/usr/bin"},
			Entrypoint: []string{"/usr/local/bin/gputally"},
			Labels:     labels(o),
		},
		Annotations: labels(o),
	}
	for _, t := range m.layers {
		layer, err := t.Tar()
		if err != nil {
			return err
		}
		i.Layers = append(i.Layers, layer)
	}
	var err error
	m.image, err = l.AddImage(i)
	return err
}

func addBill(l *oci.Layout, o options, m made) error {
	document, err := bill(m, o.version, o.created.Format("2006-01-02T15:04:05Z"))
	if err != nil {
		return err
	}
	about := map[string]string{"org.opencontainers.image.title": sbomFile(m.arch), "org.opencontainers.image.created": o.created.Format(time.RFC3339)}
	if err := l.Attach(m.image, spdxType, document, about); err != nil {
		return err
	}
	return save(filepath.Join(o.out, sbomFile(m.arch)), document)
}

// labels are the standard's annotations of an image.
func labels(o options) map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":         "gputally",
		"org.opencontainers.image.description":   "The GPU meter and GPU bill of Kubernetes",
		"org.opencontainers.image.version":       o.version,
		"org.opencontainers.image.created":       o.created.Format(time.RFC3339),
		"org.opencontainers.image.source":        "https://" + mainModule,
		"org.opencontainers.image.url":           "https://" + mainModule,
		"org.opencontainers.image.documentation": "https://" + mainModule + "/tree/main/docs",
		"org.opencontainers.image.licenses":      "Apache-2.0",
		"org.opencontainers.image.vendor":        "gputally",
	}
	if o.revision != "" {
		out["org.opencontainers.image.revision"] = o.revision
	}
	return out
}

// save writes a file whole or not at all.
func save(name string, data []byte) error {
	if err := os.WriteFile(name+".partial", data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(name+".partial", name); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
