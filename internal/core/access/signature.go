// SPDX-License-Identifier: Apache-2.0

package access

// Signature is who did something, as the trail keeps it: what somebody says of
// themselves stands behind who they are, where that is known ("" where it is not).
func Signature(user, said string) string {
	switch {
	case user == "":
		return said
	case said == "" || said == user:
		return user
	default:
		return user + " for " + said
	}
}
