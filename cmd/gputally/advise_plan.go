// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newAdvisePlan() *cobra.Command {
	var a ask
	var out output
	var at, cluster string
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show which nodes each cluster could give back, step by step",
		Long: `Plan looks where pods of the last hour could go so that nodes become empty: as the pods
are, and with the MIG profiles that are advised for them; the one that saves more is
shown. Money of a plan exists only when all of it is done, so nothing of it is added to
what single changes save. The steps are in an order in which each can be done.

Records do not tell of pods without GPUs, node selectors, taints or volumes: a plan is a
place to begin, not an order.`,
		Example: `  gputally advise plan
  gputally advise plan --cluster prod -o json | jq '.clusters[].steps'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				end := progressOf(c).waiting("plans from 28 days of records")
				plans, err := server.AdvicePlans(ctx, at, cluster)
				end()
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), plans, func() string { return reportview.AdvicePlans(&plans) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	c.Flags().StringVar(&at, "at", "", "as of a day, such as 2026-11-20 (default: now)")
	c.Flags().StringVar(&cluster, "cluster", "", "of this cluster")
	return c
}
