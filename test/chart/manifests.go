// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// manifest is a file of plain manifests: the chart with some values.
type manifest struct {
	file, about, values string
	only                []string // kinds or templates; all where empty
	version             string   // of Kubernetes; the oldest where empty: what that takes, newer ones take
}

// manifests are the files in deploy/manifests. Certificates are not made without a
// cluster to keep them in: they come from a Secret, which docs/install.md makes.
var manifests = []manifest{
	{file: "gputally.yaml", about: "Agents and server. The agents get the GPUs from NVIDIA's container runtime (RuntimeClass nvidia).",
		values: "server: {tls: {mode: secret, secretName: gputally-server-tls}}"},
	{file: "gputally-dra.yaml", about: "Agents and server. The agents get the GPUs from DRA, by a claim with adminAccess: Kubernetes 1.34 or newer.",
		values: "{agent: {gpuAccess: {mode: dra}}, server: {tls: {mode: secret, secretName: gputally-server-tls}}}", version: "1.34.0"},
	{file: "gputally-privileged.yaml", about: "Agents and server. The agents are privileged, for nodes with neither NVIDIA's runtime nor DRA.",
		values: "{agent: {gpuAccess: {mode: privileged}}, server: {tls: {mode: secret, secretName: gputally-server-tls}}}"},
	{file: "agents-only.yaml", about: "Agents whose server is elsewhere: change its URL, and the cluster's name. Needs the Secrets gputally-agent-token (key token) and gputally-ca (key ca.crt).",
		values: "{cluster: my-cluster, server: {enabled: false}, agent: {server: {url: 'https://gputally.example:9403', tokenSecret: gputally-agent-token, caSecret: gputally-ca}}}"},
	{file: "monitoring.yaml", about: "For the Prometheus Operator: what is scraped, and the alerts of docs/alerts.md.",
		values: "{server: {tls: {mode: secret, secretName: gputally-server-tls}}, monitoring: {podMonitor: true, serviceMonitor: true, rules: true}}",
		only:   []string{"PodMonitor", "ServiceMonitor", "PrometheusRule"}},
	{file: "dashboards.yaml", about: "For Grafana with a sidecar that takes dashboards from ConfigMaps: docs/dashboards.md.",
		values: "{server: {tls: {mode: secret, secretName: gputally-server-tls}}, monitoring: {dashboards: true}}", only: []string{"dashboards.yaml"}},
}

// byHelm are labels that say something of Helm, which is not there.
var byHelm = regexp.MustCompile(`(?m)^ +(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n`)

// Manifests are the files of deploy/manifests, by name.
func Manifests(c *chart.Chart) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range manifests {
		text, err := m.render(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.file, err)
		}
		out[m.file] = text
	}
	return out, nil
}

func (m manifest) render(c *chart.Chart) (string, error) {
	values, err := ReadValues([]byte(m.values))
	if err != nil {
		return "", err
	}
	r, err := Render(c, values, Release{Name: "gputally", Namespace: "gputally", KubeVersion: cmp.Or(m.version, "1.30.0")})
	if err != nil {
		return "", err
	}
	all, err := r.Objects()
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(o Object) bool {
		return len(m.only) > 0 && !slices.Contains(m.only, o.Kind) && !slices.Contains(m.only, o.File)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "# Made by \"make manifests\" from deploy/chart. Do not edit.\n#\n# %s\n# Values: %s\n# How to use it: docs/install.md, \"Without Helm\".\n", m.about, m.values)
	if len(m.only) == 0 {
		b.WriteString(namespace)
	}
	if err := Write(&b, all); err != nil {
		return "", err
	}
	return byHelm.ReplaceAllString(b.String(), ""), nil
}

// namespace is what Helm does not make: the agents need the host's PIDs and paths.
const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: gputally
  labels:
    app.kubernetes.io/part-of: gputally
    pod-security.kubernetes.io/enforce: privileged
    # Lets claims have adminAccess: for access to GPUs by DRA, and idle else.
    resource.kubernetes.io/admin-access: "true"
---
`
