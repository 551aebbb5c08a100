// SPDX-License-Identifier: Apache-2.0

// Package image packs one static program as a container image that containerd can
// import, so that the test node pulls nothing. It owns what such an image holds; the
// archive is written by tools/image/oci. It does not build programs and knows nothing of
// what they do.
package image

import (
	"fmt"
	"io"
	"path"
	"runtime"

	"github.com/gputally/gputally/tools/image/oci"
	"github.com/gputally/gputally/tools/image/rootfs"
)

// Image is an image of a single layer that holds a single program.
type Image struct {
	// Reference is the full name and tag, such as docker.io/gputally/pause:1.
	Reference string
	// Entry is the absolute path of the program inside the image.
	Entry string
	// Program is the statically linked executable, for this machine.
	Program []byte
	// Env holds NAME=value pairs that every container of the image starts with.
	Env []string
}

// Write writes the image as an OCI image layout. The same image gives the same bytes.
func (i Image) Write(w io.Writer) error {
	if !path.IsAbs(i.Entry) || len(i.Entry) < 2 {
		return fmt.Errorf("write image %q: it needs an absolute entry path, not %q", i.Reference, i.Entry)
	}
	files := rootfs.Tree{}
	if err := files.File(i.Entry, 0o755, i.Program); err != nil {
		return fmt.Errorf("write layer of image %s: %w", i.Reference, err)
	}
	layer, err := files.Tar()
	if err != nil {
		return fmt.Errorf("write layer of image %s: %w", i.Reference, err)
	}
	var l oci.Layout
	d, err := l.AddImage(oci.Image{
		Platform: oci.Platform{OS: "linux", Architecture: runtime.GOARCH},
		Settings: oci.Settings{Entrypoint: []string{i.Entry}, Env: append([]string{"PATH=/"}, i.Env...)},
		Layers:   [][]byte{layer},
	})
	if err != nil {
		return fmt.Errorf("write image %s: %w", i.Reference, err)
	}
	if err := l.Name(d, i.Reference); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return l.Write(w)
}
