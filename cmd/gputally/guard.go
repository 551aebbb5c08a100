// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
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

// guardScan are the flags of gputally guard scan.
type guardScan struct {
	files     []string
	output    string
	failOn    string
	namespace string
	exempt    []string
	resources []string
}

func newGuardScan() *cobra.Command {
	var f guardScan
	c := &cobra.Command{
		Use:   "scan -f FILE|DIR|-",
		Short: "Look for such containers in manifests",
		Long: `Scan reads manifests and names every container that could reach a GPU it did not
ask for: by a variable, a runtime class, a mount, an annotation or by being
privileged. It needs no cluster. The rules are in docs/guardrails.md.

It knows Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob,
PodTemplate, ReplicationController and Lists of them. Other kinds that hold a pod
template are named as not looked at. What an image has in its environment is not
in a manifest and not looked at.

Exit codes: 0 no finding as severe as --fail-on; 1 there is one; 2 a part of the
input could not be read. The rest is scanned all the same.`,
		Example: `  gputally guard scan -f deploy/
  helm template ./chart | gputally guard scan -f -
  kustomize build overlays/prod | gputally guard scan -f - --fail-on medium
  gputally guard scan -f deploy/ -o sarif > guard.sarif    # for code scanning
  gputally guard scan -f deploy/ --exempt "gpu-operator/DaemonSet/dcgm-exporter=platform: reads the metrics of every GPU"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	p := c.Flags()
	p.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE`, directory, or - for standard input (repeatable)")
	p.StringVarP(&f.output, "output", "o", "table", "what to print: table, json or sarif")
	p.StringVar(&f.failOn, "fail-on", "high", "exit 1 for findings of this severity or above: critical, high, medium, low, or none for never")
	p.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of objects that name none")
	p.StringArrayVar(&f.exempt, "exempt", nil, "`NAMESPACE/KIND/NAME=REASON`: report the findings of this object apart (repeatable)")
	p.StringSliceVar(&f.resources, "resource", nil, "further resources that stand for a GPU, where the device plugin renames its own")
	complete(c, "output", cobra.FixedCompletions([]string{"table", "json", "sarif"}, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "fail-on", cobra.FixedCompletions([]string{"critical", "high", "medium", "low", "none"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// policy checks the flags. The severity is 0 for none.
func (f *guardScan) policy() (guard.Policy, guard.Severity, error) {
	p := guard.Policy{Resources: f.resources}
	err := oneOf("output", f.output, "table", "json", "sarif")
	if len(f.files) == 0 {
		err = errors.Join(err, inputError{errors.New("nothing to scan: give -f FILE, -f DIR or -f - (standard input)")})
	}
	for _, text := range f.exempt {
		e, wrong := guard.ParseExemption(text)
		if wrong != nil {
			err = errors.Join(err, inputError{fmt.Errorf("--exempt: %w", wrong)})
		}
		p.Exempt = append(p.Exempt, e)
	}
	if f.failOn == "none" {
		return p, 0, err
	}
	least, wrong := guard.ParseSeverity(f.failOn)
	if wrong != nil {
		err = errors.Join(err, inputError{fmt.Errorf("--fail-on: %w, or none", wrong)})
	}
	return p, least, err
}

func (f *guardScan) run(c *cobra.Command) error {
	policy, least, err := f.policy()
	if err != nil {
		return err
	}
	s := scanned{read: manifest.Read(f.files, manifest.Options{Namespace: f.namespace, Stdin: c.InOrStdin()})}
	s.report = guard.Scan(s.read.Input, policy)
	if err := s.print(c.OutOrStdout(), f.output); err != nil {
		return fmt.Errorf("write the findings: %w", err)
	}
	s.notes(c.ErrOrStderr())
	return s.verdict(least)
}

// scanned is what a scan read and found.
type scanned struct {
	read   manifest.Result
	report guard.Report
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
