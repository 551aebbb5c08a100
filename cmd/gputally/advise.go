// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newAdvise() *cobra.Command {
	var a ask
	var out output
	var q client.AdviceQuery
	var details bool
	c := &cobra.Command{
		Use:   "advise [NAMESPACE[/KIND/NAME]]",
		Short: "Show what workloads need, which change would serve them, and when that cannot be said",
		Long: `Advise looks at 28 days of what each workload held and did on its GPUs, and tries
changes on it: a smaller MIG profile, a smaller pool of an inference engine, fewer
GPUs, another machine, a stop while nobody uses it. Each is shown with its evidence,
its tests and three figures that are never added: what the tenant pays less, what
capacity that frees, and what an invoice falls by.

Where the records do not carry an answer it is refused, with what is missing and how
to get it. Nothing is ever changed: advise prints what to change.`,
		Example: `  gputally advise                              # the fleet
  gputally advise ml                           # a namespace
  gputally advise ml/Deployment/bge            # one workload, with evidence and tests
  gputally advise --node gpu-7 -o markdown
  gputally advise -o json | jq '.workloads[].recommendations[] | select(.state == "advised")'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := errors.Join(out.check(), whose(args, &q)); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				end := progressOf(c).waiting("advice from 28 days of records")
				advice, err := server.Advice(ctx, q)
				end()
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), advice, func() string {
					if out.format == "table" && (details || q.Workload != "") {
						return reportview.AdviceDetails(&advice)
					}
					return reportview.Advice(&advice, out.format == "markdown")
				})
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json", "markdown")
	c.Flags().StringVar(&q.Node, "node", "", "workloads that have GPUs of this node")
	c.Flags().StringVar(&q.Cluster, "cluster", "", "of this cluster")
	c.Flags().StringVar(&q.At, "at", "", "as of a day, such as 2026-11-20 (default: now); the 28 days before it count")
	c.Flags().BoolVar(&q.Share, "share", false, "look for workloads that could share a GPU, too: it reads their minutes, and takes longer")
	c.Flags().BoolVar(&details, "details", false, "show evidence, tests and refusals of all of them")
	complete(c, "node", a.nodes())
	c.AddCommand(newAdviseHours(), newAdvisePlan(), newAdviseAccept(), newAdviseDismiss(), newAdviseDecisions(), newAdviseVerify())
	return c
}

// whose reads NAMESPACE or NAMESPACE/KIND/NAME.
func whose(args []string, q *client.AdviceQuery) error {
	if len(args) == 0 {
		return nil
	}
	parts := strings.SplitN(args[0], "/", 2)
	q.Namespace = parts[0]
	if len(parts) == 1 && parts[0] != "" {
		return nil
	}
	if len(parts) != 2 || strings.Count(parts[1], "/") != 1 || strings.HasPrefix(parts[1], "/") || strings.HasSuffix(parts[1], "/") || parts[0] == "" {
		return inputError{fmt.Errorf("%q is neither NAMESPACE nor NAMESPACE/KIND/NAME, such as ml/Deployment/bge", args[0])}
	}
	q.Workload = parts[1]
	return nil
}
