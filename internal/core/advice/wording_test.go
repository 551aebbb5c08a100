// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/wording"
)

// TestEverySentenceIsSaid: every call that names a sentence names one that is there, with as
// many values as it has gaps, and no sentence is there that nobody says.
func TestEverySentenceIsSaid(t *testing.T) {
	said := map[string]bool{}
	for _, dir := range []string{".", "../demand", "../advisor", "../../app/advising"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range files {
			if !strings.HasSuffix(name, "_test.go") {
				callsOf(t, name, said)
			}
		}
	}
	for _, code := range Wording.Codes() {
		if !said[code] {
			t.Errorf("%s (%q) is said nowhere", code, Wording.English(code))
		}
	}
}

// callsOf notes every string of a file that is a code, and holds calls with one to it.
func callsOf(t *testing.T, name string, said map[string]bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if m, ok := n.(*ast.KeyValueExpr); ok { // the catalogue itself
			if _, isCode := m.Key.(*ast.BasicLit); isCode {
				return false
			}
		}
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if code, err := strconv.Unquote(l.Value); err == nil {
				said[code] = true
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 || !says(call.Fun) {
			return true
		}
		l, ok := call.Args[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		code, err := strconv.Unquote(l.Value)
		if err != nil {
			t.Fatal(err)
		}
		gaps := strings.Count(english(code), "{")
		if english(code) == "" || gaps != len(call.Args)-1 {
			t.Errorf("%s says %q with %d values, there are %d gaps", name, code, len(call.Args)-1, gaps)
		}
		return true
	})
}

func english(code string) string {
	for _, c := range Wording.Codes() {
		if c == code {
			return Wording.English(code)
		}
	}
	return ""
}

func says(f ast.Expr) bool {
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name == "Say" || f.Name == "say" || f.Name == "note"
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && x.Name == "advice" && f.Sel.Name == "Say"
	}
	return false
}

// TestEverySentenceIsUnderstood: each is read back as itself, whatever people wrote into
// its gaps: names with slashes and spaces, amounts, and other sentences.
func TestEverySentenceIsUnderstood(t *testing.T) {
	for _, value := range []string{"Deployment/web", "12", "3.50 GiB", "2.00 EUR", "2 of 3", "off until 2027-01-31: we know of it"} {
		for _, code := range Wording.Codes() {
			want := wording.Said{Code: code, Values: map[string]string{}}
			parts := strings.Split(Wording.English(code), "{")
			for _, part := range parts[1:] {
				gap, _, _ := strings.Cut(part, "}")
				want.Values[gap] = value
			}
			text := Wording.Text(want)
			if got, ok := Wording.Understand(text); !ok || got.Code != code || Wording.Text(got) != text {
				t.Errorf("%s: %q is read as %+v, %v", code, text, got, ok)
			}
		}
	}
	for _, text := range []string{"", "held_bytes", "max", "7g.80gb", "NVIDIA A100-SXM4-80GB", "--gpu-memory-utilization 0.55"} {
		if got, ok := Wording.Understand(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
