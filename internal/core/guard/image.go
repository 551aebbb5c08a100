// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"slices"
	"strings"
)

// Image is a container image whose own environment is known.
type Image struct {
	// Names are references (repository:tag) in the form of FullName, Digests those
	// of its manifest and of the index it is in, each "sha256:…".
	Names, Digests []string
	Env            map[string]string
	// File is where it was read from.
	File string
}

// FullName is a reference to an image as it is written out: with docker.io/library/
// where no registry is named, and :latest where neither tag nor digest is. The
// digest is told apart.
func FullName(reference string) (name, digest string) {
	name, digest, _ = strings.Cut(reference, "@")
	first, _, path := strings.Cut(name, "/")
	switch {
	case !path:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		name = "docker.io/" + name
	}
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") && digest == "" {
		name += ":latest"
	}
	return name, digest
}

// image is that of a container, nil where it is not in the input. Of several (one
// for each architecture) it is one that names GPUs, where there is such.
func (s *scan) image(c *Container) *Image {
	if !c.Image.Given || c.Image.Value == "" {
		return nil
	}
	name, digest := FullName(c.Image.Value)
	var found *Image
	for i := range s.in.Images {
		m := &s.in.Images[i]
		is := digest != "" && slices.Contains(m.Digests, digest) || digest == "" && slices.Contains(m.Names, name)
		if is && (found == nil || gives(m.Env[visibleDevices])) {
			found = m
		}
	}
	if found != nil {
		s.seen[found.File] = true
	}
	return found
}

// unseenImages are the files of images that no container of the input uses.
func (s *scan) unseenImages() (out []string) {
	for _, m := range s.in.Images {
		if !s.seen[m.File] && !slices.Contains(out, m.File) {
			out = append(out, m.File)
		}
	}
	return out
}
