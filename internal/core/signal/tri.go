// SPDX-License-Identifier: Apache-2.0

package signal

// tri is yes, no, or not to be told from what was read.
type tri int

const (
	no tri = iota
	maybe
	yes
)

func when(b bool) tri {
	if b {
		return yes
	}
	return no
}

func not(t tri) tri { return yes - t }

// all is yes if every one is, and no as soon as one is, whatever is not known.
func all(ts ...tri) tri {
	out := yes
	for _, t := range ts {
		out = min(out, t)
	}
	return out
}

// either is yes as soon as one is.
func either(a, b tri) tri { return max(a, b) }
