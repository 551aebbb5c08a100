// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"os"
	"regexp"
	"testing"
)

// Whatever the state file accepts is in the README: keys, line words, faults, profiles.
func TestReadmeNamesEverything(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, m := range regexp.MustCompile(`[a-z0-9_-]+`).FindAllString(string(readme), -1) {
		said[m] = true
	}
	tables := []struct {
		files, entry string
		atLeast      int
	}{
		{"src/lines*.c", `\{"([a-z0-9_]+)", (?:to|set|add)_\w+(?:, |\})`, 60},
		{"src/lines.c", `\{"([a-z0-9_]+)", NVML_GPM_METRIC_`, 13},
		{"src/lines.c", `\{"([a-z0-9_]+)", nvmlEvent`, 7},
		{"src/faults.c", `\{"([a-z_]+)", FAULT_`, 18},
		{"src/profiles.c", `\.key = "([a-z0-9-]+)"`, 12},
	}
	for _, table := range tables {
		found := words(t, table.files, regexp.MustCompile(table.entry))
		if len(found) < table.atLeast {
			t.Errorf("only %d entries in %s", len(found), table.files)
		}
		for name := range found {
			if !said[name] {
				t.Errorf("README.md does not name %q of %s", name, table.files)
			}
		}
	}
}
