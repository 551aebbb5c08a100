// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/app/agent"
	"github.com/gputally/gputally/internal/core/sample"
)

func newCapture() *cobra.Command {
	var c config
	var duration time.Duration
	var redact bool
	var output, title string
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Write what the sources say to a file that gputally replay reads",
		Long: `Write what NVML, the kubelet, /proc and the API server say, now or over a while, to
a file that "gputally replay" reads. No agent need run, and one that runs is not
disturbed. With --redact, names of pods, namespaces, nodes, users and commands
are replaced by numbers, the same name by the same number; those of GPU
infrastructure (see --daemons) are kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.load(cmd.Flags(), os.Getenv); err != nil {
				return inputError{err}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return writeCapture(ctx, &c, duration, redact, title, output, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	c.spoolMaxBytes = minSpool // not used here; checked with the rest
	c.bindSources(cmd.Flags())
	cmd.Flags().DurationVar(&duration, "duration", 0, "how long to watch (default: one sample)")
	cmd.Flags().BoolVar(&redact, "redact", false, "replace names by numbers")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write (default: standard output)")
	cmd.Flags().StringVar(&title, "title", "", "a line that says what was captured")
	return cmd
}

// recorder writes samples to a capture, redacted or not.
type recorder struct {
	w        *capture.Writer
	redactor *capture.Redactor
	samples  int
}

func (r *recorder) Write(s sample.Sample) error {
	r.samples++
	if r.redactor != nil {
		s = r.redactor.Redact(s)
	}
	return r.w.Write(s)
}

func writeCapture(ctx context.Context, c *config, duration time.Duration, redact bool, title, output string, stdout, stderr io.Writer) (err error) {
	log, err := newLog(c, stderr)
	if err != nil {
		return inputError{err}
	}
	out := stdout
	if output != "" {
		f, err := os.Create(output)
		if err != nil {
			return inputError{fmt.Errorf("write capture: %w", err)}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	src, err := openSources(c, nil, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	rec := &recorder{w: capture.NewWriter(out)}
	rec.w.Interval, rec.w.Title = c.interval, title
	if redact {
		rec.redactor = capture.NewRedactor(c.platformNamespaces()...)
	}
	cfg := agent.Config{Cluster: c.cluster, Node: c.nodeName, Interval: c.interval, Standalone: c.standalone, Log: log}
	if cfg.EngineTargets, err = c.engineSelectors(); err != nil {
		return inputError{err}
	}
	err = agent.Record(ctx, cfg, src.Sources, rec, duration)
	fmt.Fprintf(stderr, "%d samples captured\n", rec.samples)
	return err
}
