// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// architecture is what differs between the machines images are made for.
type architecture struct {
	name    string // of Go and of Debian
	triplet string // of Debian's folders and compilers
	machine elf.Machine
	lib64   bool // whether the loader is in /lib64
}

var architectures = []architecture{
	{name: "amd64", triplet: "x86_64-linux-gnu", machine: elf.EM_X86_64, lib64: true},
	{name: "arm64", triplet: "aarch64-linux-gnu", machine: elf.EM_AARCH64},
}

// compilers are the C and C++ compilers for an architecture, with the package they come in.
func (a architecture) compilers() (cc, cxx, packages string) {
	if a.name == runtime.GOARCH {
		return "gcc", "g++", "gcc g++ libc6-dev"
	}
	gnu := strings.ReplaceAll(a.triplet, "_", "-") // Debian's package names have no underscore
	return a.triplet + "-gcc", a.triplet + "-g++", fmt.Sprintf("gcc-%s g++-%s libc6-dev-%s-cross", gnu, gnu, a.name)
}

// needCompilers says which packages to install where a compiler is missing.
func needCompilers(a architecture) error {
	cc, cxx, packages := a.compilers()
	for _, c := range []string{cc, cxx} {
		if _, err := exec.LookPath(c); err != nil {
			return fmt.Errorf("%s is needed for linux/%s; on Debian or Ubuntu: sudo apt-get install -y --no-install-recommends %s", c, a.name, packages)
		}
	}
	return nil
}

// The programs of the image, by their folders below cmd.
var programNames = []string{"gputally", "gputally-agent"}

// program is one built program.
type program struct {
	name string
	data []byte
}

// built is what a build for one architecture gave.
type built struct {
	programs []program
	// modules are all Go modules in the programs, sorted, the main one and Go itself among them.
	modules []module
}

// build builds the programs as "make build" does, and reads which modules are in them.
// root is the repository.
func build(root, out string, a architecture, version, tags string) (built, error) {
	if err := needCompilers(a); err != nil {
		return built{}, err
	}
	cc, cxx, _ := a.compilers()
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w -buildid= -X main.version=" + version, "-o", out + "/"}
	for _, name := range programNames {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS=linux", "GOARCH="+a.name, "GOFLAGS=", "CC="+cc, "CXX="+cxx)
	if said, err := cmd.CombinedOutput(); err != nil {
		return built{}, fmt.Errorf("build the programs for linux/%s: %w\n%s", a.name, err, bytes.TrimSpace(said))
	}
	return readPrograms(root, out, a)
}

func readPrograms(root, dir string, a architecture) (built, error) {
	var b built
	modules := map[string]debug.Module{}
	goVersion := ""
	for _, name := range programNames {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return built{}, fmt.Errorf("read program %s for linux/%s: %w", name, a.name, err)
		}
		info, err := buildinfo.Read(bytes.NewReader(data))
		if err != nil {
			return built{}, fmt.Errorf("read what program %s was built from: %w", name, err)
		}
		goVersion = info.GoVersion
		b.programs = append(b.programs, program{name, data})
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path] = *m
		}
	}
	var err error
	b.modules, err = describe(root, modules, goVersion)
	return b, err
}

// module is a Go module that is in a program.
type module struct {
	path, version, sum string
	licences           []text
}

// text is a file with a licence or a notice.
type text struct {
	name string
	text []byte
}

// licenceFolder is where the image keeps a module's licences.
func (m module) licenceFolder() string { return "usr/share/doc/gputally/licenses/" + m.path }

// describe finds the licences of modules where Go keeps their source, and adds Go itself.
func describe(root string, modules map[string]debug.Module, goVersion string) ([]module, error) {
	folders, err := moduleFolders(root)
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(goVersion, "go")
	out := []module{{path: "stdlib", version: version}}
	folders["stdlib"] = runtime.GOROOT()
	for _, m := range modules {
		out = append(out, module{path: m.Path, version: m.Version, sum: m.Sum})
	}
	out = append(out, module{path: mainModule})
	folders[mainModule] = root
	slices.SortFunc(out, func(a, b module) int { return strings.Compare(a.path, b.path) })
	for i := range out {
		if out[i].licences, err = licencesIn(folders[out[i].path]); err != nil {
			return nil, fmt.Errorf("licences of %s: %w", out[i].path, err)
		}
		if len(out[i].licences) == 0 {
			return nil, fmt.Errorf("licences of %s: no file LICENSE, COPYING or NOTICE in %s; find out under which terms it may be delivered", out[i].path, folders[out[i].path])
		}
	}
	scripts, err := vendored(root)
	if err != nil {
		return nil, err
	}
	return append(out, scripts...), nil
}

const mainModule = "github.com/gputally/gputally"

// moduleFolders tells where the sources of all modules are.
func moduleFolders(root string) (map[string]string, error) {
	cmd := exec.Command("go", "list", "-m", "-json", "all")
	cmd.Dir = root
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	out := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(said)); ; {
		var m struct{ Path, Dir string }
		if err := dec.Decode(&m); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("list modules: %w", err)
		}
		out[m.Path] = m.Dir
	}
}

// licencesIn are the licence files of a folder.
func licencesIn(dir string) ([]text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []text
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if !e.Type().IsRegular() || !(strings.HasPrefix(name, "LICEN") || strings.HasPrefix(name, "COPYING") || strings.HasPrefix(name, "NOTICE") || strings.HasPrefix(name, "PATENTS")) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, text{e.Name(), data})
	}
	return out, nil
}
