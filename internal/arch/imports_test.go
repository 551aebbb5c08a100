// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"strings"
	"testing"
)

// coreOrder is the one-way order inside core: a package may import those
// before it.
var coreOrder = []string{"wording", "access", "money", "bill", "gpu", "workload", "sample", "attribution", "usage", "signal", "demand", "activity", "journal", "expect", "pricing", "allocation", "ledger", "report", "rating", "counterfactual", "packing", "advice", "advisor", "scene", "inquiry", "guard"}

// shared are adapters that only convert shapes, read their fields or say texts in
// another language; other adapters may use them.
var shared = map[string]bool{"kubeobj": true, "strictyaml": true, "tablefile": true, "translation": true}

// TestCoreIsPure: core imports the standard library and core only, and no
// part of the library that does I/O, reads a clock or starts a goroutine.
func TestCoreIsPure(t *testing.T) {
	forbidden := []string{"os", "net", "io/ioutil", "log", "log/slog", "sync", "context", "os/exec", "syscall", "database/sql"}
	for _, p := range tree(t) {
		if !strings.HasPrefix(p.dir, "internal/core/") {
			continue
		}
		for imp := range p.imports {
			if strings.Contains(imp, ".") && !strings.HasPrefix(imp, module+"/internal/core/") {
				t.Errorf("%s imports %s: core uses the standard library and core only", p.dir, imp)
			}
			for _, f := range forbidden {
				if imp == f || strings.HasPrefix(imp, f+"/") {
					t.Errorf("%s imports %s: core does no I/O, logging or concurrency", p.dir, imp)
				}
			}
		}
	}
}

// TestCoreOrder: inside core, imports go one way.
func TestCoreOrder(t *testing.T) {
	place := map[string]int{}
	for i, name := range coreOrder {
		place[name] = i
	}
	for _, p := range tree(t) {
		name, ok := strings.CutPrefix(p.dir, "internal/core/")
		if !ok {
			continue
		}
		at, known := place[name]
		if !known {
			t.Errorf("core package %s has no place in the order: add it to coreOrder", name)
		}
		for imp := range p.imports {
			if other, ok := strings.CutPrefix(imp, module+"/internal/core/"); ok && place[other] >= at {
				t.Errorf("core/%s imports core/%s: the order is %v", name, other, coreOrder)
			}
		}
	}
}

// TestLayers: cmd -> app -> core and cmd -> adapter -> core. app and adapter
// never import each other; adapters do not know one another.
func TestLayers(t *testing.T) {
	for _, p := range tree(t) {
		for imp := range p.imports {
			to, ok := strings.CutPrefix(imp, module+"/")
			if ok {
				checkLayer(t, p.dir, to)
			}
		}
	}
}

func checkLayer(t *testing.T, from, to string) {
	t.Helper()
	in := func(path, layer string) bool { return strings.HasPrefix(path, layer+"/") }
	switch {
	case in(from, "internal/app") && (in(to, "internal/adapter") || in(to, "cmd")):
		t.Errorf("%s imports %s: an app states the interfaces it needs in ports.go", from, to)
	case in(from, "internal/adapter") && (in(to, "internal/app") || in(to, "cmd")):
		t.Errorf("%s imports %s: an adapter serves one technology and knows core only", from, to)
	case in(from, "internal/adapter") && in(to, "internal/adapter"):
		a, b := adapterOf(from), adapterOf(to)
		if a != b && !shared[b] {
			t.Errorf("%s imports %s: adapters do not know one another", from, to)
		}
	case !in(from, "test") && in(to, "test"):
		t.Errorf("%s imports %s: the product does not import its tests", from, to)
	}
}

func adapterOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "internal/adapter/"), "/")
	return name
}

// TestOnlyTheServerHasADatabase: the agent runs on every GPU node. It does not
// link the database, which is larger than all the rest of it.
func TestOnlyTheServerHasADatabase(t *testing.T) {
	byDir := map[string]*pkg{}
	for _, p := range tree(t) {
		byDir[p.dir] = p
	}
	seen := map[string]bool{}
	var walk func(dir string)
	walk = func(dir string) {
		p := byDir[dir]
		if p == nil || seen[dir] {
			return
		}
		seen[dir] = true
		for imp := range p.imports {
			if strings.HasPrefix(imp, "github.com/duckdb/") {
				t.Errorf("cmd/gputally-agent links %s through %s", imp, dir)
			}
			if to, ok := strings.CutPrefix(imp, module+"/"); ok {
				walk(to)
			}
		}
	}
	walk("cmd/gputally-agent")
	if len(seen) < 5 {
		t.Errorf("only %d packages of the agent were looked at", len(seen))
	}
}
