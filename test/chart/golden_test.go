// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made matches what the chart makes anew in every rendering without a cluster.
var made = regexp.MustCompile(`(?m)^(  (?:ca\.crt|tls\.crt|tls\.key): )[A-Za-z0-9+/=]{100,}$`)

// TestGolden: each set of values gives what was read and found right.
// "go test -run TestGolden -update" rewrites the files; read the difference.
func TestGolden(t *testing.T) {
	for _, v := range variants(t) {
		t.Run(v.name, func(t *testing.T) {
			r := render(t, v.values, newest)
			var text strings.Builder
			if err := Write(&text, objects(t, r)); err != nil {
				t.Fatal(err)
			}
			text.WriteString("--- # NOTES\n" + r["NOTES.txt"])
			got := made.ReplaceAllString(text.String(), "${1}(made when it is installed)")
			path := filepath.Join("testdata", "golden", v.name+".yaml")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(read(t, path), got); d != "" {
				t.Errorf("%s: if this is right: go test ./... -run TestGolden -update (-file +now)\n%s", path, d)
			}
		})
	}
}

// TestSameTwice: what is rendered does not depend on the order of maps.
func TestSameTwice(t *testing.T) {
	for _, v := range variants(t) {
		first := ""
		for range 5 {
			var text strings.Builder
			if err := Write(&text, objects(t, render(t, v.values, newest))); err != nil {
				t.Fatal(err)
			}
			got := made.ReplaceAllString(text.String(), "${1}-")
			if first == "" {
				first = got
			}
			if got != first {
				t.Fatalf("%s: rendered twice\n%s", v.name, cmp.Diff(first, got))
			}
		}
	}
}
