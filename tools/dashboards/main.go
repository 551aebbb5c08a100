// SPDX-License-Identifier: Apache-2.0

// Command dashboards writes the Grafana dashboards of deploy/chart/dashboards from the
// lists in this package. "make manifests" runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	to := flag.String("o", "deploy/chart/dashboards", "folder to write to")
	flag.Parse()
	if err := write(*to); err != nil {
		fmt.Fprintln(os.Stderr, "write dashboards:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, b := range boards() {
		text, err := b.file()
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, b.name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
