// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// archive is a packed program.
type archive struct {
	system, arch string
	file, sum    string // its name, and the SHA-256 of its bytes
}

// pack writes an archive for each platform, in the order of their names.
func (o options) pack() ([]archive, error) {
	licence, err := os.ReadFile(o.licence)
	if err != nil {
		return nil, fmt.Errorf("read the licence: %w", err)
	}
	var out []archive
	for _, platform := range slices.Sorted(maps.Keys(o.programs)) {
		program, err := os.ReadFile(o.programs[platform])
		if err != nil {
			return nil, fmt.Errorf("read the program for %s: %w", platform, err)
		}
		data, err := packed(program, licence)
		if err != nil {
			return nil, fmt.Errorf("pack the program for %s: %w", platform, err)
		}
		system, arch, _ := strings.Cut(platform, "/")
		sum := sha256.Sum256(data)
		a := archive{system, arch, fmt.Sprintf("kubectl-gputally_%s_%s.tar.gz", system, arch), hex.EncodeToString(sum[:])}
		if err := os.WriteFile(filepath.Join(o.out, a.file), data, 0o644); err != nil {
			return nil, fmt.Errorf("write the archive for %s: %w", platform, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// The names inside of an archive.
const (
	programName = "gputally"
	licenceName = "LICENSE"
)

// packed is the archive's bytes. Without times and owners: the same program gives the
// same bytes, and so the same manifest.
func packed(program, licence []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{{licenceName, 0o644, licence}, {programName, 0o755, program}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
