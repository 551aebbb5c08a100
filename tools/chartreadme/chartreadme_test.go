// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadmeIsUpToDate: the chart's README in Chinese says what the English one says.
func TestReadmeIsUpToDate(t *testing.T) {
	const dir = "../../deploy/chart"
	want, err := made(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(dir + "/README.zh-CN.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s/README.zh-CN.md is out of date: make docs (-want +got):\n%s", dir, diff)
	}
}
