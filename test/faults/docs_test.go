// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testFunc = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(t `)

// TestDocumentNamesTests: every test that docs/faults.md names exists, and every
// fault test of this package is named there.
func TestDocumentNamesTests(t *testing.T) {
	const document = "../../docs/faults.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, dir := range []string{"../../internal", ".."} {
		for name := range testsIn(t, dir) {
			exists[name] = true
		}
	}
	named := map[string]bool{"TestDocumentNamesTests": true, "TestMain": true}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1) {
		named[name[1]] = true
		if !exists[name[1]] {
			t.Errorf("%s names %s, which does not exist", document, name[1])
		}
	}
	for name := range testsIn(t, ".") {
		if !named[name] {
			t.Errorf("%s does not name %s", document, name)
		}
	}
}

// testsIn are the names of the tests in a folder and below.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
