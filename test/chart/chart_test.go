// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

var update = flag.Bool("update", false, "rewrite testdata/golden from what the chart renders now")

// chartDir is the chart, and repo the top of the repository.
const (
	chartDir = "../../deploy/chart"
	repo     = "../.."
)

// newest is the Kubernetes that is rendered for where nothing else is said.
const newest = "1.37.0"

// variant is a set of values in testdata/values.
type variant struct {
	name   string
	values map[string]any
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// variants are all of testdata/values.
func variants(t *testing.T) []variant {
	t.Helper()
	paths, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(paths) < 10 {
		t.Fatalf("testdata/values has %d files: %v", len(paths), err)
	}
	var out []variant
	for _, p := range paths {
		out = append(out, variant{strings.TrimSuffix(filepath.Base(p), ".yaml"), valuesOf(t, p)})
	}
	return out
}

func valuesOf(t *testing.T, path string) map[string]any {
	t.Helper()
	values, err := ReadValues([]byte(read(t, path)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return values
}

// render renders the chart for a Kubernetes version.
func render(t *testing.T, values map[string]any, version string) Rendered {
	t.Helper()
	r, err := Render(load(t), values, Release{Name: "gputally", Namespace: "gputally", KubeVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func objects(t *testing.T, r Rendered) []Object {
	t.Helper()
	all, err := r.Objects()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("nothing was rendered")
	}
	return all
}

// inline reads values that a test writes down.
func inline(t *testing.T, text string) map[string]any {
	t.Helper()
	values, err := ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
