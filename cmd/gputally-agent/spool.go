// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/spool"
)

func newSpool() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spool",
		Short: "Look into the usage records on disk",
		Long:  "Look into the usage records on disk. Nothing is changed, and the agent may run meanwhile.",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	cmd.AddCommand(newSpoolLs(), newSpoolCat(), newSpoolVerify())
	return cmd
}

func newSpoolLs() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls DIRECTORY",
		Short: "List the segments and what is in them",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			rep, err := spool.Verify(args[0], nil)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), rep.Segments)
			}
			return printSegments(c.OutOrStdout(), rep.Segments)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printSegments(w io.Writer, segments []spool.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SEGMENT\tBYTES\tRECORDS\tGAPS\tFROM\tTO\tACKNOWLEDGED")
	for _, s := range segments {
		from, to := "-", "-"
		if s.Records > 0 {
			from, to = clock(s.StartMS), clock(s.EndMS)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\t%s\t%t\n", s.File, s.Bytes, s.Records, s.Gaps, from, to, s.Acked)
	}
	return t.Flush()
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

func newSpoolCat() *cobra.Command {
	return &cobra.Command{
		Use:   "cat DIRECTORY",
		Short: "Print the records as JSON lines, oldest first",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			rep, err := spool.Verify(args[0], func(e spool.Entry) error {
				_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", e.Payload)
				return err
			})
			for _, p := range rep.Problems {
				fmt.Fprintln(c.ErrOrStderr(), "gputally-agent:", p)
			}
			return err
		},
	}
}

// errSpool ends verify where the spool is not sound.
var errSpool = errors.New("the spool is not sound")

func newSpoolVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify DIRECTORY",
		Short: "Read every record, and check that the bytes balance and nothing is missing or there twice",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			v, err := verifySpool(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), v)
			} else {
				err = v.print(c.OutOrStdout())
			}
			if err == nil && !v.OK() {
				err = errSpool
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// verified is a spool's report with what the records themselves say.
type verified struct {
	spool.Report
	// Unbalanced are batches whose bytes do not add up.
	Unbalanced []string `json:"unbalanced"`
}

func (v verified) OK() bool { return v.Report.OK() && len(v.Unbalanced) == 0 }

func verifySpool(dir string) (verified, error) {
	v := verified{Unbalanced: []string{}}
	rep, err := spool.Verify(dir, func(e spool.Entry) error {
		if err := e.Batch.Check(); err != nil {
			v.Unbalanced = append(v.Unbalanced, fmt.Sprintf("%s/%d: %v", e.Batch.Boot, e.Batch.Seq, err))
		}
		return nil
	})
	v.Report = rep
	return v, err
}

func (v verified) print(w io.Writer) error {
	fmt.Fprintf(w, "%d records in %d segments\n", v.Records, len(v.Segments))
	for _, p := range v.Problems {
		fmt.Fprintln(w, p)
	}
	for _, l := range []struct {
		what string
		list []string
	}{{"there twice", v.Duplicates}, {"missing", v.Holes}, {"out of balance", v.Unbalanced}} {
		for _, s := range l.list {
			fmt.Fprintf(w, "%s: %s\n", l.what, s)
		}
	}
	if v.OK() {
		fmt.Fprintln(w, "sound: every record is whole, there once, and balances")
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
