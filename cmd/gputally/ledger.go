// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
)

func newLedger() *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Check the ledger, export it, back it up",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newLedgerCheck(), newLedgerExport(), newLedgerBackup())
	return c
}

// checkFlags are the flags of gputally ledger check.
type checkFlags struct {
	ask
	span       spanFlags
	out        output
	skipMonths bool
}

func newLedgerCheck() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify that everything in the ledger adds up",
		Long: `Check verifies every invariant over the stored lines: ids, order, that the charges
of each GPU slot and each node sum to what it cost to the billionth, shares that sum
to the time, currencies, grades, closed months. The first thing that does not hold is
named, with its line, and the exit code is 1. Without a time it checks all there is.`,
		Example: `  gputally ledger check
  gputally ledger check --month 2026-11
  gputally ledger check --since 7d --skip-months`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runLedgerCheck(c, &f) },
	}
	f.ask.define(c.Flags())
	f.span.define(c, " (default: all)")
	f.out.define(c, "table", "json")
	c.Flags().BoolVar(&f.skipMonths, "skip-months", false, "do not check closed months")
	complete(c, "month", f.months())
	return c
}

func runLedgerCheck(c *cobra.Command, f *checkFlags) error {
	if err := f.out.check(); err != nil {
		return err
	}
	s, err := f.span.span("", time.Now())
	if err != nil {
		return err
	}
	p := progressOf(c)
	return f.run(func(ctx context.Context, server *client.Client) error {
		checked, err := server.CheckLedger(ctx, s, f.skipMonths, p.step)
		p.done()
		if err != nil {
			return err
		}
		if err := f.out.print(c.OutOrStdout(), checked, func() string { return reportview.Checked(&checked) }); err != nil {
			return err
		}
		if checked.Violation != nil {
			return errors.New("ledger check: " + checked.Violation.Invariant)
		}
		return nil
	})
}

// exportFlags are the flags of gputally ledger export.
type exportFlags struct {
	ask
	span                 spanFlags
	kind, format, booked string
	file                 string
}

func newLedgerExport() *cobra.Command {
	var f exportFlags
	c := &cobra.Command{
		Use:   "export",
		Short: "Write lines, usage or FOCUS to a file",
		Long: `Export writes what the ledger has as CSV, Parquet or JSON lines: its lines, the
usage records behind them, or FOCUS 1.3 with the split-cost columns. It comes as it
is made, so a year needs no more memory than a day. A file is there when it is
whole, and not before.`,
		Example: `  gputally ledger export --month 2026-11 --format parquet --file november.parquet
  gputally ledger export --kind focus --booked 2026-11 --file focus-2026-11.csv
  gputally ledger export --since 1d --format jsonl | jq .account`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runExport(c, &f) },
	}
	f.ask.define(c.Flags())
	f.span.define(c, " (default 1d)")
	p := c.Flags()
	p.StringVar(&f.kind, "kind", "lines", "what: lines, usage or focus")
	p.StringVar(&f.format, "format", "csv", "how: csv, parquet or jsonl (FOCUS: csv or parquet)")
	p.StringVar(&f.booked, "booked", "", "what was booked in this month, instead of a time, such as 2026-11")
	p.StringVarP(&f.file, "file", "f", "-", "file to write (-: standard output)")
	complete(c, "kind", cobra.FixedCompletions([]string{"lines", "usage", "focus"}, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "format", cobra.FixedCompletions([]string{"csv", "parquet", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "month", f.months())
	complete(c, "booked", f.months())
	return c
}

func (f *exportFlags) query() (q client.ExportQuery, err error) {
	if err := errors.Join(oneOf("kind", f.kind, "lines", "usage", "focus"), oneOf("format", f.format, "csv", "parquet", "jsonl")); err != nil {
		return q, err
	}
	q = client.ExportQuery{Kind: f.kind, Format: f.format, Booked: f.booked}
	if f.booked != "" {
		if !f.span.empty() {
			return q, inputError{errors.New("give --booked or a time, not both")}
		}
		return q, nil
	}
	q.Span, err = f.span.span("1d", time.Now())
	return q, err
}

func runExport(c *cobra.Command, f *exportFlags) error {
	q, err := f.query()
	if err != nil {
		return err
	}
	if f.file == "-" && f.format == "parquet" && terminalOf(c.OutOrStdout()).is {
		return inputError{errors.New("Parquet is not for a terminal; write it to a file: --file november.parquet")}
	}
	return f.run(func(ctx context.Context, server *client.Client) error {
		rows, notes, err := f.write(ctx, c, server, q)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("gputally: %d rows", rows)
		if f.file != "-" {
			text += " in " + f.file
		}
		if notes != "" {
			text += "; " + notes
		}
		_, err = fmt.Fprintln(c.ErrOrStderr(), text)
		return err
	})
}

// write puts the export where it goes. A file gets its name when it is whole.
func (f *exportFlags) write(ctx context.Context, c *cobra.Command, server *client.Client, q client.ExportQuery) (int64, string, error) {
	p := progressOf(c)
	defer p.done()
	if f.file == "-" {
		return server.Export(ctx, q, &counting{w: c.OutOrStdout(), p: p})
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.file), ".gputally-export-*")
	if err != nil {
		return 0, "", inputError{fmt.Errorf("--file: %w", err)}
	}
	rows, notes, err := server.Export(ctx, q, &counting{w: tmp, p: p})
	if err == nil {
		err = errors.Join(tmp.Chmod(0o644), tmp.Sync())
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.file)
	}
	if err != nil {
		return 0, "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return rows, notes, nil
}

// counting shows how much came.
type counting struct {
	w io.Writer
	p *progress
	n int64
}

// Write passes on.
func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.p.show("%.1f MiB", float64(c.n)/(1<<20))
	return n, err
}

func newLedgerBackup() *cobra.Command {
	var a ask
	var out output
	c := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Copy the server's store while it serves on",
		Long: `Backup makes the server copy its store to a new directory of this name below the
directory that it has for backups (gputally server --backup-dir). Without a name the
time is taken. It needs a token of the role write.`,
		Example: `  gputally ledger backup
  gputally ledger backup before-upgrade`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			return a.run(func(ctx context.Context, server *client.Client) error {
				b, err := server.Backup(ctx, name)
				if err != nil {
					return err
				}
				return out.print(c.OutOrStdout(), b, func() string { return reportview.Backup(&b) })
			})
		},
	}
	a.define(c.Flags())
	out.define(c, "table", "json")
	return c
}
