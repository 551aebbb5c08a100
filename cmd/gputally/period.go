// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

func newPeriod() *cobra.Command {
	c := &cobra.Command{
		Use:   "period",
		Short: "Close months, and prove that closed ones were not changed",
		Long: `A month is closed for each set of clusters and currency. Closing writes and hashes
a statement for each account; afterwards nothing in it changes, and what still
arrives for it is a correction in the open month (docs/ledger.md).`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPeriodList(), newPeriodShow(), newPeriodClose(), newPeriodVerify(), newPeriodStatement())
	return c
}

func newPeriodList() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List months, open and closed",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				m, err := server.Months(ctx)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), m, func() string { return reportview.Months(&m) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}

// scopeFlags say of which set and currency.
type scopeFlags struct{ set, currency string }

func (s *scopeFlags) define(c *cobra.Command) {
	c.Flags().StringVar(&s.set, "set", "", "set of clusters (default: those in no set)")
	c.Flags().StringVar(&s.currency, "currency", "", "currency, such as USD (default: that of the month, if it has one only)")
}

// pick is the months of the scope; want is what is asked for, for the error.
func (s *scopeFlags) pick(c *cobra.Command, months []v1.Month) []v1.Month {
	var out []v1.Month
	for _, m := range months {
		if (s.currency == "" || m.Currency == s.currency) && (!c.Flags().Changed("set") || m.Set == s.set) {
			out = append(out, m)
		}
	}
	return out
}

// one is the only month of the scope.
func (s *scopeFlags) one(c *cobra.Command, months []v1.Month) (v1.Month, error) {
	of := s.pick(c, months)
	if len(of) == 1 {
		return of[0], nil
	}
	var have []string
	for _, m := range months {
		have = append(have, strings.TrimSpace("--currency "+m.Currency+" "+setFlag(m.Set)))
	}
	if len(of) == 0 {
		return v1.Month{}, inputError{fmt.Errorf("the month has no such set and currency; it has %s", strings.Join(have, "; "))}
	}
	return v1.Month{}, inputError{fmt.Errorf("the month is kept for several sets and currencies: say which: %s", strings.Join(have, "; "))}
}

func setFlag(set string) string {
	if set == "" {
		return `--set ""`
	}
	return "--set " + set
}

func newPeriodShow() *cobra.Command {
	var a ask
	var out output
	var of scopeFlags
	c := &cobra.Command{
		Use:   "show MONTH",
		Short: "Show a month with its statements and hashes",
		Example: `  gputally period show 2026-11
  gputally period show 2026-11 -o json | jq -r '.months[].closing.sha256'`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				m, err := server.Month(ctx, args[0])
				if err != nil {
					return err
				}
				m.Months = of.pick(c, m.Months)
				return out.print(c.OutOrStdout(), m, func() string { return showMonths(m.Months) })
			})
		},
	}
	a.define(c.Flags())
	of.define(c)
	out.define(c, "table", "json")
	c.ValidArgsFunction = a.months()
	return c
}

func showMonths(months []v1.Month) string {
	var b strings.Builder
	for i := range months {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(reportview.Month(&months[i]))
	}
	return b.String()
}

// closeFlags are the flags of gputally period close.
type closeFlags struct {
	ask
	scopeFlags
	out                    output
	level, note, by, force string
	yes                    bool
}

func newPeriodClose() *cobra.Command {
	var f closeFlags
	c := &cobra.Command{
		Use:   "close MONTH",
		Short: "Close a month for good",
		Long: `Close writes the month's statements, hashes them together with the hash of the
month before, and keeps who closed it and why. It cannot be undone. Months are
closed in order. It is refused while the month is not over, or hours of it are not
rated or have no price; --force closes all the same, and its reason stands in the
closed month. It needs a token of the role write.

On a terminal it says what would be frozen (the month, the clusters, the total, the
number of statements) and asks; --yes closes without asking. Where there is no
terminal to ask on, it closes nothing without --yes.

Keep the hash that it prints somewhere else, such as in the mail to finance: then
nobody can change the month unseen.`,
		Example: `  gputally period close 2026-11 --note "agreed with finance"
  gputally period close 2026-11 --currency EUR --set europe --level account --yes
  gputally period close 2026-11 --force "node-7 was scrapped, its hours are lost"`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runClose(c, args[0], &f) },
	}
	f.ask.define(c.Flags())
	f.scopeFlags.define(c)
	f.out.define(c, "table", "json")
	p := c.Flags()
	p.StringVar(&f.level, "level", "namespace", "one statement for each: account (each pod) or namespace")
	p.StringVar(&f.note, "note", "", "what is to be kept with it")
	p.StringVar(&f.by, "by", "", "who closes it (default: you, on this machine)")
	p.StringVar(&f.force, "force", "", "close though hours are missing, for this reason")
	p.BoolVar(&f.yes, "yes", false, "close without asking")
	complete(c, "level", cobra.FixedCompletions([]string{"account", "namespace"}, cobra.ShellCompDirectiveNoFileComp))
	c.ValidArgsFunction = f.months()
	return c
}

func runClose(c *cobra.Command, month string, f *closeFlags) error {
	if err := f.out.check(); err != nil {
		return err
	}
	if err := oneOf("level", f.level, "account", "namespace"); err != nil {
		return err
	}
	if c.Flags().Changed("force") && strings.TrimSpace(f.force) == "" {
		return inputError{fmt.Errorf("--force needs a reason: it stands in the closed month for good")}
	}
	if !f.yes && !isTerminal(c.InOrStdin()) {
		return inputError{fmt.Errorf("closing %s cannot be undone, and there is no terminal to ask on: look at it with gputally period show %s, then give --yes", month, month)}
	}
	if f.by == "" {
		f.by = me()
	}
	return f.run(func(ctx context.Context, server *client.Client) error {
		months, err := server.Month(ctx, month)
		if err != nil {
			return err
		}
		m, err := f.one(c, months.Months)
		if err != nil {
			return err
		}
		asked := v1.CloseMonth{Set: m.Set, Currency: m.Currency, Level: f.level, By: f.by, Note: f.note, Force: f.force}
		if !f.yes {
			if err := f.agreed(ctx, c, server, month, asked); err != nil {
				return err
			}
		}
		closed, err := server.CloseMonth(ctx, month, asked)
		if err != nil {
			return err
		}
		return f.out.print(c.OutOrStdout(), closed, func() string { return reportview.Month(&closed) })
	})
}

// agreed shows what would be closed and asks for a yes.
func (f *closeFlags) agreed(ctx context.Context, c *cobra.Command, server *client.Client, month string, asked v1.CloseMonth) error {
	asked.Preview = true
	m, err := server.CloseMonth(ctx, month, asked)
	if err != nil {
		return err
	}
	fmt.Fprint(c.ErrOrStderr(), reportview.Closing(&m, f.level))
	answer, err := readAnswer(ctx, c.InOrStdin())
	if err != nil {
		return err
	}
	if !strings.EqualFold(answer, "yes") {
		return fmt.Errorf("period close: nothing was closed: the answer is %q, not yes", answer)
	}
	return nil
}

func newPeriodVerify() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "verify [MONTH]",
		Short: "Prove that closed months are as they were closed",
		Long: `Verify makes the statements of closed months again from the ledger and compares
hashes: of one month, or of all. The first statement that differs is named, and its
first line. It ends with exit code 1 where anything differs.`,
		Example: `  gputally period verify
  gputally period verify 2026-11`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runVerify(c, args, &a, &out) },
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	c.ValidArgsFunction = a.months()
	return c
}

func runVerify(c *cobra.Command, args []string, a *ask, out *output) error {
	if err := out.check(); err != nil {
		return err
	}
	month := strings.Join(args, "")
	p := progressOf(c)
	return a.run(func(ctx context.Context, server *client.Client) error {
		v, err := server.CheckMonths(ctx, month, p.step)
		p.done()
		if err != nil {
			return err
		}
		if err := out.print(c.OutOrStdout(), v, func() string { return reportview.Verified(&v) }); err != nil {
			return err
		}
		for _, m := range v.Months {
			if m.Violation != nil {
				return fmt.Errorf("period verify: %s is not as it was closed", m.Month.Month)
			}
		}
		return nil
	})
}

func newPeriodStatement() *cobra.Command {
	var a ask
	var of scopeFlags
	var class string
	c := &cobra.Command{
		Use:   "statement MONTH ACCOUNT",
		Short: "Print a statement of a closed month, byte for byte",
		Long: `Statement prints a frozen statement: one JSON object a line, first its head, then
its lines, at the end its sum. Its sha256sum is the hash that the closed month has.`,
		Example: `  gputally period statement 2026-11 ml > ml-2026-11.jsonl
  gputally period statement 2026-11 ml | sha256sum       # as in: gputally period show 2026-11
  gputally period statement 2026-11 idle --class platform`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			return a.run(func(ctx context.Context, server *client.Client) error {
				months, err := server.Month(ctx, args[0])
				if err != nil {
					return err
				}
				m, err := of.one(c, months.Months)
				if err != nil {
					return err
				}
				return server.Statement(ctx, args[0], m.Set, m.Currency, class, args[1], c.OutOrStdout())
			})
		},
	}
	a.define(c.Flags())
	of.define(c)
	c.Flags().StringVar(&class, "class", "workload", "class of the account: workload, owner, platform or reconciliation")
	complete(c, "class", cobra.FixedCompletions([]string{"workload", "owner", "platform", "reconciliation"}, cobra.ShellCompDirectiveNoFileComp))
	c.ValidArgsFunction = a.months()
	return c
}
