// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
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
				advice, err := server.Advice(ctx, q)
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
				plans, err := server.AdvicePlans(ctx, at, cluster)
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

// saidFlags are those of what is said to a recommendation.
type saidFlags struct {
	ask
	out    output
	by     string
	reason string
}

func (f *saidFlags) define(c *cobra.Command, reason string) {
	f.ask.define(c.Flags())
	f.out.define(c, "table", "json")
	c.Flags().StringVar(&f.by, "by", "", "who says it (default: you)")
	c.Flags().StringVar(&f.reason, "reason", "", reason)
}

func (f *saidFlags) say(c *cobra.Command, id string, d v1.DecideAdvice) error {
	if err := f.out.check(); err != nil {
		return err
	}
	d.Reason, d.By = f.reason, f.by
	if d.By == "" {
		d.By = me()
	}
	return f.run(func(ctx context.Context, server *client.Client) error {
		said, err := server.DecideAdvice(ctx, id, d)
		if err != nil {
			return err
		}
		return f.out.print(c.OutOrStdout(), said, func() string {
			return reportview.AdviceDecisions(&v1.AdviceDecisions{Decisions: []v1.AdviceDecision{said}})
		})
	})
}

// parseDay reads a day or a moment; "" is none.
func parseDay(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, inputError{fmt.Errorf("--%s is %q; write a day as 2026-11-20, or a moment as 2026-11-20T14:00:00Z", flag, text)}
}

func newAdviseAccept() *cobra.Command {
	var f saidFlags
	var applied string
	c := &cobra.Command{
		Use:   "accept ID",
		Short: "Say that a recommendation is accepted, and when its change was made",
		Long: `Accept keeps the recommendation with its evidence, so that it can be verified once its
change is made: say when with --applied, now or in a second call. It changes nothing else.`,
		Example: `  gputally advise accept 5d0c8e2f91ab37c4 --reason "agreed with team search"
  gputally advise accept 5d0c8e2f91ab37c4 --applied 2026-11-20`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			at, err := parseDay("applied", applied)
			if err != nil {
				return err
			}
			return f.say(c, args[0], v1.DecideAdvice{State: "accepted", Applied: at})
		},
	}
	f.define(c, "what was agreed")
	c.Flags().StringVar(&applied, "applied", "", "when the change was made")
	return c
}

func newAdviseDismiss() *cobra.Command {
	var f saidFlags
	var until string
	c := &cobra.Command{
		Use:   "dismiss ID --reason TEXT",
		Short: "Say why a recommendation is not followed, and until when",
		Long: `Dismiss marks the recommendation, and those of later days for the same workload and kind
of change, until a day or for good. It is shown as dismissed, with its reason, and not
added to what could be saved.`,
		Example: `  gputally advise dismiss 5d0c8e2f91ab37c4 --reason "launch in January" --until 2027-02-01`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			at, err := parseDay("until", until)
			if err != nil {
				return err
			}
			if strings.TrimSpace(f.reason) == "" {
				return inputError{errors.New("--reason is missing: whoever reads it next asks why")}
			}
			return f.say(c, args[0], v1.DecideAdvice{State: "dismissed", Until: at})
		},
	}
	f.define(c, "why it is not followed")
	c.Flags().StringVar(&until, "until", "", "the day on which it is advised again (default: never)")
	return c
}

func newAdviseDecisions() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:     "decisions",
		Short:   "List what was said to recommendations",
		Example: `  gputally advise decisions -o json | jq '.decisions[] | select(.state == "expired")'`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				d, err := server.AdviceDecisions(ctx)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), d, func() string { return reportview.AdviceDecisions(&d) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}

func newAdviseVerify() *cobra.Command {
	var a ask
	var out output
	var applied string
	c := &cobra.Command{
		Use:   "verify ID",
		Short: "Compare before and after a change: what it really came to",
		Long: `Verify compares seven days before the change with seven days after it: what the nodes of
the cluster cost, what the workload was charged, what was idle, how much the GPUs worked,
whether requests waited, were preempted, or pods restarted. Where the work moved by more
than a fifth the two times do not compare, and it says so. Before seven days have passed
it shows figures on the way.`,
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
