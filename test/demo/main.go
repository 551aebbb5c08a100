// SPDX-License-Identifier: Apache-2.0

// Command demo puts a GPU node on this machine (package stage), runs the real
// agent on it and shows it in gputally top. make demo builds what it needs.
//
// The GPUs, the kubelet and the API server are stand-ins; the agent, the NVML
// binding, the processes and every figure's way to the screen are the real ones.
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

	"github.com/gputally/gputally/test/stage"
)

func main() {
	stage.HolderMain()
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder with gputally and gputally-agent")
	flag.StringVar(&o.nvml, "nvml", "test/mocknvml/build/libnvidia-ml.so.1", "the mock NVML library")
	flag.BoolVar(&o.once, "once", false, "print one picture and the metrics, and end")
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
	bin, nvml string
	once      bool
}

// check says what is missing and how to get it.
func (o *options) check() error {
	for _, f := range []*string{&o.bin, &o.nvml} {
		path, err := filepath.Abs(*f)
		if err != nil {
			return err
		}
		*f = path
	}
	var missing []error
	for _, need := range []struct{ path, how string }{
		{filepath.Join(o.bin, "gputally"), "make build"},
		{filepath.Join(o.bin, "gputally-agent"), "make build"},
		{o.nvml, "make mock"},
	} {
		if _, err := os.Stat(need.path); err != nil {
			missing = append(missing, fmt.Errorf("%s is missing: run %s (make demo does both)", need.path, need.how))
		}
	}
	if !o.once && !isTerminal(os.Stdout) {
		missing = append(missing, errors.New("this is no terminal: give --once for a picture as text (make demo DEMO=--once)"))
	}
	return errors.Join(missing...)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// run builds the node, watches it and takes everything away again.
func run(ctx context.Context, o options, out io.Writer) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gputally-demo-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := stage.New(dir, "gpu-node-1")
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := build(s)
	if err != nil {
		return fmt.Errorf("build the node: %w", err)
	}
	a, err := startAgent(ctx, o, s)
	if err != nil {
		return err
	}
	defer a.stop()
	if err := a.ready(ctx, settled); err != nil {
		return err
	}
	if err := n.breakDown(); err != nil {
		return err
	}
	if err := a.ready(ctx, 2*settled); err != nil {
		return err
	}
	if o.once {
		return printOnce(ctx, o, a, out)
	}
	stop := n.live(ctx)
	defer stop()
	return watch(ctx, o, a, s, out)
}
