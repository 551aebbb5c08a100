// SPDX-License-Identifier: Apache-2.0

// Package livecluster reads from an API server what the guardrails look at: the
// workloads of a cluster or a namespace, their pods that run, RuntimeClasses, the
// settings of NVIDIA's components, and the ConfigMaps that are asked for. It owns
// finding the cluster (a kubeconfig), reading long lists page by page, which
// workload a pod belongs to, and saying what may not be read.
//
// Objects are handed on as the API server writes them; what they mean is not its
// business (internal/adapter/manifest reads them, internal/core/guard judges).
// It reads once and watches nothing: kubeapi is the agent's cache of its node. It
// never reads a Secret, and writes nothing.
package livecluster
