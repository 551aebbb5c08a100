// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The published model and the published sample are not part of this repository.
// They are read in place: from the directory that GPUTALLY_SHARED_DATA names,
// else from ../shared/data beside the checkout. A directory that is named and
// lacks them fails the tests; where none is named and none is found, what needs
// them is left out, and says so.

func sharedFile(t testing.TB, name string) []byte {
	t.Helper()
	dir, named := os.LookupEnv("GPUTALLY_SHARED_DATA")
	if !named {
		dir = "../../../shared/data"
	}
	b, err := os.ReadFile(filepath.Join(dir, "focus", name))
	if err == nil {
		return b
	}
	if named {
		t.Fatalf("GPUTALLY_SHARED_DATA is %s: %v", dir, err)
	}
	message := fmt.Sprintf("LEFT OUT: %s needs %s, which is not beside this checkout. Set GPUTALLY_SHARED_DATA to the directory that has focus/%s", t.Name(), name, name)
	t.Log(message)
	fmt.Fprintln(os.Stderr, message)
	return nil
}

// publishedModel is nil where it is left out.
func publishedModel(t testing.TB) *Model {
	t.Helper()
	b := sharedFile(t, "model-1.2.json")
	if b == nil {
		return nil
	}
	m, err := ReadModel(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// currencies are the codes of ISO 4217 that the published validator takes.
func currencies(t testing.TB) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, line := range strings.Fields(string(sharedFile(t, "currency_codes.csv"))) {
		if _, code, ok := strings.Cut(line, ","); ok && code != "currency_codes" {
			out[code] = true
		}
	}
	return out
}
