// SPDX-License-Identifier: Apache-2.0

package imageconfig

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// maxDocument bounds a file that is taken for a document and not for a layer, in
// bytes; maxDocuments how many are kept. Configurations have some 10 KiB.
const (
	maxDocument  = 4 << 20
	maxDocuments = 10_000
)

// documents are the small files of an archive that may be JSON, by their names.
type documents map[string][]byte

// Read gives the images in a file or directory; its errors do not name that. Name, where it is not empty, is a
// reference that the image is used by, beside those the archive tells: for an
// archive of one image without a name.
func Read(name, at string) ([]guard.Image, error) {
	found, err := documentsAt(at)
	if err != nil {
		var in *fs.PathError
		if errors.As(err, &in) {
			err = in.Err
		}
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	images, err := found.images()
	if err != nil {
		return nil, fmt.Errorf("read image archive: %w", err)
	}
	named := false
	for i := range images {
		images[i].File = at
		if name != "" {
			full, digest := guard.FullName(name)
			images[i].Names = append(images[i].Names, full)
			if digest != "" {
				images[i].Digests = append(images[i].Digests, digest)
			}
		}
		named = named || len(images[i].Names) > 0 || len(images[i].Digests) > 0
	}
	if !named {
		return nil, fmt.Errorf("read image archive: tells no name of its image; give NAME=%s", at)
	}
	return images, nil
}

func documentsAt(at string) (documents, error) {
	info, err := os.Stat(at)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return layout(at)
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return archive(f)
}

// layout reads an OCI layout: a directory.
func layout(dir string) (documents, error) {
	out := documents{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		name, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return out.take(filepath.ToSlash(name), f)
	})
	return out, err
}

func archive(r io.Reader) (documents, error) {
	in := bufio.NewReader(r)
	r = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	}
	out := documents{}
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return out, nil
		case errors.Is(err, tar.ErrHeader) && len(out) == 0:
			return nil, errors.New("is no tar archive; make one by docker save or skopeo copy … oci-archive:FILE")
		case err != nil:
			return nil, fmt.Errorf("read: %w", err)
		case h.Typeflag != tar.TypeReg:
			continue
		}
		if err := out.take(path.Clean(h.Name), t); err != nil {
			return nil, fmt.Errorf("read %s: %w", h.Name, err)
		}
	}
}

// take keeps a file that may be a JSON document. A layer is left where it stands.
func (d documents) take(name string, r io.Reader) error {
	head := make([]byte, 512)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return err
	}
	text := strings.TrimLeft(string(head[:n]), " \t\r\n")
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	rest, err := io.ReadAll(io.LimitReader(r, maxDocument))
	if err != nil {
		return err
	}
	if n+len(rest) >= maxDocument {
		return nil
	}
	if len(d) >= maxDocuments {
		return fmt.Errorf("holds more than %d documents: it is no image archive", maxDocuments)
	}
	d[name] = append(head[:n:n], rest...)
	return nil
}
