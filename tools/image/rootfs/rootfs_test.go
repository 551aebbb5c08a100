// SPDX-License-Identifier: Apache-2.0

package rootfs_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/tools/image/rootfs"
)

func tree(t *testing.T) rootfs.Tree {
	t.Helper()
	out := rootfs.Tree{}
	for _, e := range []rootfs.Entry{
		{Path: "/usr/bin/x", Mode: 0o755, Data: []byte("program")},
		{Path: "tmp", Mode: 0o1777, Folder: true},
		{Path: "bin", Mode: 0o777, Link: "usr/bin"},
		{Path: "var/lib/x", Mode: 0o750, Owner: 65532, Folder: true},
	} {
		if err := out.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestTarHasFoldersFirstAndNoTimes(t *testing.T) {
	data, err := tree(t).Tar()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 {
			t.Errorf("%s has the time %s", h.Name, h.ModTime)
		}
		if h.Name == "var/lib/x/" && (h.Uid != 65532 || h.Gid != 65532) {
			t.Errorf("%s belongs to %d:%d", h.Name, h.Uid, h.Gid)
		}
		got = append(got, h.Name)
	}
	want := []string{"bin", "tmp/", "usr/", "usr/bin/", "usr/bin/x", "var/", "var/lib/", "var/lib/x/"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTwoFilesOfOneNameAreRefused(t *testing.T) {
	tr := tree(t)
	if err := tr.File("usr/bin/x", 0o755, []byte("program")); err != nil {
		t.Errorf("the same file again: %v", err)
	}
	if err := tr.File("usr/bin/x", 0o755, []byte("another")); err == nil {
		t.Error("another file of the same name was accepted")
	}
}

func TestUnpackKeepsModesAndLinks(t *testing.T) {
	dir := t.TempDir()
	if err := tree(t).Unpack(dir); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "bin")); err != nil || to != "usr/bin" {
		t.Errorf("bin leads to %q, %v", to, err)
	}
	for name, want := range map[string]os.FileMode{"usr/bin/x": 0o755, "tmp": 0o777 | os.ModeSticky | os.ModeDir, "var/lib/x": 0o750 | os.ModeDir} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want mode %v", name, info.Mode(), err, want)
		}
	}
}
