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
)

// explainFlags are the flags of gputally explain.
type explainFlags struct {
	ask
	span                       spanFlags
	out                        output
	line, entry, uid, workload string
	limit                      int
}

func newExplain() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain [NAMESPACE/POD]",
		Short: "Show how a charge came about, step by step",
		Long: `Explain walks back from a charge to the samples it is made of, in nine steps with
their numbers: sampled, attributed, integrated, kept, shipped, counted, priced,
divided, booked. It divides the hour again and says whether that comes to what was
booked.

Name a pod, or give --workload, --uid, --line or --entry. A pod or a workload has a
charge for each hour, GPU, CPU and memory; those that cost most are shown.`,
		Example: `  gputally explain ml/train-0                              # the last day
  gputally explain ml/train-0 --from 2026-11-03T14:00:00Z --to 2026-11-03T15:00:00Z
  gputally explain --workload ml/Job/train --month 2026-11 --limit 3
  gputally explain --line 6f1c…                            # an id from an export or a statement
  gputally explain ml/train-0 -o json | jq '.traces[0].price'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runExplain(c, args, &f) },
	}
	f.ask.define(c.Flags())
	f.span.define(c, " (default 1d)")
	f.out.define(c, "text", "json")
	p := c.Flags()
	p.StringVar(&f.line, "line", "", "a line of the ledger, by its id")
	p.StringVar(&f.entry, "entry", "", "an entry, by its id: all lines of one charge")
	p.StringVar(&f.uid, "uid", "", "a pod, by its UID")
	p.StringVar(&f.workload, "workload", "", "a workload as NAMESPACE/KIND/NAME, such as ml/Job/train")
	p.IntVar(&f.limit, "limit", 10, "how many charges to show, those that cost most (at most 100)")
	complete(c, "month", f.months())
	return c
}

func (f *explainFlags) query(args []string) (q client.ExplainQuery, err error) {
	if err := f.out.check(); err != nil {
		return q, err
	}
	q = client.ExplainQuery{Line: f.line, Entry: f.entry, PodUID: f.uid, Workload: f.workload, Limit: f.limit}
	if len(args) > 0 {
		q.Pod = args[0]
	}
	given := 0
	for _, text := range []string{q.Line, q.Entry, q.PodUID, q.Pod, q.Workload} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return q, inputError{errors.New("name one thing: NAMESPACE/POD, or --workload, --uid, --line or --entry; see gputally explain --help")}
	case q.Pod != "" && strings.Count(q.Pod, "/") != 1:
		return q, inputError{fmt.Errorf("%q is no pod; write NAMESPACE/POD", q.Pod)}
	case q.Workload != "" && strings.Count(q.Workload, "/") != 2:
		return q, inputError{fmt.Errorf("--workload is %q; write NAMESPACE/KIND/NAME, such as ml/Job/train", q.Workload)}
	case f.limit < 1 || f.limit > 100:
		return q, inputError{fmt.Errorf("--limit is %d; write 1 to 100", f.limit)}
	}
	since := "1d"
	if q.Line != "" || q.Entry != "" {
		since = "" // an id says its time
	}
	q.Span, err = f.span.span(since, time.Now())
	return q, err
}

func runExplain(c *cobra.Command, args []string, f *explainFlags) error {
	q, err := f.query(args)
	if err != nil {
		return err
	}
	return f.run(func(ctx context.Context, server *client.Client) error {
		e, err := server.Explain(ctx, q)
		if err != nil {
			return err
		}
		return f.out.print(c.OutOrStdout(), e, func() string { return reportview.Explanation(&e) })
	})
}
