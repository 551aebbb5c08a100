// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestDashboards: each file of the chart's dashboards is a ConfigMap that a sidecar of
// Grafana finds, with the file as it is; labels and annotations can be other ones; and
// there is none unless it is asked for.
func TestDashboards(t *testing.T) {
	files, err := filepath.Glob(chartDir + "/dashboards/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	render := func(values string) (out []*corev1.ConfigMap) {
		for _, o := range objects(t, render(t, inline(t, values), newest)) {
			if o.File == "dashboards.yaml" {
				out = append(out, decoded(t, o).(*corev1.ConfigMap))
			}
		}
		return out
	}
	if got := render("{}"); len(got) != 0 {
		t.Errorf("%d dashboards that nobody asked for", len(got))
	}
	found := map[string]bool{}
	for _, c := range render("monitoring: {dashboards: true}") {
		if c.Labels["grafana_dashboard"] != "1" || len(c.Data) != 1 {
			t.Errorf("%s: labels %v, %d files", c.Name, c.Labels, len(c.Data))
		}
		for name, text := range c.Data {
			file := chartDir + "/dashboards/" + strings.TrimPrefix(name, "gputally-")
			if strings.TrimSpace(text) != strings.TrimSpace(read(t, file)) || !json.Valid([]byte(text)) {
				t.Errorf("%s: %s is not the file", c.Name, name)
			}
			found[filepath.Clean(file)] = true
		}
	}
	for _, f := range files {
		if !found[filepath.Clean(f)] {
			t.Errorf("%s is in no ConfigMap: name it in templates/dashboards.yaml", f)
		}
	}
	for _, c := range render(`monitoring: {dashboards: true, dashboardLabels: {grafana_dashboard: null, board: mine}, dashboardAnnotations: {grafana_folder: GPUs}}`) {
		if _, old := c.Labels["grafana_dashboard"]; old || c.Labels["board"] != "mine" || c.Annotations["grafana_folder"] != "GPUs" {
			t.Errorf("%s: labels %v, annotations %v", c.Name, c.Labels, c.Annotations)
		}
	}
}
