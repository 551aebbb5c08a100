// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestFiltersComeBack: whatever values a filter has, written and read they are the
// same.
func TestFiltersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Filter{By: rapid.StringMatching(`[a-z:./]{1,20}`).Draw(t, "by"), Not: rapid.Bool().Draw(t, "not"), In: rapid.SliceOfN(rapid.StringMatching(`[a-z,\\=! ]{0,8}`), 1, 4).Draw(t, "in")}
		escaped := make([]string, len(want.In))
		for i, v := range want.In {
			escaped[i] = strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(v)
		}
		text := want.By
		if want.Not {
			text += "!"
		}
		text += "=" + strings.Join(escaped, ",")
		if got, err := ParseFilter(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is read as %+v, %v; want %+v", text, got, err, want)
		}
	})
	for _, text := range []string{"", "namespace", "=x", "!=x"} {
		if _, err := ParseFilter(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
