// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newAdviseVerify() *cobra.Command {
	var a ask
	var out output
	var applied string
	c := &cobra.Command{
		Use:   "verify ID",
		Short: "Compare before and after a change: what it really came to",
		Long: `Verify compares seven days before the change with seven days after it: what the nodes of
the cluster cost, what the workload was charged, what was idle, how much the GPUs worked,
whether requests waited, were preempted, or pods restarted or hang. Where the work moved by
more than a fifth, or a price or the policy changed, the two times do not compare, and it
says which. Where something got worse it prints the way back. Before seven days have passed
it shows figures on the way, of the same days of the week.`,
		Example: `  gputally advise verify 5d0c8e2f91ab37c4
  gputally advise verify 5d0c8e2f91ab37c4 --applied 2026-11-20`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := parseDay("applied", applied); err != nil {
				return err
			}
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				v, err := server.VerifyAdvice(ctx, args[0], applied)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), v, func() string { return reportview.AdviceVerdict(&v) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	c.Flags().StringVar(&applied, "applied", "", "when the change was made (default: as it was said when it was accepted)")
	return c
}
