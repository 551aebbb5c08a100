// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestTable: what benchmarks print becomes rows that say whether the aims are met.
func TestTable(t *testing.T) {
	const printed = `goos: linux
BenchmarkReport/team-day-2    30   122530045 ns/op   610.3 bare-ms   21600000 lines   0.2065 of-bare   150.0 p99-ms   660 peak-MiB
BenchmarkReport/one-gpu-2     30   99904944 ns/op    45.90 bare-ms   21600000 lines   2.112 of-bare    147.0 p99-ms   660 peak-MiB
BenchmarkAppend-2              5   1112965504 ns/op  1123 batches/s  90973 rows/s
PASS
`
	results, err := readResults(strings.NewReader(printed))
	if err != nil || len(results) != 3 {
		t.Fatal(results, err)
	}
	got := report([]row{reported(results[0]), reported(results[1]), perSecond("taken in", "rows/s", "100,000 rows/s", 100_000)(results[2])}, 1, 2.5)
	for _, want := range []string{
		"| team-day | mean 123 ms, p99 150 ms; bare 610 ms, 0.21 × bare; 660 MiB | p99 1 s, 1.5 × bare, 1 GiB | yes |",
		"| one-gpu | mean 100 ms, p99 147 ms; bare 46 ms, 2.11 × bare; 660 MiB | p99 1 s, 1.5 × bare, 1 GiB | **no** |",
		"| taken in | 90,973 rows/s, 1.11 s | 100,000 rows/s | **no** |", "load was 1.0 before and 2.5 after",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if small := smallReported(results[0]); small.met || !smallReported(results[1]).met {
		t.Errorf("a mean of 123 ms is met: %v, one of 99.9 ms is not", small.met)
	}
	if _, err := readResults(strings.NewReader("BenchmarkX 1 many ns/op")); err == nil {
		t.Error("a figure that is none was read")
	}
}

// TestDocument: the document has the markers, and only what is between them changes.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/ledger-speed.md")
	if err != nil {
		t.Fatal(err)
	}
	once, err := refreshed(string(doc), "a new table\n")
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := refreshed(once, "a new table\n"); err != nil || twice != once || !strings.Contains(once, "a new table") {
		t.Errorf("%v\n%s", err, twice)
	}
	if _, err := refreshed("no markers", "x"); err == nil {
		t.Error("a document without markers was refreshed")
	}
}

// TestOnly: a name that nothing has is no success.
func TestOnly(t *testing.T) {
	if err := run("", "nothing of this name"); err == nil || !strings.Contains(err.Error(), "nothing that is measured") {
		t.Error(err)
	}
}
