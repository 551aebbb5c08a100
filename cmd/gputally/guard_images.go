// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"

	"github.com/gputally/gputally/internal/adapter/imageconfig"
	"github.com/gputally/gputally/internal/adapter/manifest"
)

// readImages reads image archives, each FILE or NAME=FILE. One that cannot be read
// is a mistake of the input.
func (s *scanned) readImages(archives []string) {
	for _, a := range archives {
		name, file, named := strings.Cut(a, "=")
		if _, err := os.Stat(a); err == nil || !named {
			name, file = "", a // a file may have such a name
		}
		images, err := imageconfig.Read(name, file)
		if err != nil {
			s.read.Mistakes = append(s.read.Mistakes, manifest.Mistake{File: file, Message: err.Error()})
			continue
		}
		s.read.Input.Images = append(s.read.Input.Images, images...)
	}
}
