// SPDX-License-Identifier: Apache-2.0

// Package podresources owns the conversation with the kubelet's PodResources
// v1 service: a gRPC socket on the node which says which container was given
// which devices.
//
// It reports the kubelet's word as it stands. Pods that have ended but are
// still listed, and which GPU a device id means, are for package attribution.
package podresources
