// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/test/written"
)

// TestWrittenCommands: every gputally command line in every document, in code and in
// running text, has commands, arguments and flags that there are.
func TestWrittenCommands(t *testing.T) {
	for program, root := range map[string]func() *cobra.Command{
		"gputally": newRoot,
		"kubectl gputally": func() *cobra.Command {
			plugin = &kubectl{}
			defer func() { plugin = nil }()
			return newRoot()
		},
	} {
		lines, err := written.Lines("../..", program)
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) < 5 {
			t.Errorf("%d lines of %s were found", len(lines), program)
		}
		for _, l := range lines {
			if err := l.Check(root); err != nil {
				t.Errorf("%s: %v", l, err)
			}
		}
		t.Logf("%d lines of %s", len(lines), program)
	}
}
