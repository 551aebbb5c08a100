// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/ledgermetrics"
	"github.com/gputally/gputally/internal/adapter/translation"
)

func newDocs() *cobra.Command {
	c := &cobra.Command{
		Use: "docs", Hidden: true, Short: "Print the generated references", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		&cobra.Command{Use: "cli", Short: "Print docs/cli.md", Args: cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return writeCLI(c.OutOrStdout(), newRoot()) }},
		inLanguages(&cobra.Command{Use: "metrics", Short: "Print docs/server-metrics.md"}, ledgermetrics.WriteDocs),
		inLanguages(&cobra.Command{Use: "server-config", Short: "Print docs/server-config.md"}, writeServerConfig),
		&cobra.Command{Use: "openapi", Short: "Print docs/api/openapi.yaml", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			text, err := api.Document()
			if err == nil {
				_, err = c.OutOrStdout().Write(text)
			}
			return err
		}},
	)
	return c
}

// inLanguages makes a command print a reference that there is in several languages.
func inLanguages(c *cobra.Command, write func(io.Writer, string) error) *cobra.Command {
	lang := c.Flags().String("lang", translation.English, "language: en or zh")
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return write(c.OutOrStdout(), *lang) }
	return c
}

const cliIntro = `# Commands of gputally

<!-- Made by "make docs" from the commands. Do not edit. -->

Commands that ask a server have these flags, too; their answers are those of the [HTTP API](api/README.md):

| flag | environment | what |
|---|---|---|
| ` + "`--server` | `" + envServer + "`" + ` | its address (` + "`" + client.DefaultServer + "`" + `) |
| ` + "`--token-file` | `" + envTokenFile + "`" + ` | file with the token that lets you in |
| ` + "`--ca-file` | `" + envCAFile + "`" + ` | certificates in PEM that the server's is checked against, instead of the system's |

The node agent's flags are in [flags.md](flags.md).

Exit codes: 0 the answer is there; 1 the command failed, or a check did not hold; 2 the command line or an input file is wrong.
Answers go to standard output, everything else to standard error.
`

// writeCLI prints docs/cli.md.
func writeCLI(w io.Writer, root *cobra.Command) error {
	var b strings.Builder
	b.WriteString(cliIntro)
	for _, c := range root.Commands() {
		writeCommand(&b, c, 2)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCommand(b *strings.Builder, c *cobra.Command, depth int) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	use := strings.TrimSuffix(c.UseLine(), " [flags]")
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", depth), use)
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(text + "\n")
	if c.Example != "" {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", unindent(c.Example))
	}
	if len(c.Commands()) == 0 {
		writeFlags(b, c.LocalFlags())
	}
	for _, below := range c.Commands() {
		writeCommand(b, below, depth+1)
	}
}

func unindent(text string) string {
	in := strings.Split(text, "\n")
	for i := range in {
		in[i] = strings.TrimPrefix(in[i], "  ")
	}
	return strings.Join(in, "\n")
}

// writeFlags lists flags, but for those that say which server is asked.
func writeFlags(b *strings.Builder, fs *pflag.FlagSet) {
	asks := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(ask).define(asks)
	header := "\n| flag | default | what |\n|---|---|---|\n"
	fs.VisitAll(func(f *pflag.Flag) {
		if same := asks.Lookup(f.Name); f.Name == "help" || f.Hidden || same != nil && same.Usage == f.Usage {
			return
		}
		b.WriteString(header)
		header = ""
		writeFlag(b, f)
	})
}

func writeFlag(b *strings.Builder, f *pflag.Flag) {
	arg, usage := pflag.UnquoteUsage(f)
	name := "`--" + strings.TrimSpace(f.Name+" "+arg) + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	value := "`" + f.DefValue + "`"
	if f.DefValue == "" || f.DefValue == "[]" || f.DefValue == "false" {
		value = ""
	}
	fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, strings.ReplaceAll(usage, "|", "\\|"))
}
