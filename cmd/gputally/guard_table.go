// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gputally/gputally/internal/adapter/api/reportview"
	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

// table prints the findings, then what each rule among them means, then what was
// exempted and what was not looked at.
func (s *scanned) table(w io.Writer) error {
	var b strings.Builder
	s.findingTable(&b)
	s.remedies(&b)
	s.exemptTable(&b)
	s.skippedTable(&b)
	b.WriteString(s.summary() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *scanned) findingTable(b *strings.Builder) {
	if len(s.report.Findings) == 0 {
		return
	}
	rows := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "SEVERITY\tRULE\tOBJECT\tCONTAINER\tWHERE\tWHAT\tFIELD AND VALUE")
	for _, f := range s.report.Findings {
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Severity, f.Rule, reportview.Plain(f.Object.String()), reportview.Plain(containerText(f)), reportview.Plain(whereText(f.Place)),
			reportview.Plain(whatText(f)), reportview.Plain(fieldText(f)))
	}
	rows.Flush()
}

// fieldText is the field with its value; a setting that is left to its default has none.
func fieldText(f guard.Finding) string {
	if f.Field == "" {
		return "-"
	}
	return f.Field + "=" + short(f.Value)
}

// containerText is the container's name, with what it is where that is special.
func containerText(f guard.Finding) string {
	switch {
	case guard.RuleOf(f.Rule).OfNode:
		return "(node)"
	case f.Role == "":
		return "(pod)"
	case f.Role == guard.Main:
		return f.Container
	}
	return f.Container + " (" + string(f.Role) + ")"
}

// whatText is what was found, and in which pods.
func whatText(f guard.Finding) string {
	if pods := podsText(f); pods != "" {
		return f.What + " (" + pods + ")"
	}
	return f.What
}

func whereText(p guard.Place) string {
	if p.Document == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d (document %d)", p.File, p.Line, p.Document)
}

// short keeps a value to the width of a column.
func short(value string) string {
	const most = 60
	runes := []rune(value)
	if len(runes) <= most {
		return value
	}
	return string(runes[:most]) + "…"
}

// remedies says once for each rule why it matters and what to do.
func (s *scanned) remedies(b *strings.Builder) {
	found := map[guard.ID]bool{}
	for _, f := range s.report.Findings {
		found[f.Rule] = true
	}
	for _, r := range guard.Rules() {
		if found[r.ID] {
			fmt.Fprintf(b, "\n%s  %s\n  Why: %s\n  Fix: %s.\n", r.ID, r.Title, r.Why, r.Fix)
		}
	}
	if len(found) > 0 {
		fmt.Fprintf(b, "\nA component of the platform that must reach GPUs is exempted by --exempt, or by the\nannotation %s: \"owner: reason\".\n\n", guard.ExemptNote)
	}
}

func (s *scanned) exemptTable(b *strings.Builder) {
	if len(s.report.Exempted) == 0 {
		return
	}
	fmt.Fprintln(b, "Exempted:")
	rows := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(rows, "SEVERITY\tRULE\tOBJECT\tCONTAINER\tWHERE\tBY\tREASON")
	for _, e := range s.report.Exempted {
		reason := e.Exemption.Reason
		if e.Exemption.Owner != "" {
			reason = e.Exemption.Owner + ": " + reason
		}
		fmt.Fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Severity, e.Rule, reportview.Plain(e.Finding.Object.String()), reportview.Plain(containerText(e.Finding)),
			reportview.Plain(whereText(e.Place)), e.Exemption.By, reportview.Plain(reason))
	}
	rows.Flush()
	fmt.Fprintln(b)
}

func (s *scanned) skippedTable(b *strings.Builder) {
	if len(s.read.Skipped) == 0 {
		return
	}
	fmt.Fprintln(b, "Not looked at:")
	for _, k := range s.read.Skipped {
		name := ""
		if k.Object != "" {
			name = k.Object + ": "
		}
		where := whereText(guard.Place{File: k.File, Document: k.Document, Line: k.Line})
		fmt.Fprintf(b, "  %s: %s%s\n", reportview.Plain(where), reportview.Plain(name), reportview.Plain(k.Reason))
	}
	fmt.Fprintln(b)
}

// summary is the last line.
func (s *scanned) summary() string {
	var parts []string
	for _, severity := range guard.Severities() {
		n := 0
		for _, f := range s.report.Findings {
			if f.Severity == severity {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, severity))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no finding"}
	}
	if n := len(s.report.Exempted); n > 0 {
		parts = append(parts, fmt.Sprintf("%d exempted", n))
	}
	looked := fmt.Sprintf("%s of %s in %s", counted(s.report.Containers, "container"), counted(s.report.Workloads, "workload"), counted(s.read.Files, "file"))
	if s.cluster != "" {
		looked = fmt.Sprintf("%s of %s and %s in %s", counted(s.report.Containers, "container"), counted(s.report.Workloads, "workload"), counted(s.report.Pods, "pod"), s.cluster)
	}
	if n := s.report.NodeConfigs; n > 0 {
		looked += ", " + counted(n, "set-up") + " of nodes"
	}
	return looked + ": " + strings.Join(parts, ", ") + "."
}

// guardAnswer is what -o json prints.
type guardAnswer struct {
	Version  int                `json:"version"`
	Looked   guardLooked        `json:"looked_at"`
	Findings []guard.Finding    `json:"findings"`
	Exempted []guard.Exempted   `json:"exempted"`
	Unused   []guard.Exemption  `json:"unused_exemptions"`
	Skipped  []manifest.Skipped `json:"not_looked_at"`
	Mistakes []manifest.Mistake `json:"mistakes"`
}

type guardLooked struct {
	Files      int `json:"files"`
	Documents  int `json:"documents"`
	Workloads  int `json:"workloads"`
	Containers int `json:"containers"`
	// Pods are those that their workload stands for, of a cluster.
	Pods    int    `json:"pods,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

func (s *scanned) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(guardAnswer{
		Version:  1,
		Looked:   guardLooked{s.read.Files, s.read.Documents, s.report.Workloads, s.report.Containers, s.report.Pods, s.cluster},
		Findings: listed(s.report.Findings), Exempted: listed(s.report.Exempted), Unused: listed(s.report.Unused),
		Skipped: listed(s.read.Skipped), Mistakes: listed(s.read.Mistakes),
	})
}

// listed is an empty list where there is none, so that JSON has no null.
func listed[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
