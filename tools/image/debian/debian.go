// SPDX-License-Identifier: Apache-2.0

// Package debian takes packages of the distribution apart: it fetches them for any
// architecture with apt, in folders of its own, and reads their files. It installs
// nothing, needs no root and leaves the machine's apt as it was. Which packages an
// image needs is not its matter.
package debian

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Package is an unpacked package.
type Package struct {
	// Name, Version, Source and Architecture are from its control file. Source is the
	// source package's name.
	Name, Version, Source, Architecture string
	// Control is the whole control file.
	Control string
	// Files are its files and links, folders left out.
	Files []File
}

// File is a file or a symbolic link of a package.
type File struct {
	// Path is absolute, without the leading slash, with /lib, /bin, /sbin and /lib64 below /usr,
	// as every Debian since 12 has them.
	Path string
	// Mode holds the permission bits.
	Mode int64
	// Link is where a link leads.
	Link string
	// Data is the content.
	Data []byte
}

// ErrNoApt says that this machine is not a Debian.
var ErrNoApt = errors.New("apt-get and dpkg-deb are needed: the image's C library comes from Debian's packages. Build on Debian 12 or newer, or with deploy/image/Dockerfile")

// Archive is the distribution's archive for one architecture.
type Archive struct{ folder, architecture string }

// Open reads the distribution's current lists for an architecture (Debian's name: amd64,
// arm64). The distribution is the one this machine's apt is set up for. folder keeps the
// lists and the packages.
func Open(folder, architecture string) (*Archive, error) {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, ErrNoApt
		}
	}
	folder, err := filepath.Abs(filepath.Join(folder, architecture))
	if err != nil {
		return nil, fmt.Errorf("find folder for packages: %w", err)
	}
	a := &Archive{folder: folder, architecture: architecture}
	if err := a.prepare(); err != nil {
		return nil, fmt.Errorf("make folders for apt: %w", err)
	}
	return a, a.run("update")
}

// Fetch gets the newest version of packages, and reads them.
func (a *Archive) Fetch(names ...string) ([]Package, error) {
	if err := a.run(append([]string{"download"}, names...)...); err != nil {
		return nil, err
	}
	var out []Package
	for _, name := range names {
		p, err := a.read(name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (a *Archive) prepare() error {
	if err := os.RemoveAll(a.packages()); err != nil {
		return err
	}
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "packages"} {
		if err := os.MkdirAll(filepath.Join(a.folder, d), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(a.folder, "status"), nil, 0o644)
}

func (a *Archive) packages() string { return filepath.Join(a.folder, "packages") }

func (a *Archive) run(args ...string) error {
	options := []string{"-qq",
		"-o", "APT::Architecture=" + a.architecture, "-o", "APT::Architectures::=" + a.architecture,
		"-o", "Dir::State=" + filepath.Join(a.folder, "state"), "-o", "Dir::State::status=" + filepath.Join(a.folder, "status"),
		"-o", "Dir::Cache=" + filepath.Join(a.folder, "cache"), "-o", "Debug::NoLocking=true",
	}
	if os.Geteuid() == 0 {
		options = append(options, "-o", "APT::Sandbox::User=root") // the folder is ours alone
	}
	cmd := exec.Command("apt-get", append(options, args...)...)
	cmd.Dir = a.packages()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s for %s: %w\n%s", strings.Join(args, " "), a.architecture, err, bytes.TrimSpace(out))
	}
	return nil
}

func (a *Archive) read(name string) (Package, error) {
	found, err := filepath.Glob(filepath.Join(a.packages(), name+"_*.deb"))
	if err != nil || len(found) != 1 {
		return Package{}, fmt.Errorf("package %s for %s: apt-get left %d files in %s, want one", name, a.architecture, len(found), a.packages())
	}
	return Read(found[0])
}

// Read reads a package's file.
func Read(file string) (Package, error) {
	control, err := exec.Command("dpkg-deb", "--field", file).Output()
	if err != nil {
		return Package{}, fmt.Errorf("read control file of %s: %w", file, err)
	}
	data, err := exec.Command("dpkg-deb", "--fsys-tarfile", file).Output()
	if err != nil {
		return Package{}, fmt.Errorf("read files of %s: %w", file, err)
	}
	p := fromControl(string(control))
	if p.Files, err = files(data); err != nil {
		return Package{}, fmt.Errorf("read files of %s: %w", file, err)
	}
	return p, nil
}

func fromControl(control string) Package {
	field := map[string]string{}
	for line := range strings.Lines(control) {
		if key, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") {
			field[key] = strings.TrimSpace(value)
		}
	}
	source, _, _ := strings.Cut(field["Source"], " ") // "gcc-12 (12.2.0-14)": a version of its own may follow
	if source == "" {
		source = field["Package"]
	}
	return Package{Name: field["Package"], Version: field["Version"], Architecture: field["Architecture"], Source: source, Control: control}
}

func files(data []byte) ([]File, error) {
	var out []File
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		f := File{Path: merged(h.Name), Mode: h.Mode & 0o777}
		switch h.Typeflag {
		case tar.TypeReg:
			if f.Data, err = io.ReadAll(r); err != nil {
				return nil, err
			}
		case tar.TypeSymlink:
			f.Link = h.Linkname
		case tar.TypeDir:
			continue
		default:
			return nil, fmt.Errorf("%s is neither a file, a folder nor a symbolic link", h.Name)
		}
		out = append(out, f)
	}
}

// merged moves what older packages keep beside /usr below it.
func merged(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	first, _, _ := strings.Cut(name, "/")
	switch first {
	case "bin", "sbin", "lib", "lib32", "lib64":
		return "usr/" + name
	}
	return name
}
