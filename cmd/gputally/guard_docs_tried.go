// SPDX-License-Identifier: Apache-2.0

package main

// guardTried is what test/cluster saw of each way to a GPU: its scenario guard-bypasses.
const guardTried = `
## Tried with NVIDIA's runtime

On the node of [test/cluster](../test/cluster/README.md) NVIDIA's container runtime is the default one, as on many GPU nodes (toolkit 1.18, mode ` + "`" + `cdi` + "`" + `; only driver and device files are faked). The scenario ` + "`" + `guard-bypasses` + "`" + ` starts a container for each way below,
and asks the kernel what it can open: by its device files, and by its device cgroup. Each container that came to a GPU which it was not given is found by ` + "`" + `guard scan` + "`" + `, at medium severity or above. What [admission policies](guard-policies.md) do about it is told there. On Kubernetes 1.30.14 every row is the same.

| tried, without a request unless it says so | can open | rule |
|---|---|---|
| the image says ` + "`" + `all` + "`" + ` | every GPU | GT-G016, with ` + "`" + `--image-archive` + "`" + ` |
| ` + "`" + `NVIDIA_VISIBLE_DEVICES` + "`" + ` in ` + "`" + `env` + "`" + `: ` + "`" + `all` + "`" + `, or an index | every GPU; that one | GT-G001 |
| the variable from a ConfigMap, by ` + "`" + `env` + "`" + ` or ` + "`" + `envFrom` + "`" + ` | every GPU | GT-G001 |
| an image that says ` + "`" + `all` + "`" + `, and in ` + "`" + `env` + "`" + ` ` + "`" + `void` + "`" + `, nothing, or a list with ` + "`" + `void` + "`" + ` in it | none | |
| the same with ` + "`" + `none` + "`" + ` | the container does not start: "unresolvable CDI devices" | |
| ` + "`" + `CUDA_VERSION` + "`" + ` without ` + "`" + `NVIDIA_REQUIRE_CUDA` + "`" + ` | every GPU | GT-G013 |
| ` + "`" + `runtimeClassName: nvidia` + "`" + `, and an image that says ` + "`" + `all` + "`" + ` | every GPU | GT-G004 |
| ` + "`" + `runtimeClassName: runc` + "`" + `, and such an image | none | |
| privileged; also with the variable ` + "`" + `void` + "`" + ` | every GPU | GT-G005 |
| a GPU's device file by hostPath, or all of ` + "`" + `/dev` + "`" + `, not privileged | none: the files are there, the device cgroup refuses | GT-G006 |
| ` + "`" + `/dev/null` + "`" + ` mounted at ` + "`" + `/var/run/nvidia-container-devices/all` + "`" + ` | none; every GPU where the node has ` + "`" + `accept-nvidia-visible-devices-as-volume-mounts = true` + "`" + ` | GT-G011 |
| the annotation ` + "`" + `cdi.k8s.io/…` + "`" + ` on the pod | none: containerd does not hand it on | GT-G009 |
| a container beside one that has a GPU, its image says ` + "`" + `all` + "`" + ` | every GPU | GT-G016 |
| a request for one GPU, and an image that says ` + "`" + `all` + "`" + ` | the one that was given | |
| a request for one GPU, and ` + "`" + `NVIDIA_VISIBLE_DEVICES=all` + "`" + ` in ` + "`" + `env` + "`" + ` | every GPU: the manifest counts before the device plugin | GT-G002 |

With ` + "`" + `accept-nvidia-visible-devices-envvar-when-unprivileged = false` + "`" + ` on the node, image, variable and runtime class give nothing, and the variable beside a request no more than was given. Privileged containers still have every GPU. The one with a request kept its GPU because
the device plugin also hands out device files here (` + "`" + `PASS_DEVICE_SPECS` + "`" + `): for other nodes read GT-G018 first.

Not tried: MIG configuration, IMEX channels and MPS daemons of others (GT-G008, GT-G010, GT-G012), which need the hardware; CRI-O; the GPU operator; older modes of the toolkit. The toolkit's setting ` + "`" + `swarm-resource` + "`" + `, which names further variables for it to obey, is not looked at.
`
