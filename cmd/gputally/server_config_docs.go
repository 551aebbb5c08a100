// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

const serverConfigIntro = `# Settings of gputally server

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

// writeServerConfig prints docs/server-config.md.
func writeServerConfig(w io.Writer) error {
	var b strings.Builder
	b.WriteString(serverConfigIntro)
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
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s |\n", f.Name, kindOf(f), value, envName(f.Name), strings.ReplaceAll(f.Usage, "|", "\\|"))
	})
	_, err := io.WriteString(w, b.String())
	return err
}
