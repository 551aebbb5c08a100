// SPDX-License-Identifier: Apache-2.0

// Package cluster owns the tests against a real Kubernetes node whose only fake part
// is the NVML library: its tests (build tag cluster) start the node, run pods on it and
// compare what gputally says with what was put there. It owns no product code.
package cluster
