// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/tools/image/debian"
	"github.com/gputally/gputally/tools/image/oci"
	"github.com/gputally/gputally/tools/image/spdx"
)

func TestOnlyLibrariesLicencesAndTheSystemsNameAreWanted(t *testing.T) {
	amd64 := architectures[0]
	for path, want := range map[string]bool{
		"usr/lib/x86_64-linux-gnu/libc.so.6":          true,
		"usr/lib64/ld-linux-x86-64.so.2":              true,
		"usr/share/doc/libc6/copyright":               true,
		"usr/lib/os-release":                          true,
		"etc/ld.so.conf.d/x86_64-linux-gnu.conf":      true,
		"usr/lib/x86_64-linux-gnu/gconv/UTF-16.so":    false,
		"usr/share/doc/libc6/changelog.gz":            false,
		"usr/bin/sh":                                  false,
		"usr/share/gcc/python/libstdcxx/__init__.py":  false,
		"usr/lib/x86_64-linux-gnu/audit/sotruss.so":   false,
		"usr/share/ca-certificates/mozilla/Authority": false,
	} {
		if got := wanted(debian.File{Path: path}, "libc6", amd64); got != want {
			t.Errorf("wanted(%s) = %v, want %v", path, got, want)
		}
	}
}

func TestBaseTreeJoinsTheCertificates(t *testing.T) {
	cert := func(name, text string) debian.File {
		return debian.File{Path: "usr/share/ca-certificates/mozilla/" + name, Data: []byte(text)}
	}
	packages := []debian.Package{{Name: "ca-certificates", Control: "Package: ca-certificates\n", Files: []debian.File{cert("A.crt", "one\n"), cert("B.crt", "two\n")}}}
	tree, err := baseTree(packages, architectures[1])
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tree["etc/ssl/certs/ca-certificates.crt"].Data); got != "one\ntwo\n" {
		t.Errorf("certificates are %q", got)
	}
	if string(tree["var/lib/dpkg/status.d/ca-certificates"].Data) != packages[0].Control {
		t.Error("the package's control file is not where scanners look")
	}
	if e := tree["var/lib/gputally"]; e.Owner != user || !e.Folder {
		t.Errorf("/var/lib/gputally is %+v, want a folder of user %d", e, user)
	}
	if _, is := tree["lib64"]; is {
		t.Error("arm64 has no /lib64")
	}
	if _, err := baseTree(nil, architectures[0]); err == nil {
		t.Error("an image without certificates was accepted")
	}
}

func TestLicencesAreRecognizedOrLeftToPeople(t *testing.T) {
	read := func(name string) []text {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return []text{{filepath.Base(name), data}}
	}
	if got := recognized(read("../../LICENSE")); got != "Apache-2.0" {
		t.Errorf("our own licence is %q", got)
	}
	if got := recognized(read(filepath.Join(runtime.GOROOT(), "LICENSE"))); got != "BSD-3-Clause" {
		t.Errorf("Go's licence is %q", got)
	}
	two := append(read("../../LICENSE"), read(filepath.Join(runtime.GOROOT(), "LICENSE"))...)
	if got := recognized(two); got != "" {
		t.Errorf("two licences are %q, want nothing", got)
	}
	if got := recognized([]text{{"LICENSE", []byte("all rights reserved")}}); got != "" {
		t.Errorf("an unknown licence is %q, want nothing", got)
	}
}

func TestDuckDBsVersionComesFromItsModule(t *testing.T) {
	for version, want := range map[string]string{"v0.10506.0": "1.5.6", "v0.10600.2": "1.6.0", "v0.3.1": ""} {
		if got := duckDB(module{path: "github.com/duckdb/duckdb-go-bindings/lib/linux-amd64", version: version}); got != want {
			t.Errorf("bindings %s hold DuckDB %q, want %q", version, got, want)
		}
	}
	if got := duckDB(module{path: "example.com/x", version: "v0.10506.0"}); got != "" {
		t.Errorf("another module holds DuckDB %q", got)
	}
}

// TestScriptsOfTheWebPageAreNamed: with a licence that is recognized, and a name of npm's.
func TestScriptsOfTheWebPageAreNamed(t *testing.T) {
	list, err := vendored("../..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		e := moduleEntry(m, "v1")
		got = append(got, fmt.Sprintf("%s %s %s %s", e.Name, e.Version, e.LicenseDeclared, e.References[0].Locator))
	}
	want := []string{"htm 3.1.1 Apache-2.0 pkg:npm/htm@3.1.1", "preact  MIT pkg:npm/preact", "uplot 1.6.32 MIT pkg:npm/uplot@1.6.32"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBillNamesPackagesModulesAndWhatIsInsideOfThem(t *testing.T) {
	m := made{
		arch: architectures[0], release: "12", image: oci.Descriptor{Digest: "sha256:" + strings.Repeat("ab", 32)},
		packages: []debian.Package{{Name: "libstdc++6", Version: "12.2.0-14", Architecture: "amd64", Source: "gcc-12",
			Files: []debian.File{{Path: "usr/share/doc/libstdc++6", Link: "gcc-12-base"}}}},
		built: built{modules: []module{{path: "github.com/duckdb/duckdb-go-bindings/lib/linux-amd64", version: "v0.10506.0", sum: "h1:x"}, {path: mainModule}}},
	}
	data, err := bill(m, "v1+meta", "2026-12-01T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	var d spdx.Document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	var purls []string
	for _, p := range d.Packages[1:] {
		purls = append(purls, p.References[0].Locator)
	}
	for _, want := range []string{
		"pkg:deb/debian/libstdc%2B%2B6@12.2.0-14?arch=amd64&distro=debian-12",
		"pkg:golang/github.com/duckdb/duckdb-go-bindings/lib/linux-amd64@v0.10506.0",
		"pkg:github/duckdb/duckdb@v1.5.6",
		"pkg:golang/" + mainModule + "@v1%2Bmeta",
	} {
		if !slices.Contains(purls, want) {
			t.Errorf("no package %s among %v", want, purls)
		}
	}
}

func TestDockerfileBuildsWithTheSameProgramAndSettings(t *testing.T) {
	data, err := os.ReadFile("../../deploy/image/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := string(data)
	for key, value := range labels(options{version: "$VERSION", revision: "$REVISION"}) {
		if key == "org.opencontainers.image.created" {
			continue // the engine's build says when
		}
		if line := key + `="` + value + `"`; !strings.Contains(file, line) {
			t.Errorf("deploy/image/Dockerfile has no label %s", line)
		}
	}
	for _, line := range []string{"go run ./tools/image --root /image", "USER 65532:65532", `ENTRYPOINT ["/usr/local/bin/gputally"]`, "ENV PATH=/usr/local/bin:/usr/bin", "FROM scratch"} {
		if !strings.Contains(file, line) {
			t.Errorf("deploy/image/Dockerfile has no %q", line)
		}
	}
	for _, a := range architectures {
		gnu := strings.ReplaceAll(a.triplet, "_", "-")
		if !strings.Contains(file, "gcc-"+gnu) || !strings.Contains(file, "g++-"+gnu) {
			t.Errorf("deploy/image/Dockerfile installs no compiler for %s", a.name)
		}
	}
}

func TestMissingCompilerIsNamedWithItsPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, a := range architectures {
		if err := needCompilers(a); err == nil || !strings.Contains(err.Error(), "apt-get install -y --no-install-recommends g") {
			t.Errorf("without a compiler for %s: %v, want the command that installs it", a.name, err)
		}
	}
}

func TestUnknownPlatformIsRefused(t *testing.T) {
	if _, err := chosenArchitectures([]string{"linux/amd64", "linux/s390x"}); err == nil || !strings.Contains(err.Error(), "linux/s390x") {
		t.Errorf("chosenArchitectures: %v, want the platform named", err)
	}
}
