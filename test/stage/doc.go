// SPDX-License-Identifier: Apache-2.0

// Package stage puts on a GPU node where there is none: staging for the demo
// and for end-to-end tests, on any Linux machine, without root and without
// Kubernetes. The real node is in test/cluster, and what only a real node shows
// (a kubelet's quirks, a runtime's mounts, device nodes) is tested there.
//
// What is real: processes, their ids and start times; the kubelet's PodResources
// protocol on a unix socket; listing and watching over HTTP; the mock NVML
// library under the real binding. What is staged: the kubelet and the API
// server themselves answer from Go values, and a process's cgroup line is
// written by the stage, since moving a process to a cgroup needs root. For
// that, agents are pointed at a copy of /proc and of the cgroup tree.
//
// It owns no assertion: tests ask the programs.
package stage
