// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/reportview"
	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

const groupGuard = "guard"

// addGuard adds the guardrails: their commands, and their generated reference to
// the others.
func addGuard(root *cobra.Command) {
	root.AddGroup(&cobra.Group{ID: groupGuard, Title: "Who could reach the GPUs:"})
	c := &cobra.Command{
		Use: "guard", Short: "Find containers that could reach GPUs they did not ask for", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newGuardScan(), newGuardPolicies())
	grouped(root, groupGuard, c)
	for _, docs := range root.Commands() {
		if docs.Name() == "docs" {
			docs.AddCommand(newGuardDocs())
		}
	}
}

// scanned is what a scan read and found.
type scanned struct {
	read   manifest.Result
	report guard.Report
	// cluster is the name of the one that was read, "" for files.
	cluster string
}

func (s *scanned) print(w io.Writer, format string) error {
	switch format {
	case "json":
		return s.json(w)
	case "sarif":
		return s.sarif(w)
	}
	return s.table(w)
}

// notes says on standard error what went wrong besides the findings.
func (s *scanned) notes(w io.Writer) {
	for _, m := range s.read.Mistakes {
		fmt.Fprintln(w, reportview.Plain(m.Error()))
	}
	for _, file := range s.report.UnseenImages {
		fmt.Fprintf(w, "note: --image-archive %s: no container of the input uses this image; give the name that they use by NAME=FILE\n", reportview.Plain(file))
	}
	for _, e := range s.report.Unused {
		fmt.Fprintf(w, "note: --exempt %s: no such object in the input; drop the exemption, or look for a mistake in the name\n", reportview.Plain(e.Object.String()))
	}
}

// verdict is the exit code, as an error: input that could not be read counts
// before findings, since there may be more in it.
func (s *scanned) verdict(least guard.Severity) error {
	if n := len(s.read.Mistakes); n > 0 {
		return inputError{fmt.Errorf("%s in the input: what is there could not be looked at", counted(n, "mistake"))}
	}
	n := 0
	for _, f := range s.report.Findings {
		if least > 0 && f.Severity >= least {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%s of severity %s or above", counted(n, "finding"), least)
	}
	return nil
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
