// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes, the same for every command.
const (
	exitOK      = 0
	exitFailure = 1 // the command ran and the answer is bad, or it could not be got
	exitUsage   = 2 // the command line or an input file is wrong
)

// inputError is a mistake in what the user gave: exit code 2.
type inputError struct{ error }

func (e inputError) Unwrap() error { return e.error }

// run executes the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "gputally:", err)
	var input inputError
	if errors.As(err, &input) {
		return exitUsage
	}
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "gputally",
		Short: "The GPU meter and GPU bill of Kubernetes",
		Long: `gputally says who holds which GPU memory, under every way of sharing a GPU.
Every byte has an owner or a named account; what is not known is said to be unknown.

Exit codes: 0 the answer is there; 1 the command failed, or a check did not hold;
2 the command line or an input file is wrong. Answers go to standard output,
everything else to standard error.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return inputError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	root.AddGroup(
		&cobra.Group{ID: groupMeter, Title: "What is on the GPUs:"},
		&cobra.Group{ID: groupServe, Title: "The ledger:"},
		&cobra.Group{ID: groupBill, Title: "What it costs (these ask a gputally server):"},
	)
	grouped(root, groupMeter, newReplay(), newTop())
	grouped(root, groupServe, newServer())
	grouped(root, groupBill, newReport(), newExplain(), newStatus(), newPrice(), newBill(), newPeriod(), newLedger(), newWhatIf(), newAdvise(), newTrail())
	root.AddCommand(newVersion(), newDocs())
	addGuard(root)
	root.CompletionOptions.HiddenDefaultCmd = false
	if plugin != nil {
		plugin.adapt(root)
	}
	mistakesAreInput(root)
	return root
}

// The groups of commands in the help.
const (
	groupMeter = "meter"
	groupServe = "serve"
	groupBill  = "bill"
)

func grouped(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// mistakesAreInput makes wrong arguments of a command, and of those below it, a
// mistake of the command line. A command that only has others below it says which
// there are where it is given another.
func mistakesAreInput(c *cobra.Command) {
	c.Args = asInput(c.Args)
	for _, below := range c.Commands() {
		mistakesAreInput(below)
	}
}

// asInput makes wrong arguments a mistake of the command line.
func asInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return inputError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
}

// oneOf checks a flag that takes one word of several.
func oneOf(flag, value string, words ...string) error {
	for _, w := range words {
		if value == w {
			return nil
		}
	}
	return inputError{fmt.Errorf("--%s is %q; write %s", flag, value, strings.Join(words, " or "))}
}
