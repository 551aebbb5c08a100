// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/core/guard"
)

func newGuardDocs() *cobra.Command {
	return &cobra.Command{Use: "guard", Short: "Print docs/guardrails.md", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return writeGuardDocs(c.OutOrStdout()) }}
}

const guardIntro = `# Guardrails

<!-- Made by "gputally docs guard" from the rules. Do not edit. -->

Kubernetes counts GPUs, and NVIDIA's container toolkit hands them out. The two can disagree: a container that asked for no GPU may get all of them, because its image says so, because it is
privileged, or because a device file is mounted. It then uses memory that others were given. ` + "`gputally guard scan`" + ` finds such containers in manifests, before they run.

` + "```sh" + `
gputally guard scan -f deploy/                                         # files, directories
helm template ./chart | gputally guard scan -f - --fail-on medium      # what a chart comes to
gputally guard scan -f deploy/ -o sarif > guard.sarif                  # for code scanning
` + "```" + `

All flags: [cli.md](cli.md). What pods do on a running node is told by the agent's [findings](findings.md) ` + "`exposure` and `unallocated_gpu_use`" + `.

## What is looked at

- Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob, PodTemplate, and Lists of them. Other kinds that hold a pod template are named as not looked at.
- Every container: init containers, sidecars, containers, ephemeral containers. Each by itself: a sidecar beside a container with a GPU has asked for none.
- ConfigMaps and RuntimeClasses of the same input: what a variable takes from them is looked up. Secrets are never read.

A container **asks for a GPU** by a resource of more than 0 (` + "`nvidia.com/…`" + `, the resources of HAMi, Volcano, Koordinator, Aliyun and Tencent, those named by ` + "`--resource`" + `), by a ResourceClaim, or
through the KAI scheduler's annotations where the pod names a scheduler of its own. ` + "`nvidia.com/gpu: 0`" + ` asks for none.

## What is not in a manifest

Three things decide as well, and are not looked at here: the variables of the image (most CUDA images say ` + "`NVIDIA_VISIBLE_DEVICES=all`" + `), the settings of the node (whether NVIDIA's runtime is the default one, whether
the toolkit obeys the variable in containers that are not privileged), and what admission changes. A clean scan therefore says that the manifests do not open a GPU by themselves. A pod that can reach the
container runtime, the kubelet's device plugin sockets or another pod's files on its node can get around every rule; that is not about GPUs alone and not looked for.

`

// writeGuardDocs prints docs/guardrails.md.
func writeGuardDocs(w io.Writer) error {
	var b strings.Builder
	b.WriteString(guardIntro)
	b.WriteString("## Severities\n\n| severity | when |\n|---|---|\n")
	for _, s := range guard.Severities() {
		fmt.Fprintf(&b, "| **%s** | %s |\n", s, s.Means())
	}
	b.WriteString("\n## Rules\n\nIds are stable.\n")
	for _, r := range guard.Rules() {
		var words []string
		for _, s := range r.Severities {
			words = append(words, s.String())
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n- **Severity:** %s. %s.\n- **Why it matters:** %s\n- **Fix:** %s.\n",
			r.ID, r.Name, r.Title, strings.Join(words, ", "), sentence(r.When), r.Why, sentence(r.Fix))
	}
	b.WriteString(guardOutro)
	_, err := io.WriteString(w, b.String())
	return err
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

const guardOutro = `
## Exemptions

Some components must reach every GPU: exporters of GPU metrics, device plugins, validators. They are exempted one by one, by who runs the scan or by who owns the workload:

` + "```sh" + `
gputally guard scan -f deploy/ --exempt "gpu-operator/DaemonSet/dcgm-exporter=platform: reads the metrics of every GPU"
` + "```" + `

` + "```yaml" + `
metadata:
  annotations:
    gputally.io/guard-exempt: "platform: reads the metrics of every GPU"   # owner: reason
` + "```" + `

Exempted findings are listed apart, with the reason; in SARIF they are suppressed results. They do not count for the exit code. Patterns are not taken, an annotation without an owner or a reason exempts nothing
(GT-G015), and a ` + "`--exempt`" + ` that fits no object is told. Who may write an annotation may exempt a workload: review the list of what is exempted as you review the manifests.

## Exit codes

| code | when |
|---|---|
| 0 | no finding as severe as ` + "`--fail-on`" + ` (default: high) |
| 1 | there is one |
| 2 | a part of the input could not be read, or the command line is wrong. What could be read is scanned and reported; an input that holds nothing is a mistake, too |
`
