// SPDX-License-Identifier: Apache-2.0

package bill

// Filed is an import as a store keeps it: what it was, and its sums. It stands
// until the same source files the same billing period again.
type Filed struct {
	Source string `json:"source"`
	Period Period `json:"period"`
	// Hash is of the content; the same content again changes nothing.
	Hash  string   `json:"hash"`
	Files []string `json:"files,omitempty"`
	Lines int64    `json:"lines"`
	// AtMS is when it was filed, Unix milliseconds, and By who did it.
	AtMS   int64      `json:"at_ms"`
	By     string     `json:"by,omitempty"`
	Totals []FiledSum `json:"totals,omitempty"`
}

// FiledSum is a Total with its sum as a decimal number.
type FiledSum struct {
	Total
	Amount string `json:"amount"`
}
