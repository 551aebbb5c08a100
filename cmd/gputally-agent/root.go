// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// The exit codes, the same for every command.
const (
	exitOK      = 0
	exitFailure = 1 // it ran and failed, or a check did not hold
	exitUsage   = 2 // the command line, the configuration or an input is wrong
	exitRestart = 3 // only a new process can use the driver again
)

// inputError is a mistake in what the user gave: exit code 2.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

func execute(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "gputally-agent:", err)
	var input inputError
	switch {
	case errors.As(err, &input):
		return exitUsage
	case errors.Is(err, errRestart):
		return exitRestart
	}
	return exitFailure
}

func newRoot() *cobra.Command {
	root := newRun()
	root.Use = "gputally-agent"
	root.Short = "The GPU meter of one node"
	root.Long = `gputally-agent says at every moment who holds which GPU memory on this node,
serves it on /metrics and /api/v1/node, and keeps usage records on disk.
Without a command it runs the agent, as "gputally-agent run" does.

Each setting comes from, in this order: the flag, the environment variable
GPUTALLY_NAME (GPUTALLY_SPOOL_DIR for --spool-dir), the file named by --config
(its keys are the flags' names), the default.

Exit codes: 0 good; 1 failed, or a check did not hold; 2 the command line, the
configuration or an input is wrong; 3 the driver was replaced and only a new
process can use it: start the agent again.`
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return inputError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	root.AddCommand(newRun(), newCapture(), newSpool(), newDocs(), newVersion())
	asInput(root)
	return root
}

// asInput makes wrong arguments of c and its commands mistakes of the user.
func asInput(c *cobra.Command) {
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return inputError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		asInput(sub)
	}
}
