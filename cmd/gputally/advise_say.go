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
		Use:   "decisions",
		Short: "List what was said to recommendations",
		Long: `Decisions lists what was said, as it stands now. What was accepted and not made yet, or
dismissed for a time, expires when its day has come, or when the workload has another
template, another layout or another price. It says which.`,
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
