// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// reportFlags are the flags of gputally report.
type reportFlags struct {
	ask
	span   spanFlags
	out    output
	booked bool
	open   bool
	by     []string
	where  []string
	cost   string
	view   string
	top    int
}

func newReport() *cobra.Command {
	var f reportFlags
	c := &cobra.Command{
		Use:   "report",
		Short: "Show what GPUs cost, by namespace, team, workload, node, …",
		Long: `Report adds up what GPU nodes cost, whom it was charged to, and how well that is
known. What has no price is said first: it is in none of the amounts. The total
stands beside what the nodes cost, with a name for every difference. Currencies
are never added: each has a table of its own.

--by takes dimensions: namespace, workload_kind, workload, pod, account, class,
set, cluster, node, slot, gpu, partition, model, profile, mode, resource, price,
split, policy, kind, entry_kind, from, note; hour, day, week, month, booked_month;
and label:KEY for a label of the pods. A word that is none of these is taken as the
key of a label: --by team is --by label:team. split is the rule by which the price
of a node was split into GPUs, CPU and memory when a line was booked.

ALLOCATED is what workloads were charged for; RESERVED UNUSED what of it they kept
from others and did not hold; IDLE & OVERHEAD the part of platform accounts (idle,
stranded, overhead, unattributed, host, unavailable, unmeasured); an account in
brackets is one of these, or an owner that the policy names.

Hours are booked when they are over. --open shows those that are not booked yet, the
one under way among them, as far as their records have come.

--month gives what the hours of the month cost as is now known; with --booked,
what its statements say. Tables round; csv and json are exact.`,
		Example: `  gputally report                                          # the last 7 days, by namespace
  gputally report --since 30d --by team,day                # team is a label of your pods
  gputally report --open                                   # what runs now, before it is booked
  gputally report --month 2026-11 --by namespace -o csv > november.csv
  gputally report --month 2026-11 --booked                 # as the statements have it
  gputally report --month 2026-11 --booked --by split      # under which rule it was priced
  gputally report --where namespace=ml --by workload --top 10
  gputally report --by node,model --where 'class!=platform'
  gputally report --by namespace --view distributed        # idle passed on, as the policy says
  gputally report --from 2026-11-03 --to 2026-11-05 --by gpu,hour -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runReport(c, &f) },
	}
	f.ask.define(c.Flags())
	f.span.define(c, " (default 7d)")
	f.out.define(c, "table", "json", "csv", "markdown")
	p := c.Flags()
	p.StringSliceVar(&f.by, "by", []string{"namespace"}, "what rows are told apart by; \"\" for the total alone")
	p.StringArrayVar(&f.where, "where", nil, "only charges with DIMENSION=VALUE,… or without: DIMENSION!=VALUE,… (repeatable: all must hold)")
	p.StringVar(&f.cost, "cost", "net", "net: everything booked; charged: only the first rating of each hour")
	p.StringVar(&f.view, "view", "apart", "apart: idle, overhead and other platform accounts on their own; distributed: on those to whom the policy gave them")
	p.IntVar(&f.top, "top", 0, "keep so many rows of workloads, those that cost most (0: all)")
	p.BoolVar(&f.booked, "booked", false, "with --month: what was booked in it")
	p.BoolVar(&f.open, "open", false, "the hours that are not booked yet instead of those that are (default: all of them)")
	complete(c, "by", f.dimensionList(""))
	complete(c, "where", f.dimensionList("="))
	complete(c, "month", f.months())
	complete(c, "cost", cobra.FixedCompletions([]string{"net", "charged"}, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "view", cobra.FixedCompletions([]string{"apart", "distributed"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (f *reportFlags) query(notes io.Writer) (q client.ReportQuery, err error) {
	if err := errors.Join(f.out.check(), oneOf("cost", f.cost, "net", "charged"), oneOf("view", f.view, "apart", "distributed")); err != nil {
		return q, err
	}
	if f.top < 0 {
		return q, inputError{fmt.Errorf("--top is %d; write how many rows, or 0 for all", f.top)}
	}
	if f.booked && f.span.month == "" {
		return q, inputError{errors.New("--booked needs --month: lines are booked in months")}
	}
	if f.open && f.span.month != "" {
		return q, inputError{errors.New("--open takes no --month: hours that are not booked have no month yet; give --since, or --from and --to")}
	}
	q = client.ReportQuery{Booked: f.booked, Open: f.open, Cost: f.cost, View: f.view, Top: f.top}
	since := "7d"
	if f.open {
		since = "100w" // all of them
	}
	if q.Span, err = f.span.span(since, time.Now()); err != nil {
		return q, err
	}
	if len(f.by) != 1 || f.by[0] != "" {
		if q.By, err = dimensions(f.by, notes); err != nil {
			return q, err
		}
	}
	q.Where, err = filters(f.where, notes)
	return q, err
}

func runReport(c *cobra.Command, f *reportFlags) error {
	q, err := f.query(c.ErrOrStderr())
	if err != nil {
		return err
	}
	return f.run(func(ctx context.Context, server *client.Client) error {
		r, err := server.Report(ctx, q)
		if err != nil {
			return err
		}
		return printReport(c.OutOrStdout(), &f.out, &r)
	})
}

func printReport(w io.Writer, out *output, r *v1.Report) error {
	switch out.format {
	case "csv":
		if err := reportview.ReportCSV(w, r); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		return nil
	case "markdown":
		return out.print(w, r, func() string { return reportview.ReportMarkdown(r) })
	}
	return out.print(w, r, func() string { return reportview.Report(r) })
}
