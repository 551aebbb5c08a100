// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/translation"
	"github.com/gputally/gputally/internal/core/guard"
)

//go:embed guard_zh.txt
var guardChinese string

func newGuardDocs() *cobra.Command {
	return inLanguages(&cobra.Command{Use: "guard", Short: "Print docs/guardrails.md"}, writeGuardDocs)
}

// writeGuardDocs prints docs/guardrails.md, or its Chinese side.
func writeGuardDocs(w io.Writer, lang string) error {
	c, err := translation.For(lang, guardChinese)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(c.Text(guardIntro))
	b.WriteString(c.Text("## Severities\n\n| severity | when |\n|---|---|\n"))
	for _, s := range guard.Severities() {
		fmt.Fprintf(&b, "| **%s** | %s |\n", s, c.Say(s.Means()))
	}
	b.WriteString(c.Text("\n## Rules\n\nIds are stable.\n"))
	for _, r := range guard.Rules() {
		writeRule(&b, c, r)
	}
	b.WriteString(c.Text(guardTried))
	b.WriteString(c.Text(guardOutro))
	return c.Print(w, b.String())
}

func writeRule(b *strings.Builder, c *translation.Catalogue, r guard.Rule) {
	var words []string
	for _, s := range r.Severities {
		words = append(words, s.String())
	}
	fmt.Fprintf(b, "\n### %s: %s\n\n%s\n\n", r.ID, r.Name, c.Say(r.Title))
	fmt.Fprintf(b, "- %s %s. %s\n", c.Say("**Severity:**"), strings.Join(words, ", "), c.Say(sentence(r.When)))
	fmt.Fprintf(b, "- %s %s\n", c.Say("**Why it matters:**"), c.Say(r.Why))
	fmt.Fprintf(b, "- %s %s\n", c.Say("**Fix:**"), c.Say(sentence(r.Fix)))
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
