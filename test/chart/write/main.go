// SPDX-License-Identifier: Apache-2.0

// Command write makes what is made from the chart: its README and the plain manifests.
// It is what "make manifests" runs, in test/chart.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gputally/gputally/test/chart"
)

func main() {
	if err := run("../../deploy"); err != nil {
		fmt.Fprintln(os.Stderr, "write manifests:", err)
		os.Exit(1)
	}
}

func run(deploy string) error {
	dir := filepath.Join(deploy, "chart")
	values, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return err
	}
	readme, err := chart.Readme(values)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme), 0o644); err != nil {
		return err
	}
	c, err := chart.Load(dir)
	if err != nil {
		return err
	}
	files, err := chart.Manifests(c)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(deploy, "manifests", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
