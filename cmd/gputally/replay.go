// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/expect"
	"github.com/gputally/gputally/internal/core/sample"
)

// replayFlags are the flags of gputally replay.
type replayFlags struct {
	output string
	at     string
	node   string
	check  bool
	prices replayPrices
}

func newReplay() *cobra.Command {
	var flags replayFlags
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Run a capture through attribution, integration and rating and show the outcome",
		Long: `Replay runs a capture, of an agent or written by hand, through the same
attribution and integration as the node agent, and prints who held which GPU
memory at a moment, the usage over the window, and the findings. It needs no GPU.

Where prices are given, it goes on as the server does and prints what each hour
of each node cost and to whom. Prices come from --price-book, from the capture
(its prices section, and prices beside its nodes) and from --list-prices; the
first that prices a node counts. Bills are not asked.

FILE is a capture (docs/formats/capture.md), or - for standard input.`,
		Example: `  gputally replay node-a.capture
  gputally replay story.yaml --at 10m          # the split ten minutes into the window
  gputally replay story.yaml --at 2026-11-03T10:30:00Z -o json
  gputally replay story.yaml --check           # exit 1 unless all is as it expects
  gputally replay node-a.capture --list-prices # and what it cost
  gputally replay node-a.capture --price-book prices.yaml --policy reserved --distribute idle=proportional`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return runReplay(c, args[0], flags)
		},
	}
	c.Flags().StringVarP(&flags.output, "output", "o", "table", "what to print: table or json")
	c.Flags().StringVar(&flags.at, "at", "", "moment of the split: seconds or a length such as 10m from the start of the window, or an RFC 3339 time (default: the end of the window)")
	c.Flags().StringVar(&flags.node, "node", "", "only this node (default: all of the capture)")
	c.Flags().BoolVar(&flags.check, "check", false, "compare with the capture's own expect section; exit 1 where it differs")
	flags.prices.define(c.Flags())
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func runReplay(c *cobra.Command, file string, flags replayFlags) error {
	if err := oneOf("output", flags.output, "table", "json"); err != nil {
		return err
	}
	f, err := readCapture(c.InOrStdin(), file)
	if err != nil {
		return err
	}
	if f.Cut {
		fmt.Fprintf(c.ErrOrStderr(), "gputally: note: the last line of %s is cut off; replaying what is whole\n", f.Name)
	}
	at, err := moment(f, flags.at)
	if err != nil {
		return err
	}
	nodes, err := chosenNodes(f, flags)
	if err != nil {
		return err
	}
	reports, checker, err := replayNodes(f, nodes, at, flags.check)
	if err != nil {
		return err
	}
	if err := flags.prices.rate(f, reports); err != nil {
		return err
	}
	if err := writeReports(c.OutOrStdout(), flags.output, reports); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return checked(c.ErrOrStderr(), checker)
}

func readCapture(stdin io.Reader, file string) (*capture.File, error) {
	r, name := stdin, "standard input"
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, inputError{fmt.Errorf("read capture: %w", err)}
		}
		defer opened.Close()
		r, name = opened, file
	}
	f, err := capture.Read(r, name)
	if err != nil {
		return nil, inputError{err}
	}
	return f, nil
}

// moment reads --at as an offset from the start of the window.
func moment(f *capture.File, at string) (time.Duration, error) {
	if at == "" {
		return f.End.Sub(f.Start), nil
	}
	if s, err := strconv.ParseFloat(at, 64); err == nil && s > -1e9 && s < 1e9 {
		return time.Duration(s * float64(time.Second)), nil
	}
	if d, err := time.ParseDuration(at); err == nil {
		return d, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		return t.Sub(f.Start), nil
	}
	return 0, inputError{fmt.Errorf("--at is %q; write seconds (600), a length of time (10m) or a moment (%s)", at, f.Start.Format(time.RFC3339))}
}

func chosenNodes(f *capture.File, flags replayFlags) ([]string, error) {
	var names []string
	for _, n := range f.Nodes {
		names = append(names, n.Name)
	}
	switch {
	case flags.check && f.Expect == nil:
		return nil, inputError{fmt.Errorf("--check: %s has no expect section; add one, or leave --check out", f.Name)}
	case flags.check && flags.node != "":
		return nil, inputError{errors.New("--check needs all nodes; leave --node out")}
	case flags.node == "":
		return names, nil
	}
	for _, n := range names {
		if n == flags.node {
			return []string{n}, nil
		}
	}
	return nil, inputError{fmt.Errorf("--node is %q; %s has %s", flags.node, f.Name, strings.Join(names, ", "))}
}

func replayNodes(f *capture.File, nodes []string, at time.Duration, check bool) ([]replay.Report, *expect.Checker, error) {
	o := replay.Options{
		Policy:   attribution.Policy{Daemons: attribution.DefaultDaemons()},
		Interval: f.Interval, MonoMS: f.MonoMS(), At: at,
	}
	var checker *expect.Checker
	if check {
		checker = expect.NewChecker(f.Expect, f.Start)
		o.Watch = func(offset int64, s sample.Sample, r attribution.Result) { checker.Show(offset, s, r) }
	}
	var out []replay.Report
	for _, node := range nodes {
		rep, err := replay.Run(f, node, o)
		if err != nil {
			return nil, nil, err
		}
		if check {
			checker.Closed(node, rep.Batches)
		}
		out = append(out, rep)
	}
	return out, checker, nil
}

func writeReports(w io.Writer, output string, reports []replay.Report) error {
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"nodes": reports})
	}
	for i, r := range reports {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := replay.WriteTable(w, r); err != nil {
			return err
		}
	}
	return nil
}

// checked reports what is not as the capture expects.
func checked(stderr io.Writer, checker *expect.Checker) error {
	if checker == nil {
		return nil
	}
	failures := checker.Failures()
	for _, f := range failures {
		fmt.Fprintln(stderr, "  "+f)
	}
	if len(failures) > 0 {
		return fmt.Errorf("check: %d of the capture's expectations do not hold", len(failures))
	}
	fmt.Fprintln(stderr, "gputally: check: all is as the capture expects")
	return nil
}
