// SPDX-License-Identifier: Apache-2.0

package access

import "testing"

// TestSignature: what somebody says never stands in place of who they are.
func TestSignature(t *testing.T) {
	for _, x := range []struct{ user, said, want string }{
		{"", "bob", "bob"}, {"", "", ""}, {"ada", "", "ada"}, {"ada", "ada", "ada"}, {"ada", "bob", "ada for bob"},
	} {
		if got := Signature(x.user, x.said); got != x.want {
			t.Errorf("%q who says %q is %q, want %q", x.user, x.said, got, x.want)
		}
	}
}
