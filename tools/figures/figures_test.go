// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFiguresAreUpToDate: the Chinese pages have the figures of the English ones.
func TestFiguresAreUpToDate(t *testing.T) {
	made, err := pages("../../docs")
	if err != nil {
		t.Fatal(err)
	}
	if len(made) < 5 {
		t.Errorf("%d pages with measured parts", len(made))
	}
	for path, want := range made {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is out of date: make docs (-want +got):\n%s", path, diff)
		}
	}
}

// TestFilled: parts that are not those of the English page are not filled.
func TestFilled(t *testing.T) {
	english := part.FindAllStringSubmatch("<!-- generated: a -->\n\n| 1 |\n\n<!-- end of generated -->\n", -1)
	for page, fits := range map[string]bool{
		"x\n<!-- generated: a -->\n<!-- end of generated -->\ny": true,
		"<!-- generated: b -->\n<!-- end of generated -->":       false,
		"without": false,
	} {
		got, err := filled(nil, page, english)
		if fits != (err == nil) || fits && got != "x\n<!-- generated: a -->\n\n| 1 |\n\n<!-- end of generated -->\ny" {
			t.Errorf("%q: %q, %v", page, got, err)
		}
	}
}
