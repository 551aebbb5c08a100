// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/promexport"
)

func newDocs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "docs", Hidden: true, Short: "Print the generated references", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{Use: "metrics", Short: "Print docs/metrics.md", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return promexport.WriteDocs(c.OutOrStdout()) }},
		&cobra.Command{Use: "flags", Short: "Print docs/flags.md", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return writeFlags(c.OutOrStdout(), newRoot()) }},
	)
	return cmd
}

const flagsIntro = `# Commands and flags of gputally-agent

<!-- Made by "make docs" from the command tree. Do not edit. -->

Each setting comes from, in this order: the flag; the environment variable; the file named by
` + "`--config`" + `, whose keys are the flags' names ([example](../config/agent.example.yaml)); the default. A key in
the file that is no setting is an error. In the environment a list is separated by blanks.
`

// writeFlags prints docs/flags.md.
func writeFlags(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString(flagsIntro)
	fmt.Fprintf(&b, "\n## gputally-agent, gputally-agent run\n\n%s\n\n", find(root, "run").Short)
	writeTable(&b, find(root, "run").Flags())
	for _, c := range root.Commands() {
		if c.Name() != "run" {
			writeCommand(&b, c)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func find(root *cobra.Command, name string) *cobra.Command {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	return root.Commands()[i]
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n", c.UseLine(), text)
	if c.LocalFlags().HasAvailableFlags() {
		b.WriteString("\n")
		writeTable(b, c.LocalFlags())
	}
	for _, sub := range c.Commands() {
		writeCommand(b, sub)
	}
}

func writeTable(b *strings.Builder, fs *pflag.FlagSet) {
	known := allSettings()
	b.WriteString("| flag | default | environment | what |\n|---|---|---|---|\n")
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		arg, usage := pflag.UnquoteUsage(f)
		name := "`--" + strings.TrimSpace(f.Name+" "+arg) + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		env := ""
		if known.Lookup(f.Name) != nil && f.Name != "check-config" {
			env = "`" + envName(f.Name) + "`"
		}
		value := f.DefValue
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, value, env, strings.ReplaceAll(usage, "|", "\\|"))
	})
}
