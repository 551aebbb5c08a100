// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"text/template"
)

// plugin is Krew's manifest. Krew links bin as kubectl-gputally, and by that name the
// program knows that it is a plugin.
var plugin = template.Must(template.New("plugin").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: gputally
spec:
  version: {{.Version}}
  homepage: https://github.com/gputally/gputally
  shortDescription: Show who uses and pays for GPUs
  description: |
    Asks the gputally that is installed in the cluster: what is on its GPUs now, what
    each namespace, team and workload costs, and how a charge came about. It goes
    through the API server with your kubeconfig, and asks as you.
    "kubectl gputally guard scan" finds containers that could reach GPUs they did not
    ask for; that needs no installation.
  caveats: |
    Needs the rights of the Role gputally-kubectl and the ClusterRole gputally-reader:
    https://github.com/gputally/gputally/blob/main/docs/kubectl.md
  platforms:
{{- range .Archives}}
  - selector:
      matchLabels:
        os: {{.System}}
        arch: {{.Arch}}
    uri: {{$.URL}}/{{.File}}
    sha256: {{.Sum}}
    files:
    - from: gputally
      to: .
    - from: LICENSE
      to: .
    bin: gputally
{{- end}}
`))

// manifest is the text of gputally.yaml.
func manifest(version, url string, archives []archive) ([]byte, error) {
	type row struct{ System, Arch, File, Sum string }
	data := struct {
		Version, URL string
		Archives     []row
	}{Version: version, URL: url}
	for _, a := range archives {
		data.Archives = append(data.Archives, row{a.system, a.arch, a.file, a.sum})
	}
	var b bytes.Buffer
	if err := plugin.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return b.Bytes(), nil
}
