// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newAdviseHours() *cobra.Command {
	var a ask
	var out output
	var span spanFlags
	var cluster string
	c := &cobra.Command{
		Use:   "hours NAMESPACE/KIND/NAME",
		Short: "Show what a workload did, hour by hour, with the rule that says so",
		Long: `Hours lists each hour of each pod of a workload: its class, the number of the rule that
gave it, what the rule looked at, and why nothing finer can be told. The rules are in
docs/utilization.md.`,
		Example: `  gputally advise hours ml/Deployment/bge
  gputally advise hours ml/Deployment/bge --since 7d -o json | jq '.hours[] | select(.class == "suspect-stall")'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var q client.AdviceQuery
			if err := errors.Join(out.check(), whose(args, &q)); err != nil {
				return err
			}
			if q.Workload == "" {
				return inputError{fmt.Errorf("%q is no workload; write NAMESPACE/KIND/NAME, such as ml/Deployment/bge", args[0])}
			}
			s, err := span.span("1d", time.Now())
			if err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				hours, err := server.ActivityHours(ctx, s, cluster, q.Namespace, q.Workload)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), hours, func() string { return reportview.ActivityHours(&hours) })
			})
		},
	}
	a.define(c.Flags())
	span.define(c, " (default 1d)")
	out.define(c, "table", "json")
	c.Flags().StringVar(&cluster, "cluster", "", "of this cluster")
	complete(c, "month", a.months())
	return c
}
