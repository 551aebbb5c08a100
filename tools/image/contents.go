// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gputally/gputally/tools/image/debian"
	"github.com/gputally/gputally/tools/image/rootfs"
)

// debianPackages are what the programs link to or read: the C and C++ libraries, the
// certificates of public authorities, and the name of the distribution for scanners.
// No shell, no package manager. Time zones are not among them: nothing here names one.
var debianPackages = []string{"base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6"}

// user is who the programs run as unless told otherwise: no one on any host.
const user = 65532

// fetchBase gets the Debian packages of the image, and those that hold their licences.
func fetchBase(folder, architecture string) ([]debian.Package, error) {
	archive, err := debian.Open(folder, architecture)
	if err != nil {
		return nil, err
	}
	packages, err := archive.Fetch(debianPackages...)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(debianPackages)
	for _, p := range packages {
		other := docsOf(p)
		if other == "" || slices.Contains(names, other) {
			continue
		}
		names = append(names, other)
		more, err := archive.Fetch(other)
		if err != nil {
			return nil, err
		}
		packages = append(packages, more...)
	}
	return packages, nil
}

// docsOf is the package whose folder of documents a package shares, such as gcc-12-base.
func docsOf(p debian.Package) string {
	for _, f := range p.Files {
		if f.Path == "usr/share/doc/"+p.Name && f.Link != "" {
			return path.Base(f.Link)
		}
	}
	return ""
}

// baseTree is the lower layer: what comes from Debian, and the few files every system has.
func baseTree(packages []debian.Package, arch architecture) (rootfs.Tree, error) {
	t := rootfs.Tree{}
	var certificates strings.Builder
	for _, p := range packages {
		for _, f := range p.Files {
			if strings.HasPrefix(f.Path, "usr/share/ca-certificates/") && strings.HasSuffix(f.Path, ".crt") {
				certificates.Write(f.Data)
			}
			if !wanted(f, p.Name, arch) {
				continue
			}
			if err := t.Add(rootfs.Entry{Path: f.Path, Mode: f.Mode, Link: f.Link, Data: f.Data}); err != nil {
				return nil, fmt.Errorf("package %s: %w", p.Name, err)
			}
		}
		// Where scanners of images without a package manager look.
		if err := t.File("var/lib/dpkg/status.d/"+p.Name, 0o644, []byte(p.Control)); err != nil {
			return nil, err
		}
	}
	if certificates.Len() == 0 {
		return nil, fmt.Errorf("package ca-certificates has no certificate below /usr/share/ca-certificates")
	}
	if err := t.File("etc/ssl/certs/ca-certificates.crt", 0o644, []byte(certificates.String())); err != nil {
		return nil, err
	}
	return t, addSystem(t, arch)
}

// wanted says whether a file of a package is for the image: libraries, the loader,
// licences and the name of the system.
func wanted(f debian.File, name string, arch architecture) bool {
	dir, file := path.Split(f.Path)
	switch {
	case f.Path == "usr/share/doc/"+name && f.Link != "", f.Path == "usr/share/doc/"+name+"/copyright":
		return true
	case f.Path == "usr/lib/os-release", f.Path == "etc/os-release", f.Path == "etc/debian_version":
		return true
	case dir == "etc/ld.so.conf.d/":
		return true
	case strings.HasPrefix(file, "ld-linux"):
		return dir == "usr/lib/" || dir == "usr/lib64/" || dir == "usr/lib/"+arch.triplet+"/"
	}
	return dir == "usr/lib/"+arch.triplet+"/" && strings.Contains(file, ".so")
}

// addSystem adds what Debian makes when it installs itself.
func addSystem(t rootfs.Tree, arch architecture) error {
	links := map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib"}
	if arch.lib64 {
		links["lib64"] = "usr/lib64"
	}
	for name, to := range links {
		if err := t.Link(name, to); err != nil {
			return err
		}
	}
	files := map[string]string{
		"etc/passwd":        fmt.Sprintf("root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\ngputally:x:%d:%d:gputally:/var/lib/gputally:/sbin/nologin\n", user, user),
		"etc/group":         fmt.Sprintf("root:x:0:\nnogroup:x:65534:\ngputally:x:%d:\n", user),
		"etc/nsswitch.conf": "hosts: files dns\n",
		// For the hook of NVIDIA's container toolkit, which adds the folder of the driver's libraries.
		"etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
	}
	for name, text := range files {
		if err := t.File(name, 0o644, []byte(text)); err != nil {
			return err
		}
	}
	folders := []rootfs.Entry{
		{Path: "tmp", Mode: 0o1777}, {Path: "root", Mode: 0o700}, {Path: "proc", Mode: 0o555}, {Path: "sys", Mode: 0o555}, {Path: "dev", Mode: 0o755},
		{Path: "usr/bin", Mode: 0o755}, {Path: "usr/sbin", Mode: 0o755}, {Path: "run", Mode: 0o755},
		{Path: "var/lib/gputally", Mode: 0o750, Owner: user},
	}
	for _, f := range folders {
		f.Folder = true
		if err := t.Add(f); err != nil {
			return err
		}
	}
	return nil
}

// programTree is the upper layer: the programs, and the licences of all that is in them.
func programTree(b built) (rootfs.Tree, error) {
	t := rootfs.Tree{}
	for _, p := range b.programs {
		if err := t.File("usr/local/bin/"+p.name, 0o755, p.data); err != nil {
			return nil, err
		}
	}
	for _, m := range b.modules {
		for _, l := range m.licences {
			if err := t.File(m.licenceFolder()+"/"+l.name, 0o644, l.text); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}
