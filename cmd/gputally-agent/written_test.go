// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/gputally/gputally/test/written"
)

// TestWrittenCommands: every gputally-agent command line in every document, in code and in
// running text, has commands, arguments and flags that there are.
func TestWrittenCommands(t *testing.T) {
	lines, err := written.Lines("../..", "gputally-agent")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 5 {
		t.Errorf("%d lines were found", len(lines))
	}
	for _, l := range lines {
		if err := l.Check(newRoot); err != nil {
			t.Errorf("%s: %v", l, err)
		}
	}
	t.Logf("%d lines", len(lines))
}
