// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPackageSaysWhatItOwns: a package doc of at least two sentences, or
// for a main package a line.
func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	for _, p := range tree(t) {
		switch {
		case strings.TrimSpace(p.doc) == "":
			t.Errorf("%s: no package doc: say what it owns and what it does not", p.dir)
		case p.name != "main" && strings.Count(p.doc, ".") < 2:
			t.Errorf("%s: the package doc is one sentence: say what it does not own, too", p.dir)
		}
	}
}

// TestNames: files and packages are named for the thing, never for the kind.
func TestNames(t *testing.T) {
	bad := regexp.MustCompile(`^(util|utils|common|helper|helpers|types|misc|constants|consts|variables|models)(\.go)?$`)
	walk(t, func(path string) {
		for _, part := range strings.Split(path, "/") {
			if bad.MatchString(part) {
				t.Errorf("%s: %q names a kind, not a thing", path, part)
			}
		}
	})
}

// TestLicenseLine: every Go and C source begins with its licence.
func TestLicenseLine(t *testing.T) {
	walk(t, func(path string) {
		switch filepath.Ext(path) {
		case ".go", ".c", ".h":
		default:
			return
		}
		head := firstLine(t, path)
		if !strings.Contains(head, "SPDX-License-Identifier: Apache-2.0") {
			t.Errorf("%s: the first line is %q, not the SPDX licence line", path, head)
		}
	})
}

func firstLine(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line)
}

// TestDependenciesAreExplained: each direct dependency in go.mod has a row in
// docs/dependencies.md, and each row there is a dependency.
func TestDependenciesAreExplained(t *testing.T) {
	direct := directDependencies(t)
	doc, err := os.ReadFile(filepath.Join(root, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(doc), -1) {
		rows[m[1]] = true
	}
	for mod := range direct {
		if !rows[mod] {
			t.Errorf("%s is a direct dependency without a row in docs/dependencies.md: what for, and why this one", mod)
		}
	}
	for mod := range rows {
		if !direct[mod] {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require directly", mod)
		}
	}
}

func directDependencies(t *testing.T) map[string]bool {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]bool{}
	in := false
	for sc := bufio.NewScanner(f); sc.Scan(); {
		line := strings.TrimSpace(sc.Text())
		switch {
		case strings.HasPrefix(line, "require ("):
			in = true
		case line == ")":
			in = false
		case strings.HasPrefix(line, "replace"):
			t.Errorf("go.mod has %q: no replace lines", line)
		case in && line != "" && !strings.HasSuffix(line, "// indirect"):
			out[strings.Fields(line)[0]] = true
		}
	}
	return out
}

// TestNothingIsTooLong: no file of the product so long that a reader gets
// lost, generated and table files apart.
func TestNothingIsTooLong(t *testing.T) {
	const limit = 500
	for _, p := range tree(t) {
		if strings.HasPrefix(p.dir, "test/") {
			continue
		}
		for _, path := range p.files {
			b, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(b, []byte("\n")); n > limit {
				t.Errorf("%s has %d lines (limit %d): which rooms does it hold?", path, n, limit)
			}
		}
	}
}
