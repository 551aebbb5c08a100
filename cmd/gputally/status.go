// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newStatus() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how the ledger stands",
		Long: `Status asks the server what it received and rated up to when, which hours wait,
which price books and which policy are in force, which months are closed, and what
went wrong last. What needs somebody stands first.`,
		Example: `  gputally status
  gputally status --server https://gputally.example:9403 --token-file ~/.gputally-token
  gputally status -o json | jq .rating.due_hours`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				s, err := server.Status(ctx)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), s, func() string { return reportview.Status(&s) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}
