// SPDX-License-Identifier: Apache-2.0

package policyfile

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
)

// example is the policy that docs/formats/policy.md shows.
func example(t testing.TB) string {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/formats/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(doc)
	if m == nil {
		t.Fatal("docs/formats/policy.md shows no example")
	}
	return string(m[1])
}

func TestTheDocumentedPolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte(example(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := allocation.Policy{
		ID: "acme-2026", Basis: allocation.Held, TurnsReserve: true, Scope: allocation.ScopeGiven,
		Distribute: []allocation.Distribution{
			{Account: "overhead", How: allocation.Proportional},
			{Account: "unattributed", How: allocation.Even},
			{Account: "stranded", How: allocation.Owner, Shares: []allocation.Share{{To: "platform", Weight: 1}}},
			{Account: "idle", How: allocation.Fixed, Shares: []allocation.Share{{To: "research", Weight: 3}, {To: "platform", Weight: 1}}},
		},
	}
	if diff := cmp.Diff(want, f.Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	if f.Split != pricing.RuleOpenCost || !strings.HasPrefix(f.Revision, "sha256:") || string(f.Text) != example(t) || f.Name != path {
		t.Errorf("split %q, revision %q, name %q", f.Split, f.Revision, f.Name)
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestMistakes: each names file, line and field, and says what to do.
func TestMistakes(t *testing.T) {
	const head = "policy: 1\n"
	for text, want := range map[string]string{
		"":                            "p.yaml: holds no document, or several; a policy is one YAML document that begins with policy: 1",
		"basis: held":                 `p.yaml:1: policy: should be 1`,
		head + "base: held":           "p.yaml:2: base: is not a field that belongs here; there are policy, id, basis",
		head + "basis: half":          `p.yaml:1: policy "": basis is "half"; write held, memory or reserved`,
		head + "turns_reserve: maybe": `p.yaml:2: turns_reserve: "maybe": write true or false`,
		head + "scope: world":         `scope is "world"; write node or given`,
		head + "split: halves":        `p.yaml:2: split: "halves" is no rule; write one of aws-scad, opencost`,
		head + "split: {rule: x}":     "p.yaml:2: split: should be a plain value",
		head + "distribute: idle":     "p.yaml:2: distribute: should be a list",
		head + "distribute: [{account: waste, how: even}]":                                       "no such platform account; write one of idle",
		head + "distribute: [{account: idle, how: fixed}]":                                       "fixed without shares",
		head + "distribute: [{account: idle, how: fixed, shares: [{to: a, weight: 0}]}]":         "p.yaml:2: distribute[0].shares[0].weight: \"0\" is no whole number",
		head + "distribute: [{account: idle, how: even, to: a}]":                                 "even takes no shares",
		head + "distribute:\n- {account: idle, how: even}\n- {account: idle, how: even}":         `names "idle" twice`,
		head + "distribute:\n- {account: idle, how: owner, to: idle}":                            "nothing is passed on twice",
		head + "distribute:\n- {account: idle, how: owner, to: a, shares: [{to: b, weight: 1}]}": "owner with 2 shares",
		head + "distribute:\n- account: idle\n  how: proportional\n  colour: red":                "p.yaml:5: distribute[0].colour: is not a field",
		head + "id: [x]": "p.yaml:2: id: should be a plain value",
	} {
		_, err := Read(strings.NewReader(text), "p.yaml")
		var e *Error
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &e) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Read(strings.NewReader(strings.Repeat("#", maxBytes+1)), "p.yaml"); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(example(f)))
	for _, odd := range []string{"", "{", "policy: &a [*a]", "policy: 1\ndistribute: [{shares: [{}]}]", "policy: 1\n? ", "<<: {policy: 1}"} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Read(strings.NewReader(string(text)), "fuzz.yaml")
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.File != "fuzz.yaml" || e.Msg == "" {
				t.Fatalf("error does not name its place: %T %v", err, err)
			}
			return
		}
		if err := got.Policy.Check(); err != nil {
			t.Fatalf("a policy that can be read cannot be used: %v", err)
		}
	})
}
