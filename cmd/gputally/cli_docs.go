// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed cli_zh.txt
var cliChinese string

const cliIntro = `# Commands of gputally

[中文](zh/cli.md)

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

// writeCLI prints docs/cli.md, or its Chinese side.
func writeCLI(w io.Writer, lang string) error {
	zh, err := translation.For(lang, cliChinese)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(zh.Text(cliIntro))
	for _, c := range newRoot().Commands() {
		writeCommand(&b, zh, c, 2)
	}
	return zh.Print(w, b.String())
}

func writeCommand(b *strings.Builder, zh *translation.Catalogue, c *cobra.Command, depth int) {
	if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
		return
	}
	use := strings.TrimSuffix(c.UseLine(), " [flags]")
	fmt.Fprintf(b, "\n%s %s\n\n", strings.Repeat("#", depth), use)
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(zh.Text(text) + "\n")
	if c.Example != "" {
		b.WriteString(zh.Text("\n```sh\n" + unindent(c.Example) + "\n```\n"))
	}
	if c.Name() == "server" {
		b.WriteString(zh.Text("\nIts flags are in [server-config.md](server-config.md).\n"))
	} else if c.Runnable() {
		writeFlags(b, zh, c.LocalFlags())
	}
	for _, below := range c.Commands() {
		writeCommand(b, zh, below, depth+1)
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
func writeFlags(b *strings.Builder, zh *translation.Catalogue, fs *pflag.FlagSet) {
	asks := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(ask).define(asks)
	header := "\n| flag | default | what |\n|---|---|---|\n"
	fs.VisitAll(func(f *pflag.Flag) {
		if same := asks.Lookup(f.Name); f.Name == "help" || f.Hidden || same != nil && same.Usage == f.Usage {
			return
		}
		b.WriteString(zh.Text(header))
		header = ""
		writeFlag(b, zh, f)
	})
}

func writeFlag(b *strings.Builder, zh *translation.Catalogue, f *pflag.Flag) {
	arg, usage := pflag.UnquoteUsage(f)
	name := "`--" + strings.TrimSpace(f.Name+" "+arg) + "`"
	if f.Shorthand != "" {
		name = "`-" + f.Shorthand + "`, " + name
	}
	value := "`" + f.DefValue + "`"
	if f.DefValue == "" || f.DefValue == "[]" || f.DefValue == "false" {
		value = ""
	}
	fmt.Fprintf(b, "| %s | %s | %s |\n", name, value, strings.ReplaceAll(zh.Say(usage), "|", "\\|"))
}
