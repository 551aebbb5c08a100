// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/gputally/gputally"

// pkg is one package of the module as its files state it.
type pkg struct {
	dir     string // relative to the root, with slashes
	name    string
	doc     string
	imports map[string]bool // of non-test files
	files   []string
}

// tree reads every package of the module with go/parser. It starts no other
// program: the answer of one would be served stale from the test cache.
func tree(t *testing.T) []*pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	var order []*pkg
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			t.Fatalf("parse %s: %v", path, err)
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		p := byDir[dir]
		if p == nil {
			p = &pkg{dir: dir, name: f.Name.Name, imports: map[string]bool{}}
			byDir[dir] = p
			order = append(order, p)
		}
		p.add(f, path)
	})
	if len(order) < 5 {
		t.Fatalf("found %d packages under %s: is the root right?", len(order), root)
	}
	return order
}

func (p *pkg) add(f *ast.File, path string) {
	p.files = append(p.files, path)
	if f.Doc != nil {
		p.doc += f.Doc.Text()
	}
	for _, spec := range f.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			p.imports[name] = true
		}
	}
}

const root = "../.."

// walk calls f for every file of the module, nested modules left out.
func walk(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || isNestedModule(path) || d.Name() == "testdata" || d.Name() == "build" || d.Name() == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		f(filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func isNestedModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
