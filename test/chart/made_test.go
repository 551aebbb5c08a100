// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMadeFilesAreCurrent: the chart's README and deploy/manifests are what
// "make manifests" makes now, and nothing else lies there.
func TestMadeFilesAreCurrent(t *testing.T) {
	readme, err := Readme([]byte(read(t, chartDir+"/values.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(read(t, chartDir+"/README.md"), readme); d != "" {
		t.Errorf("deploy/chart/README.md: run make manifests (-file +now)\n%s", d)
	}
	files, err := Manifests(load(t))
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadDir(repo + "/deploy/manifests")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		want, ok := files[f.Name()]
		if !ok {
			t.Errorf("deploy/manifests/%s is not made by anything", f.Name())
			continue
		}
		if d := cmp.Diff(read(t, repo+"/deploy/manifests/"+f.Name()), want); d != "" {
			t.Errorf("deploy/manifests/%s: run make manifests (-file +now)\n%s", f.Name(), d)
		}
		delete(files, f.Name())
	}
	for name := range files {
		t.Errorf("deploy/manifests/%s is missing: run make manifests", name)
	}
}
