// SPDX-License-Identifier: Apache-2.0

// Package workload owns whose a process or a device is, as far as texts can
// tell: cgroup lines to pod and container, device ids to partitions, scheduler
// annotations and resource claims to shares, Kubernetes objects reduced to the
// fields that matter.
//
// It reads nothing itself (adapters do), and it does not decide who held what
// memory: that is package attribution.
package workload
