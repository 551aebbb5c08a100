// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"strings"
	"testing"
)

// TestTooDeep: what would have the parser recurse without a limit is refused before
// it is parsed, with its line.
func TestTooDeep(t *testing.T) {
	for _, c := range []string{"[", "{a: ", "- ", "? ", "&a ", "!t "} {
		_, err := Parse("f.yaml", []byte("a: 1\nb: "+strings.Repeat(c, 100_000)), "want settings")
		if err == nil || !strings.Contains(err.Error(), "f.yaml:2") || !strings.Contains(err.Error(), "levels deep") {
			t.Errorf("%q: %v", c, err)
		}
	}
}
