// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

// The part of SARIF 2.1.0 (OASIS) that a scan fills in; names are the standard's.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string         `json:"id"`
		Name    string         `json:"name"`
		Short   sarifText      `json:"shortDescription"`
		Full    sarifText      `json:"fullDescription"`
		Help    sarifText      `json:"help"`
		Default sarifLevel     `json:"defaultConfiguration"`
		More    map[string]any `json:"properties"`
	}
	sarifText  struct{ Text string }
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		Successful bool        `json:"executionSuccessful"`
		Notices    []sarifNote `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNote struct {
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		More         map[string]any     `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// MarshalJSON writes a message.
func (t sarifText) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"text": t.Text})
}

// sarif prints the findings for code scanning. Exempted ones are results with a
// suppression, mistakes of the input and what was not looked at are notifications.
func (s *scanned) sarif(w io.Writer) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "gputally", Version: versionText(), Rules: sarifRules()}},
		Invocations: []sarifInvocation{{Successful: len(s.read.Mistakes) == 0, Notices: s.sarifNotices()}},
		Results:     []sarifResult{},
	}
	for _, f := range s.report.Findings {
		run.Results = append(run.Results, sarifResultOf(f))
	}
	for _, e := range s.report.Exempted {
		r := sarifResultOf(e.Finding)
		r.Suppressions = []sarifSuppression{sarifSuppressionOf(e.Exemption)}
		run.Results = append(run.Results, r)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// sarifLevelOf is the level of a severity; SARIF has three.
func sarifLevelOf(s guard.Severity) string {
	switch {
	case s >= guard.High:
		return "error"
	case s == guard.Medium:
		return "warning"
	}
	return "note"
}

// securitySeverity is the score by which code scanning sorts rules: the middle
// of CVSS's range for the word.
func securitySeverity(s guard.Severity) string {
	return map[guard.Severity]string{guard.Critical: "9.5", guard.High: "8.0", guard.Medium: "5.5", guard.Low: "2.0"}[s]
}

func sarifRules() (out []sarifRule) {
	for _, r := range guard.Rules() {
		out = append(out, sarifRule{
			ID: string(r.ID), Name: r.Name, Short: sarifText{r.Title}, Full: sarifText{r.Why},
			Help:    sarifText{r.Fix + ". Severity: " + r.When + "."},
			Default: sarifLevel{sarifLevelOf(r.Severities[0])},
			More:    map[string]any{"tags": []string{"security", "kubernetes", "gpu"}, "security-severity": securitySeverity(r.Severities[0])},
		})
	}
	return out
}

func sarifResultOf(f guard.Finding) sarifResult {
	index := 0
	for i, r := range guard.Rules() {
		if r.ID == f.Rule {
			index = i
		}
	}
	subject := f.Object.String()
	if f.Container != "" {
		subject += ", " + string(f.Role) + " " + f.Container
	}
	at := sarifAt(f.File, f.Line)
	if f.Document == 0 { // an object of a cluster: there is no file
		at = sarifAt(f.File+"/"+f.Object.String(), 0)
	}
	at.Logical = []sarifLogical{{f.Object.String() + "/" + f.Field}}
	key := sha256.Sum256([]byte(strings.Join([]string{string(f.Rule), f.Object.String(), f.Container, f.Field}, "\x00")))
	return sarifResult{
		RuleID: string(f.Rule), RuleIndex: index, Level: sarifLevelOf(f.Severity),
		Message:      sarifText{subject + " " + whatText(f) + ". " + f.Why + " Fix: " + f.Fix + "."},
		Locations:    []sarifLocation{at},
		Fingerprints: map[string]string{"gputallyGuard/v1": hex.EncodeToString(key[:16])},
		More:         map[string]any{"severity": f.Severity.String(), "document": f.Document, "field": f.Field, "value": f.Value},
	}
}

func sarifSuppressionOf(e guard.Exemption) sarifSuppression {
	if e.By == guard.ByAnnotation {
		return sarifSuppression{"inSource", e.Owner + ": " + e.Reason}
	}
	return sarifSuppression{"external", e.Reason}
}

func (s *scanned) sarifNotices() (out []sarifNote) {
	for _, m := range s.read.Mistakes {
		out = append(out, sarifNote{"error", sarifText{m.Error()}, []sarifLocation{sarifAt(m.File, m.Line)}})
	}
	for _, k := range s.read.Skipped {
		if k.Template || s.cluster != "" {
			out = append(out, sarifNote{"warning", sarifText{"not looked at: " + strings.TrimPrefix(k.Object+": ", ": ") + k.Reason}, []sarifLocation{sarifAt(k.File, k.Line)}})
		}
	}
	for _, e := range s.report.Unused {
		out = append(out, sarifNote{"note", sarifText{"exemption of " + e.Object.String() + ": no such object in the input"}, []sarifLocation{}})
	}
	return out
}

// sarifAt is a place. Paths are those that the command was given, so that they
// are relative to the root of a repository where the command runs there.
func sarifAt(file string, line int) sarifLocation {
	u := url.URL{Path: filepath.ToSlash(file)}
	switch {
	case file == manifest.StdinName:
		u.Path = manifest.StdinName
	case filepath.IsAbs(file):
		u.Scheme = "file"
	}
	at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{u.String()}}}
	if line > 0 {
		at.Physical.Region = &sarifRegion{line}
	}
	return at
}
