// SPDX-License-Identifier: Apache-2.0

package debian_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gputally/gputally/tools/image/debian"
)

// TestReadTakesAPackageApart: a package made by dpkg-deb, with files beside /usr as
// Debian 12 still has them.
func TestReadTakesAPackageApart(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Log("LEFT OUT: reading a Debian package: no dpkg-deb on this machine")
		return
	}
	dir := t.TempDir()
	script := `mkdir -p x/DEBIAN x/lib/x86_64-linux-gnu x/usr/share/doc
printf 'Package: libx1\nSource: x (1.0-1)\nVersion: 1.0-1+b1\nArchitecture: amd64\nMaintainer: nobody <n@example.com>\nDescription: test\n more: words\n' > x/DEBIAN/control
printf data > x/lib/x86_64-linux-gnu/libx.so.1
ln -s x-base x/usr/share/doc/libx1
dpkg-deb --build --root-owner-group x x.deb`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make a package: %v\n%s", err, out)
	}
	p, err := debian.Read(filepath.Join(dir, "x.deb"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "libx1" || p.Version != "1.0-1+b1" || p.Source != "x" || p.Architecture != "amd64" {
		t.Errorf("control file read as %+v", p)
	}
	found := map[string]debian.File{}
	for _, f := range p.Files {
		found[f.Path] = f
	}
	if f := found["usr/lib/x86_64-linux-gnu/libx.so.1"]; string(f.Data) != "data" || len(found) != 2 {
		t.Errorf("files %v, want the library below /usr and the link", found)
	}
	if f := found["usr/share/doc/libx1"]; f.Link != "x-base" {
		t.Errorf("the link leads to %q", f.Link)
	}
}

func TestBrokenPackageIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.deb")
	if err := os.WriteFile(file, []byte("no package"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := debian.Read(file); err == nil {
		t.Error("a file that is no package was read")
	}
}
