// SPDX-License-Identifier: Apache-2.0

package main

// The parts of docs/guardrails.md that are not made of the rules.

const guardIntro = `# Guardrails

[中文](zh/guardrails.md)

<!-- Made by "gputally docs guard" from the rules. Do not edit. -->

Kubernetes counts GPUs, and NVIDIA's container toolkit hands them out. The two can disagree: a container that asked for no GPU may get all of them, because its image says so, because it is
privileged, or because a device file is mounted. It then uses memory that others were given. ` + "`gputally guard scan`" + ` finds such containers: in a live cluster, or in manifests before they run.

` + "```sh" + `
gputally guard scan                                                    # the cluster of your kubeconfig
gputally guard scan --seen                                             # and what the agents see on its nodes
gputally guard scan -f deploy/                                         # files, directories
helm template ./chart | gputally guard scan -f - --fail-on medium      # what a chart comes to
gputally guard scan -f deploy/ -o sarif > guard.sarif                  # for code scanning
` + "```" + `

All flags: [cli.md](cli.md). Scans tell; [admission policies](guard-policies.md) prevent; the agent's [findings](findings.md) ` + "`exposure`" + ` and ` + "`unallocated_gpu_use`" + ` say what happens, and its
[Events](findings.md#as-kubernetes-events) say it to the pod's owner.

## What is looked at

- Pod, Deployment, StatefulSet, DaemonSet, ReplicaSet, ReplicationController, Job, CronJob, PodTemplate, and Lists of them. Other kinds that hold a pod template are named as not looked at.
- Every container: init containers, sidecars, containers, ephemeral containers. Each by itself: a sidecar beside a container with a GPU has asked for none.
- ConfigMaps and RuntimeClasses of the same input: what a variable takes from them is looked up. Secrets are never read.
- What sets up GPU nodes: ` + "`config.toml`" + ` of the NVIDIA container toolkit, of containerd and CRI-O, configurations of NVIDIA's device plugin (a file, or in a ConfigMap), the GPU operator's ClusterPolicy, the environment of NVIDIA's DaemonSets.
- The environment that images bring, where their archives are given (` + "`--image-archive`" + `).

A container **asks for a GPU** by a resource of more than 0 (` + "`nvidia.com/…`" + `, the resources of HAMi, Volcano, Koordinator, Aliyun and Tencent, those named by ` + "`--resource`" + `), by a ResourceClaim, or
through the KAI scheduler's annotations where the pod names a scheduler of its own. ` + "`nvidia.com/gpu: 0`" + ` asks for none.

## A live cluster

Without ` + "`-f`" + ` the cluster of your kubeconfig is read (` + "`--kubeconfig`" + `, ` + "`--context`" + `, ` + "`-n`" + ` for one namespace): every workload, and every pod that has not ended, as admission made it. Lists come page by page. What is found in the pods
of a workload is told once, at the workload; where its template says the same, there. What is in the pods alone came in on the way: a webhook, a policy, a person. A ReplicaSet of a Deployment and a Job of a CronJob are told by what made them, also one of another kind, such as a RayCluster.

It reads with these rights, and never writes:

` + "```yaml" + `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gputally-guard}
rules:
- {apiGroups: [""], resources: [pods, replicationcontrollers], verbs: [list]}
- {apiGroups: [apps], resources: [deployments, statefulsets, daemonsets, replicasets], verbs: [list]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [list]}
- {apiGroups: [""], resources: [namespaces], verbs: [list]}                  # where not all namespaces may be read
- {apiGroups: [""], resources: [configmaps], verbs: [get]}                   # optional: variables that come from them, the device plugin's configuration
- {apiGroups: [node.k8s.io], resources: [runtimeclasses], verbs: [list]}     # optional: NVIDIA's runtime under another name
- {apiGroups: [nvidia.com], resources: [clusterpolicies], verbs: [list]}     # optional: the settings of nodes
` + "```" + `

Where a list of the whole cluster is refused, its namespaces are read one by one. What may not be read is said (` + "`pods: namespaces not readable: a, b`" + `) and ends the scan with 2; what is optional stands among what was not looked at.

With ` + "`--seen`" + ` the agents are asked as well, through the API server ([the rights](kubectl.md)); ` + "`--agent HOST:PORT`" + ` asks single ones, also with ` + "`-f`" + `. An agent reads the devices cgroup and the device files of each container on its node, so that it knows
what a container can open by whatever way, image and node settings included (GT-G023, GT-G024). Agents are asked rather than the server, since this is about now: the server keeps hours.

## Images

Most CUDA, PyTorch and Ollama images say ` + "`NVIDIA_VISIBLE_DEVICES=all`" + `, and no manifest shows it. Give their archives, and their environment counts for every container of that image:

` + "```sh" + `
docker save ollama/ollama:0.5 -o ollama.tar                    # or ctr images export, skopeo copy … oci-archive:FILE, an OCI layout in a directory
gputally guard scan -f deploy/ --image-archive ollama.tar
gputally guard scan -f deploy/ --image-archive registry.example/llm:3=layout/    # an archive without a name, or a mirror of it
` + "```" + `

Containers are matched by name and tag, by the digest where they name one. Layers are not read, and no registry is asked. Of a live cluster's images nothing is read that is not given so; what they come to on the nodes is what ` + "`--seen`" + ` tells.

## In CI

GitHub, with the findings among the code scanning alerts:

` + "```yaml" + `
jobs:
  gpu-guardrails:
    runs-on: ubuntu-latest
    permissions: {contents: read, security-events: write}
    steps:
      - uses: actions/checkout@v4
      - run: helm template ./chart > rendered.yaml
      - run: gputally guard scan -f rendered.yaml -f manifests/ -o sarif --fail-on high > guard.sarif
      - uses: github/codeql-action/upload-sarif@v3
        if: always()
        with: {sarif_file: guard.sarif}
` + "```" + `

GitLab:

` + "```yaml" + `
gpu-guardrails:
  script:
    - kustomize build overlays/prod | gputally guard scan -f - --fail-on high
  rules:
    - changes: [overlays/**/*]
` + "```" + `

` + "`gputally`" + ` is one program without further files; copy it from the [image](images.md). For a nightly look at what runs: ` + "`gputally guard scan -A --fail-on critical -o json`" + `.

## What a clean scan does not say

A scan of manifests alone does not know the image's variables, the node's settings and what admission changes: give it those, or scan the cluster with ` + "`--seen`" + `. A pod that can reach the
container runtime, the kubelet's device plugin sockets or another pod's files on its node can get around every rule; that is not about GPUs alone and not looked for. Of the device plugin's settings ` + "`passDeviceSpecs`" + ` is no finding: it adds the
device files of what was granted, and no others. Settings that are flags of a program's command line are not read.

## On the bill

Who takes GPU memory without having been given it pays for it, and those whose GPU it is do not: it is charged to the pod that holds it as ` + "`leak`" + `, before anything is divided ([ledger](ledger.md)).

` + "```sh" + `
gputally report --month 2026-11 --where entry_kind=leak --by namespace,workload    # who took, and what it cost
gputally report --month 2026-11 --by entry_kind
` + "```" + `

`

const guardOutro = `
## Exemptions

Some components must reach every GPU: exporters of GPU metrics, device plugins, validators. They are exempted one by one, by who runs the scan or by who owns the workload:

` + "```sh" + `
gputally guard scan -f deploy/ --exempt "gpu-operator/DaemonSet/dcgm-exporter=platform: reads the metrics of every GPU"
gputally guard scan --exempt "ClusterPolicy/cluster-policy=platform: CDI comes in March"                                # an object in no namespace
` + "```" + `

` + "```yaml" + `
metadata:
  annotations:
    gputally.io/guard-exempt: "platform: reads the metrics of every GPU"   # owner: reason
` + "```" + `

Exempted findings are listed apart, with the reason; in SARIF they are suppressed results. They do not count for the exit code. A workload's exemption is that of its pods. Patterns are not taken, an annotation without an owner or a reason exempts nothing
(GT-G015), and a ` + "`--exempt`" + ` that fits no object is told. Who may write an annotation may exempt a workload: review the list of what is exempted as you review the manifests. A configuration file is exempted by leaving it out.

## Exit codes

| code | when |
|---|---|
| 0 | no finding as severe as ` + "`--fail-on`" + ` (default: high) |
| 1 | there is one |
| 2 | a part of the input could not be read, or the command line is wrong. What could be read is scanned and reported; an input that holds nothing is a mistake, too, and so are a namespace that you may not read and an agent that does not answer |
`
