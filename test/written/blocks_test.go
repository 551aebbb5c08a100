// SPDX-License-Identifier: Apache-2.0

package written

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTyped(t *testing.T) {
	text := strings.ReplaceAll(`# One

'''sh
before
'''

## Two

Type:

'''sh
# a comment
a --b "c # d"   # and another

e \
  --f
'''

It says:

'''
nothing to type
'''

    g &

    h > i

Then:

    j

### Three

    behind
`, "'''", "```")
	want := [][]string{{`a --b "c # d"   # and another`, "e   --f"}, {"g &", "h > i"}, {"j"}}
	if diff := cmp.Diff(want, Typed(text, "## Two")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Typed(text, "## Four"); got != nil {
		t.Errorf("%q under a heading that is not there", got)
	}
}

// TestInstallIsWrittenAlike: wherever installing on Kubernetes is told, it is told in the
// words of the quick start, which test/cluster types on a real node.
func TestInstallIsWrittenAlike(t *testing.T) {
	read := func(file, heading string) [][]string {
		t.Helper()
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := Typed(string(text), heading)
		if len(blocks) == 0 {
			t.Fatalf("%s has no commands under %s", file, heading)
		}
		return blocks
	}
	start := read("docs/guide/quick-start.md", "## On Kubernetes")
	if diff := cmp.Diff(start[0], read("README.md", "## Install on Kubernetes")[0]); diff != "" {
		t.Errorf("README.md (-quick start +it):\n%s", diff)
	}
	guide := read("docs/install.md", "# Installing on Kubernetes")
	for i := range guide[0] {
		guide[0][i] = strings.Replace(guide[0][i], "cluster=NAME", "cluster=my-cluster", 1)
	}
	if diff := cmp.Diff(start[0], guide[0]); diff != "" {
		t.Errorf("docs/install.md (-quick start +it):\n%s", diff)
	}
	for _, line := range start[1] {
		if !strings.HasSuffix(line, "status") && !slices.Contains(guide[1], line) {
			t.Errorf("docs/install.md does not tell %q", line)
		}
	}
}
