// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newBill() *cobra.Command {
	c := &cobra.Command{
		Use:   "bill",
		Short: "Import providers' bills and set them beside what was metered",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newBillImport(), newBillList(), newBillReconcile())
	return c
}

// importFlags are the flags of gputally bill import.
type importFlags struct {
	ask
	out     output
	source  string
	periods []string
	by      string
}

func newBillImport() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import the files of a bill",
		Long: `Import sends the files of one bill to the server: FOCUS 1.0 to 1.3, AWS CUR 2.0
(CSV or Parquet), GCP's detailed export (JSON or CSV); the format is told by the
content. The hours of the machines on it are rated anew with what they really cost.

An import replaces what the same source filed for the same billing period and is
never added to it: reading a bill twice, or its next edition, counts nothing twice.
Give all files of the bill at once. It needs a token of the role write.`,
		Example: `  gputally bill import november-*.parquet --source aws-prod
  gputally bill import focus.csv --source azure --period 2026-10 --period 2026-11
  gputally bill import export.json --source gcp-billing --server https://gputally.example:9403`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runImport(c, args, &f) },
	}
	f.ask.define(c.Flags())
	f.out.define(c, "table", "json")
	p := c.Flags()
	p.StringVar(&f.source, "source", "", "your id of where the bill comes from, such as one export of one payer account (required)")
	p.StringSliceVar(&f.periods, "period", nil, "months that the files hold completely (default: the files hold exactly one billing period)")
	p.StringVar(&f.by, "by", "", "who imports it (default: you, on this machine)")
	return c
}

func runImport(c *cobra.Command, paths []string, f *importFlags) error {
	if err := f.out.check(); err != nil {
		return err
	}
	if f.source == "" {
		return inputError{fmt.Errorf("--source is missing: say where the bill comes from, such as --source aws-prod; the next import of the same source and period replaces this one")}
	}
	if f.by == "" {
		f.by = me()
	}
	files, size, closeAll, err := openFiles(paths)
	defer closeAll()
	if err != nil {
		return err
	}
	p := progressOf(c)
	return f.run(func(ctx context.Context, server *client.Client) error {
		i, err := server.ImportBill(ctx, client.ImportQuery{Source: f.source, Periods: f.periods, By: f.by}, files, func(sent int64) {
			if sent == size {
				p.last = p.last.Add(-1) // the last word on sending
				p.show("sent %d MiB; the server reads them", size>>20)
				return
			}
			p.show("sending: %d of %d MiB", sent>>20, size>>20)
		})
		p.done()
		if err != nil {
			return err
		}
		return f.out.print(c.OutOrStdout(), i, func() string { return reportview.Imported(&i) })
	})
}

// openFiles opens files of a bill. closeAll is never nil.
func openFiles(paths []string) (files []client.File, size int64, closeAll func(), err error) {
	var open []*os.File
	closeAll = func() {
		for _, f := range open {
			_ = f.Close() // they were only read
		}
	}
	names := map[string]bool{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, closeAll, inputError{fmt.Errorf("open bill: %w", err)}
		}
		open = append(open, f)
		info, err := f.Stat()
		if err != nil {
			return nil, 0, closeAll, fmt.Errorf("open bill: %w", err)
		}
		if info.IsDir() {
			return nil, 0, closeAll, inputError{fmt.Errorf("open bill: %s is a directory; name its files: %s", path, filepath.Join(path, "*"))}
		}
		name := filepath.Base(path)
		if names[name] {
			name = filepath.ToSlash(path) // two folders with files of one name
		}
		names[name] = true
		size += info.Size()
		files = append(files, client.File{Name: name, Data: f})
	}
	return files, size, closeAll, nil
}

func newBillList() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the bills in force",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				b, err := server.Bills(ctx)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), b, func() string { return reportview.Bills(&b) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}

func newBillReconcile() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "reconcile MONTH",
		Short: "Set a month's bills beside what was metered",
		Long: `Reconcile joins the bills of a month with what agents metered, by machine and hour:
what meets, cost without telemetry (no agent ran there), and telemetry without cost
(a price is missing, or the bill is not complete yet).`,
		Example: `  gputally bill reconcile 2026-11`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				r, err := server.Reconcile(ctx, args[0])
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), r, func() string { return reportview.Reconciliation(&r) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	c.ValidArgsFunction = a.months()
	return c
}
