// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed server_config_zh.txt
var serverConfigChinese string

const serverConfigIntro = `# Settings of gputally server

[中文](zh/server-config.md)

<!-- Made by "make docs" from the flags. Do not edit. -->

Each setting comes from, in this order: the flag; the environment variable; the file named by ` + "`--config`" + `
(or ` + "`GPUTALLY_CONFIG`" + `); the default. [An example](../config/server.example.yaml) has them all.

The file is YAML; its keys are the flags' names without the dashes. A key that is no setting is an error that
names file, line and key, and what there is. A list or a mapping in the file is replaced as a whole by the flag or
the variable. In the environment a list of files or accounts is separated by blanks, other lists and pairs by commas.
Paths are relative to where the server is started. The file is read once, at the start; the price books, the policy,
the tokens and the certificate that it names are read again when they change.

| key, flag without -- | takes | default | environment | what |
|---|---|---|---|---|
`

// writeServerConfig prints docs/server-config.md, or its Chinese side.
func writeServerConfig(w io.Writer, lang string) error {
	c, err := translation.For(lang, serverConfigChinese)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(c.Text(serverConfigIntro))
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serverFlags).define(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(flagOnly, f.Name) {
			return
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s |\n", f.Name, c.Say(kindOf(f)), value, envName(f.Name), strings.ReplaceAll(c.Say(f.Usage), "|", "\\|"))
	})
	return c.Print(w, b.String())
}
