// SPDX-License-Identifier: Apache-2.0

// Package kubeobj owns the way from the Kubernetes API's shapes (core/v1 Pod
// and Node, resource.k8s.io ResourceClaim and ResourceSlice in v1, v1beta2 and
// v1beta1) to the few fields of them that package workload keeps.
//
// It fetches nothing (package kubeapi does) and resolves nothing: which GPU a
// claim's device is, or which pod an annotation names, is package workload's
// and attribution's answer.
package kubeobj
