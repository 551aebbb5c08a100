// SPDX-License-Identifier: Apache-2.0

package access

// Denied says that a request may not go on. It is told to the client: it says what
// is missing, never what would be right.
type Denied struct {
	// Known says that it is clear who asks, and that they may not; else nobody
	// knows who asks.
	Known bool
	// Why is for people; it says the same as long as nothing changes.
	Why string
	// Hint is what to do about it.
	Hint string
}

func (d *Denied) Error() string {
	if d.Hint == "" {
		return d.Why
	}
	return d.Why + " (" + d.Hint + ")"
}
