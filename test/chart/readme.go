// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
)

// readmeHead is what the chart's README begins with.
const readmeHead = `# The chart gputally

[中文](README.zh-CN.md)

<!-- Made by "make manifests" from values.yaml. Do not edit. -->

Installs the agent on each GPU node and the server that keeps the ledger: Kubernetes 1.30 or newer, Helm 3 or 4.

` + "```sh" + `
kubectl create namespace gputally
kubectl label namespace gputally pod-security.kubernetes.io/enforce=privileged
helm install gputally deploy/chart --namespace gputally
` + "```" + `

What to choose, what each right is for, upgrades, and installing without Helm: [docs/install.md](../../docs/install.md).
A value that the chart does not know is an error.

| value | default | what |
|---|---|---|
`

// Readme is the chart's README, from the text of values.yaml.
func Readme(values []byte) (string, error) {
	rows, err := Table(values)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(readmeHead)
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Key, shown(r), cell(r.About))
	}
	return b.String(), nil
}

// longest is how long a default may be that is shown in the table.
const longest = 120

func shown(r Row) string {
	if len(r.Default) > longest {
		return "see [values.yaml](values.yaml)"
	}
	return "`" + cell(r.Default) + "`"
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
