// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/policyfile"
	"github.com/gputally/gputally/internal/adapter/pricebook"
)

// uncommented is a file with the lines put in force that it has as examples.
func uncommented(t *testing.T, path string, examples ...string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := string(text)
	for _, e := range examples {
		if !strings.Contains(out, "\n# "+e) {
			t.Fatalf("%s has no example %q", path, e)
		}
		out = strings.Replace(out, "\n# "+e, "\n"+e, 1)
	}
	return out
}

// TestExamples: what the files invite to put in force can be read.
func TestExamples(t *testing.T) {
	book, err := pricebook.Read(strings.NewReader(uncommented(t, pricesFile, "- {id: p4d")), pricesFile)
	if err != nil || len(book.Book.Rows) != 2 {
		t.Errorf("%s: %v", pricesFile, err)
	}
	policy, err := policyfile.Read(strings.NewReader(uncommented(t, policyFile, "distribute:", "- {account: overhead", "- {account: stranded")), policyFile)
	if err != nil || len(policy.Policy.Distribute) != 2 {
		t.Errorf("%s: %v", policyFile, err)
	}
}
