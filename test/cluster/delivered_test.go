// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// What users get: the image, the chart, and the documents. olderChart is the chart as if it were of
// the version before: all that differs is its version, and so the image's tag.
const (
	deliveredImage = "/run/node/gputally.oci.tar"
	deliveredChart = "/run/node/chart"
	olderChart     = "/run/node/chart-before"
	olderVersion   = "0.0.0-before"
	deliveredDocs  = "/run/node/docs"

	imageName = "docker.io/library/gputally"
)

// deliver puts the chart and the image into the run folder, where a scenario needs them.
func deliver(run string) error {
	if !plays("chart-") || os.Getenv(vmVar) == "1" {
		return nil
	}
	for _, dir := range []string{"chart", "chart-before"} {
		if err := os.CopyFS(filepath.Join(run, dir), os.DirFS("../../deploy/chart")); err != nil {
			return fmt.Errorf("copy the chart: %w", err)
		}
	}
	if err := versionChart(filepath.Join(run, "chart-before", "Chart.yaml"), olderVersion); err != nil {
		return err
	}
	if err := os.CopyFS(filepath.Join(run, "docs"), os.DirFS("../../docs")); err != nil {
		return fmt.Errorf("copy the documents: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache for the image's packages: %w", err)
	}
	out := filepath.Join(run, "image")
	cmd := exec.Command("go", "run", "./tools/image", "--out", out, "--work", filepath.Join(cache, "gputally", "cluster", "image"),
		"--platform", "linux/"+runtime.GOARCH, "--name", imageName, "--version", "test", "--tags", "grpcnotrace")
	cmd.Dir = "../.."
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the image: %w\n%s", err, said)
	}
	if err := os.Rename(filepath.Join(out, "gputally.oci.tar"), filepath.Join(run, "gputally.oci.tar")); err != nil {
		return fmt.Errorf("keep the image: %w", err)
	}
	return nil
}

var chartVersion = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// versionChart gives a chart another version.
func versionChart(file, version string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the chart's version: %w", err)
	}
	if n := len(chartVersion.FindAll(text, -1)); n != 2 {
		return fmt.Errorf("%s: %d lines version and appVersion, want 2", file, n)
	}
	return os.WriteFile(file, chartVersion.ReplaceAll(text, []byte("$1: "+version)), 0o644)
}

// plays says whether -run lets a scenario be played whose name begins so.
func plays(prefix string) bool {
	filter := strings.Split(flag.Lookup("test.run").Value.String(), "/")
	if len(filter) < 2 {
		return true
	}
	for _, s := range scenarios {
		if ok, err := regexp.MatchString(filter[1], s.name); err == nil && ok && strings.HasPrefix(s.name, prefix) {
			return true
		}
	}
	return false
}
