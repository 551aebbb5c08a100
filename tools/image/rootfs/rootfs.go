// SPDX-License-Identifier: Apache-2.0

// Package rootfs is the file tree of an image while it is put together. It owns the
// order, the times and the owners of its entries, so that the same files give the same
// tar. It does not know where the files come from.
package rootfs

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Entry is a file, a folder (Mode has no data and Folder is set) or a symbolic link.
type Entry struct {
	// Path is absolute, without the leading slash.
	Path string
	// Mode holds the permission bits, with setuid and sticky as in a tar header.
	Mode int64
	// Owner is the number of user and group.
	Owner int
	// Link is where a symbolic link leads; empty for other entries.
	Link string
	// Folder marks a directory.
	Folder bool
	// Data is the content of a file.
	Data []byte
}

// Tree holds entries by path.
type Tree map[string]Entry

// Add puts an entry in, and the folders above it. The same path twice is an error,
// unless both are the same.
func (t Tree) Add(e Entry) error {
	e.Path = strings.Trim(path.Clean("/"+e.Path), "/")
	if e.Path == "" {
		return nil
	}
	if old, is := t[e.Path]; is {
		if old.Folder && e.Folder {
			return nil
		}
		if old.Link == e.Link && old.Folder == e.Folder && bytes.Equal(old.Data, e.Data) {
			return nil
		}
		return fmt.Errorf("add /%s to the image: it is there already, with another content", e.Path)
	}
	t[e.Path] = e
	for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
		if _, is := t[dir]; !is {
			t[dir] = Entry{Path: dir, Folder: true, Mode: 0o755}
		}
	}
	return nil
}

// File adds a file that root owns.
func (t Tree) File(name string, mode int64, data []byte) error {
	return t.Add(Entry{Path: name, Mode: mode, Data: data})
}

// Link adds a symbolic link.
func (t Tree) Link(name, to string) error {
	return t.Add(Entry{Path: name, Mode: 0o777, Link: to})
}

// Paths are all paths in order; a folder comes before what is in it.
func (t Tree) Paths() []string {
	var out []string
	for p := range t {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// Tar is the tree as a tar file. Every time is 1970-01-01, since when a file was
// unpacked or linked says nothing about it.
func (t Tree) Tar() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, p := range t.Paths() {
		e := t[p]
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Path, Mode: e.Mode, Uid: e.Owner, Gid: e.Owner, Size: int64(len(e.Data)), Format: tar.FormatPAX}
		switch {
		case e.Folder:
			h.Typeflag, h.Name = tar.TypeDir, e.Path+"/"
		case e.Link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.Link
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("write /%s of the image: %w", p, err)
		}
		if _, err := w.Write(e.Data); err != nil {
			return nil, fmt.Errorf("write /%s of the image: %w", p, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the image's files: %w", err)
	}
	return b.Bytes(), nil
}

// Unpack writes the tree below a folder. Owners are kept only where we are root.
func (t Tree) Unpack(dir string) error {
	for _, p := range t.Paths() {
		if err := t[p].unpack(filepath.Join(dir, p)); err != nil {
			return fmt.Errorf("unpack /%s of the image: %w", p, err)
		}
	}
	return nil
}

func (e Entry) unpack(to string) error {
	mode := os.FileMode(e.Mode & 0o777)
	if e.Mode&0o1000 != 0 {
		mode |= os.ModeSticky
	}
	switch {
	case e.Link != "":
		return os.Symlink(e.Link, to)
	case e.Folder:
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, e.Data, mode); err != nil {
			return err
		}
	}
	if err := os.Chmod(to, mode); err != nil { // what umask took
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(to, e.Owner, e.Owner)
}
