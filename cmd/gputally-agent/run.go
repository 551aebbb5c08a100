// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/agent"
)

// errRestart ends an agent whose driver was replaced under it.
var errRestart = agent.ErrRestart

func newRun() *cobra.Command {
	var c config
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure this node until told to stop (the default)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.load(cmd.Flags(), os.Getenv); err != nil {
				return inputError{err}
			}
			if c.checkConfig {
				return printConfig(cmd.OutOrStdout(), cmd.Flags(), &c)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return serve(ctx, &c, cmd.ErrOrStderr())
		},
	}
	c.bindSources(cmd.Flags())
	c.bindService(cmd.Flags())
	return cmd
}

// printConfig prints every setting as it stands, as a configuration file.
func printConfig(w io.Writer, fs *pflag.FlagSet, c *config) error {
	known := allSettings()
	for _, name := range settingNames(known) {
		value := fs.Lookup(name).Value.String()
		if list, ok := fs.Lookup(name).Value.(pflag.SliceValue); ok {
			value = "[" + joinQuoted(list.GetSlice()) + "]"
		}
		if name == "node-name" {
			value = c.nodeName
		}
		if value == "" {
			value = `""`
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", name, value); err != nil {
			return err
		}
	}
	return nil
}

func joinQuoted(list []string) string {
	text := ""
	for i, v := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", v)
	}
	return text
}

// serve is the running agent: spool, sources, loop and HTTP, begun in this
// order and ended in the other.
func serve(ctx context.Context, c *config, stderr io.Writer) (err error) {
	log, err := newLog(c, stderr)
	if err != nil {
		return inputError{err}
	}
	listener, err := agenthttp.Listen(c.listen)
	if err != nil {
		return inputError{err}
	}
	defer listener.Close() // closed by Serve; again where it is not reached
	keeper, err := openSpool(c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keeper.Close()) }()
	src, err := openSources(c, keeper.instances(log), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	a, err := newAgent(c, src, keeper, log)
	if err != nil {
		return err
	}
	shipper, err := newShipper(c, keeper, log)
	if err != nil {
		return err
	}
	view := &view{cfg: c, agent: a, spool: keeper.Spool, shipper: shipper, started: time.Now().UTC()}
	handler, err := view.handler()
	if err != nil {
		return err
	}
	log.Info("agent begins", "version", versionText(), "node", c.nodeName, "standalone", c.standalone,
		"listen", listener.Addr().String(), "interval", c.interval.String(), "spool", c.spoolDir, "server", c.server.address,
		"agent", keeper.Agent(), "boot", keeper.Boot())
	parts := []func(context.Context) error{
		func(ctx context.Context) error { return agenthttp.Serve(ctx, listener, handler) },
		a.Run,
	}
	if shipper != nil {
		parts = append(parts, shipper.Run)
	}
	err = together(ctx, parts...)
	flush(shipper, log)
	log.Info("agent ends")
	return err
}

func openSpool(c *config, log *slog.Logger) (recordKeeper, error) {
	s, problems, err := spool.Open(c.spoolDir, spool.Options{MaxBytes: c.spoolMaxBytes})
	if err != nil {
		return recordKeeper{}, err
	}
	for _, p := range problems {
		log.Warn("damage in the spool", "kind", p.Kind, "file", p.File, "offset", p.Offset, "bytes", p.Length, "detail", p.Detail)
	}
	return recordKeeper{s}, nil
}

// firstWindow is when the first window ends at the latest. So there is a first bill
// within a minute of an installation, whatever second of the minute that was.
const firstWindow = 10 * time.Second

func newAgent(c *config, src *sources, keeper recordKeeper, log *slog.Logger) (*agent.Agent, error) {
	policy, err := c.policy()
	if err != nil {
		return nil, inputError{err}
	}
	cfg := agent.Config{
		Cluster: c.cluster, Node: c.nodeName, Agent: keeper.Agent(), Boot: keeper.Boot(),
		Interval: c.interval, FirstWindow: firstWindow, Standalone: c.standalone, Policy: policy, Log: log,
	}
	cfg.Announcer = newAnnouncer(c, src, log)
	if cfg.EngineTargets, err = c.engineSelectors(); err != nil {
		return nil, inputError{err}
	}
	if end, ok := keeper.LastEnd(); ok {
		cfg.LastEnd = end
	}
	return agent.New(cfg, src.Sources, keeper, nil)
}

// together runs parts until ctx ends or one of them does, which ends the rest.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(parts))
	for _, run := range parts {
		go func() { ended <- run(ctx) }()
	}
	var errs []error
	for range parts {
		errs = append(errs, <-ended)
		cancel()
	}
	return errors.Join(errs...)
}
