// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/promexport"
	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed flags_zh.txt
var flagsChinese string

func newDocs() *cobra.Command {
	cmd := &cobra.Command{
		Use: "docs", Hidden: true, Short: "Print the generated references", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	lang := cmd.PersistentFlags().String("lang", translation.English, "language: en or zh")
	cmd.AddCommand(
		&cobra.Command{Use: "metrics", Short: "Print docs/metrics.md", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return promexport.WriteDocs(c.OutOrStdout(), *lang) }},
		&cobra.Command{Use: "flags", Short: "Print docs/flags.md", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return writeFlags(c.OutOrStdout(), newRoot(), *lang) }},
	)
	return cmd
}

const flagsIntro = `# Commands and flags of gputally-agent

[中文](zh/flags.md)

<!-- Made by "make docs" from the command tree. Do not edit. -->

Each setting comes from, in this order: the flag; the environment variable; the file named by
` + "`--config`" + `, whose keys are the flags' names ([example](../config/agent.example.yaml)); the default. A key in
the file that is no setting is an error. In the environment a list is separated by blanks.
`

// writeFlags prints docs/flags.md, or its Chinese side.
func writeFlags(w io.Writer, root *cobra.Command, lang string) error {
	c, err := translation.For(lang, flagsChinese)
	if err != nil {
		return err
	}
	d := flagDocs{Catalogue: c}
	d.b.WriteString(d.Text(flagsIntro))
	fmt.Fprintf(&d.b, "\n## gputally-agent, gputally-agent run\n\n%s\n\n", d.Say(find(root, "run").Short))
	d.table(find(root, "run").Flags())
	for _, c := range root.Commands() {
		if c.Name() != "run" {
			d.command(c)
		}
	}
	return d.Print(w, d.b.String())
}

// flagDocs are docs/flags.md while they are written.
type flagDocs struct {
	*translation.Catalogue
	b strings.Builder
}

func find(root *cobra.Command, name string) *cobra.Command {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	return root.Commands()[i]
}

func (d *flagDocs) command(c *cobra.Command) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	fmt.Fprintf(&d.b, "\n## %s\n\n%s\n", c.UseLine(), d.Text(text))
	if c.LocalFlags().HasAvailableFlags() {
		d.b.WriteString("\n")
		d.table(c.LocalFlags())
	}
	for _, sub := range c.Commands() {
		d.command(sub)
	}
}

func (d *flagDocs) table(fs *pflag.FlagSet) {
	known := allSettings()
	d.b.WriteString(d.Text("| flag | default | environment | what |\n|---|---|---|---|\n"))
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
		fmt.Fprintf(&d.b, "| %s | %s | %s | %s |\n", name, value, env, strings.ReplaceAll(d.Say(usage), "|", "\\|"))
	})
}
