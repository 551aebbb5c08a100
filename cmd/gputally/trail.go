// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newTrail() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "trail",
		Short: "Show who did what to the ledger",
		Long: `Trail lists who closed or forced a month, changed prices or the policy, or imported
a bill. Each event holds the hash of the one before, so that none can be taken out.`,
		Example: `  gputally trail
  gputally trail -o json | jq '.[] | select(.action == "close")'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				events, err := server.Trail(ctx)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), events, func() string { return reportview.Trail(events) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}
