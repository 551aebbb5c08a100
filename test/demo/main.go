// SPDX-License-Identifier: Apache-2.0

// Command demo is a GPU fleet and its bill on this machine: three staged nodes
// (package stage) with a real agent each, a real server to which these ship, and a
// month of history (package history) that goes the same way. It prints what the
// month cost and leaves everything running. make demo builds what it needs.
//
// The GPUs, the kubelets and the API servers are stand-ins, and the month is
// told, not lived. The agents, the server, the NVML binding, the processes, the
// records and every figure's way to the bill are the real ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/stage"
)

func main() {
	stage.HolderMain()
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder with gputally and gputally-agent")
	flag.StringVar(&o.nvml, "nvml", "test/mocknvml/build/libnvidia-ml.so.1", "the mock NVML library")
	flag.StringVar(&o.files, "files", "test/demo", "folder with prices.yaml and policy.yaml")
	flag.IntVar(&o.days, "days", 30, "how many days of history")
	flag.BoolVar(&o.once, "once", false, "print the bill and a picture of the nodes, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	bin, nvml, files string
	days             int
	once             bool
}

// check says what is missing and how to get it.
func (o *options) check() error {
	for _, f := range []*string{&o.bin, &o.nvml, &o.files} {
		path, err := filepath.Abs(*f)
		if err != nil {
			return err
		}
		*f = path
	}
	var missing []error
	if o.days < 1 {
		missing = append(missing, fmt.Errorf("--days is %d: at least 1", o.days))
	}
	for _, need := range []struct{ path, how string }{
		{filepath.Join(o.bin, "gputally"), "run make build (make demo does it)"},
		{filepath.Join(o.bin, "gputally-agent"), "run make build (make demo does it)"},
		{o.nvml, "run make mock (make demo does it)"},
		{o.prices(), "say where it is with --files"},
		{o.policy(), "say where it is with --files"},
	} {
		if _, err := os.Stat(need.path); err != nil {
			missing = append(missing, fmt.Errorf("%s is missing: %s", need.path, need.how))
		}
	}
	return errors.Join(missing...)
}

// The files that the server reads are copies, so that whoever plays with them
// changes nothing of the project.
const pricesFile, policyFile = "prices.yaml", "policy.yaml"

func (o *options) prices() string { return filepath.Join(o.files, pricesFile) }
func (o *options) policy() string { return filepath.Join(o.files, policyFile) }

// seed makes each demo's month the same, but for its dates.
const seed = 2026

// demo is everything that runs.
type demo struct {
	options
	dir    string
	out    io.Writer
	fleet  *history.Fleet
	server *program
	nodes  []*live
}

// live is a staged node with its agent.
type live struct {
	*node
	agent *program
}

// run puts everything up, shows it, and takes it away again.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gputally-demo-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	now := time.Now().Truncate(time.Second)
	d := &demo{options: o, dir: dir, out: out, fleet: history.New(seed, now.AddDate(0, 0, -o.days), now)}
	defer d.end()
	if err := d.begin(ctx); err != nil {
		return err
	}
	if err := d.deliver(ctx); err != nil {
		return err
	}
	if err := d.rated(ctx); err != nil {
		return err
	}
	if err := d.bill(ctx); err != nil {
		return err
	}
	if o.once {
		return errors.Join(d.picture(ctx), d.tryAll(ctx), d.complaints())
	}
	return d.stay(ctx)
}

// begin starts the server, the nodes and their agents.
func (d *demo) begin(ctx context.Context) error {
	fmt.Fprintln(d.out, "Three GPU nodes on this machine. The GPUs, the kubelets and the API servers are\nstand-ins; the agents, the server, NVML's binding and the processes are real.")
	for from, name := range map[string]string{d.prices(): pricesFile, d.policy(): policyFile} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(d.dir, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	var err error
	if d.server, err = d.startServer(ctx); err != nil {
		return err
	}
	for _, machine := range d.fleet.Nodes() {
		n, err := d.startNode(ctx, machine)
		if n != nil {
			d.nodes = append(d.nodes, n)
		}
		if err != nil {
			return err
		}
	}
	for _, n := range d.nodes {
		if err := n.ready(ctx, settled); err != nil {
			return err
		}
		if err := n.breakDown(); err != nil {
			return err
		}
	}
	return nil
}

// end stops every program and takes every node down.
func (d *demo) end() {
	for _, n := range d.nodes {
		if n.agent != nil {
			n.agent.stop()
		}
	}
	if d.server != nil {
		d.server.stop()
	}
	for _, n := range d.nodes {
		n.stage.Close()
	}
}
