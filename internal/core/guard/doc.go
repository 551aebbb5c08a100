// SPDX-License-Identifier: Apache-2.0

// Package guard finds containers that could reach a GPU they did not ask for,
// from what their manifests say. It owns its own small model of a pod (only what
// the rules look at, each value with its field and line), what counts as asking
// for a GPU, the rules with their ids, severities and remedies, and exemptions.
//
// It does not read files or the cluster, does not know what an image has in its
// environment, and does not print: internal/adapter/manifest makes the model of
// YAML and JSON, cmd/gputally prints reports. Like all of the model it is pure:
// standard library only, no I/O, no clock.
//
// What it finds is a way to reach a GPU, not use of one: the agent's findings
// unallocated_gpu_use and exposure say what happens on a node.
package guard
