// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/ledgermetrics"
	"github.com/gputally/gputally/internal/adapter/translation"
)

func newDocs() *cobra.Command {
	c := &cobra.Command{
		Use: "docs", Hidden: true, Short: "Print the generated references", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		inLanguages(&cobra.Command{Use: "cli", Short: "Print docs/cli.md"}, writeCLI),
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
