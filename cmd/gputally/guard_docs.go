// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/core/guard"
)

func newGuardDocs() *cobra.Command {
	return &cobra.Command{Use: "guard", Short: "Print docs/guardrails.md", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return writeGuardDocs(c.OutOrStdout()) }}
}

// writeGuardDocs prints docs/guardrails.md.
func writeGuardDocs(w io.Writer) error {
	var b strings.Builder
	b.WriteString(guardIntro)
	b.WriteString("## Severities\n\n| severity | when |\n|---|---|\n")
	for _, s := range guard.Severities() {
		fmt.Fprintf(&b, "| **%s** | %s |\n", s, s.Means())
	}
	b.WriteString("\n## Rules\n\nIds are stable.\n")
	for _, r := range guard.Rules() {
		var words []string
		for _, s := range r.Severities {
			words = append(words, s.String())
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n- **Severity:** %s. %s.\n- **Why it matters:** %s\n- **Fix:** %s.\n",
			r.ID, r.Name, r.Title, strings.Join(words, ", "), sentence(r.When), r.Why, sentence(r.Fix))
	}
	b.WriteString(guardTried)
	b.WriteString(guardOutro)
	_, err := io.WriteString(w, b.String())
	return err
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
