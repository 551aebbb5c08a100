// SPDX-License-Identifier: Apache-2.0

// Command image builds gputally's container image without a container engine: both
// programs, the C library and certificates from Debian's packages, no shell, for
// linux/amd64 and linux/arm64, as one OCI image layout in a tar file, with a bill of
// materials (SPDX) for each. The same sources and packages give the same bytes.
//
// With --root it writes the files of one platform into a folder instead: that is how
// deploy/image/Dockerfile makes the same image with a container engine.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/tools/image/debian"
	"github.com/gputally/gputally/tools/image/elfcheck"
	"github.com/gputally/gputally/tools/image/oci"
	"github.com/gputally/gputally/tools/image/rootfs"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options is what the command line says.
type options struct {
	out, work, root, name, version, revision, tags string
	platforms                                      []string
	created                                        time.Time
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	chosen, err := chosenArchitectures(o.platforms)
	if err != nil {
		return err
	}
	for _, a := range chosen { // before the first minutes are spent
		if err := needCompilers(a); err != nil {
			return err
		}
	}
	if o.root != "" {
		return writeRoot(o, chosen)
	}
	return writeLayout(o, chosen)
}

func parse(args []string) (options, error) {
	var o options
	fs := pflag.NewFlagSet("image", pflag.ContinueOnError)
	fs.StringVarP(&o.out, "out", "o", "bin/image", "`FOLDER` for the image and its bills of materials")
	fs.StringVar(&o.work, "work", "", "`FOLDER` for programs and packages on the way (default: work below --out)")
	fs.StringVar(&o.root, "root", "", "write the files of one platform into this `FOLDER`, and no image")
	fs.StringVar(&o.name, "name", "docker.io/library/gputally", "`NAME` of the image, without a tag")
	fs.StringVar(&o.version, "version", "dev", "`VERSION` in the programs, the labels and the tag")
	fs.StringVar(&o.revision, "revision", "", "commit the image is built from, for the label")
	fs.StringVar(&o.tags, "tags", "", "build tags of Go")
	fs.StringSliceVar(&o.platforms, "platform", []string{"linux/amd64", "linux/arm64"}, "`OS/ARCHITECTURE` to build for, several with commas")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.work == "" {
		o.work = filepath.Join(o.out, "work")
	}
	// Absolute: the build runs in the repository's root.
	var err error
	if o.work, err = filepath.Abs(o.work); err != nil {
		return o, fmt.Errorf("find --work: %w", err)
	}
	o.created, err = creation()
	return o, err
}

// creation is the time that is written into the image: SOURCE_DATE_EPOCH, else when the
// commit was made, else the beginning of 1970. Never now: two builds would differ.
func creation() (time.Time, error) {
	seconds, given := os.LookupEnv("SOURCE_DATE_EPOCH")
	if !given {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Unix(0, 0).UTC(), nil // no repository, such as in an unpacked source archive
		}
		seconds = strings.TrimSpace(string(out))
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q; write seconds since 1970", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

func chosenArchitectures(platforms []string) ([]architecture, error) {
	var out []architecture
next:
	for _, p := range platforms {
		for _, a := range architectures {
			if p == "linux/"+a.name {
				out = append(out, a)
				continue next
			}
		}
		return nil, fmt.Errorf("--platform %s: the database is there for linux/amd64 and linux/arm64", p)
	}
	return out, nil
}

// made is an image on its way.
type made struct {
	arch     architecture
	packages []debian.Package
	built    built
	// release is the number of the Debian release, such as 12.
	release string
	layers  []rootfs.Tree
	image   oci.Descriptor
}

// makeTrees gets all that is in an image, and checks that its programs can be loaded there.
func makeTrees(o options, a architecture) (made, error) {
	m := made{arch: a}
	var err error
	if m.packages, err = fetchBase(filepath.Join(o.work, "debian"), a.name); err != nil {
		return m, err
	}
	if m.release, err = releaseOf(m.packages); err != nil {
		return m, err
	}
	if m.built, err = build(".", filepath.Join(o.work, "linux-"+a.name), a, o.version, o.tags); err != nil {
		return m, err
	}
	base, err := baseTree(m.packages, a)
	if err != nil {
		return m, fmt.Errorf("put Debian's files together for linux/%s: %w", a.name, err)
	}
	programs, err := programTree(m.built)
	if err != nil {
		return m, fmt.Errorf("put the programs together for linux/%s: %w", a.name, err)
	}
	m.layers = []rootfs.Tree{base, programs}
	return m, checkLoading(m)
}

// checkLoading looks whether every program and library finds what it links to.
func checkLoading(m made) error {
	whole, err := whole(m.layers)
	if err != nil {
		return err
	}
	missing, err := elfcheck.Missing(whole, libraryFolders(m.arch), m.arch.machine)
	if err != nil {
		return fmt.Errorf("check the image for linux/%s: %w", m.arch.name, err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("the image for linux/%s could not run; missing:\n  %s\nAdd the package to debianPackages in tools/image/contents.go, or build with a compiler of the same Debian release",
			m.arch.name, strings.Join(missing, "\n  "))
	}
	return nil
}

// libraryFolders is where Debian's loader looks without a cache, as paths in the tree.
func libraryFolders(a architecture) []string {
	return []string{"lib/" + a.triplet, "usr/lib/" + a.triplet, "lib", "usr/lib"}
}

func whole(layers []rootfs.Tree) (rootfs.Tree, error) {
	all := rootfs.Tree{}
	for _, l := range layers {
		for _, p := range l.Paths() {
			if err := all.Add(l[p]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// releaseOf reads the release's number from base-files' os-release.
func releaseOf(packages []debian.Package) (string, error) {
	for _, p := range packages {
		for _, f := range p.Files {
			if f.Path != "usr/lib/os-release" {
				continue
			}
			for line := range strings.Lines(string(f.Data)) {
				if v, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_ID="); ok {
					return strings.Trim(v, `"`), nil
				}
			}
		}
	}
	return "", errors.New("package base-files has no VERSION_ID in /usr/lib/os-release")
}

func writeRoot(o options, chosen []architecture) error {
	if len(chosen) != 1 {
		return errors.New("--root takes the files of one platform: give one --platform")
	}
	m, err := makeTrees(o, chosen[0])
	if err != nil {
		return err
	}
	t, err := whole(m.layers)
	if err != nil {
		return err
	}
	return t.Unpack(o.root)
}
