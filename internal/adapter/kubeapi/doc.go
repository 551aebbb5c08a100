// SPDX-License-Identifier: Apache-2.0

// Package kubeapi owns the agent's connection to the API server: a cache of
// the Kubernetes objects of one node, which goes on answering while the API
// server is away.
//
// It keeps the reduced objects of package workload, never the API's own: pods
// of the node, its Node, the ResourceSlices of the node, the ResourceClaims
// that its pods name, and the owners of its pods. A pod that was deleted is
// kept as Gone for a while, so that processes which outlive it keep its name.
// Which process belongs to which pod is not its business.
//
// Pods, the node and slices are watched, each limited to this node by a field
// selector. Claims are read one by one, when a pod names one and every minute
// after, also when no pod names it any more and it keeps its device: nothing but
// names limits a watch of claims, and a cluster has many more of them than a
// node.
//
// Events about pods (Recorder) are written by the same connection; what is said,
// and how often, its user decides.
//
// Slices that name their nodes by a selector, or all nodes (nodeSelector,
// allNodes, perDeviceNodeSelection), as drivers of network-attached devices
// publish them, are not read: no field selector finds those of one node, and
// every agent would watch the slices of the whole cluster. NVIDIA's driver
// publishes by nodeName. What such a pool hands out is a finding, and no card
// (attribution, inventory_conflict).
//
// # Permissions
//
// The service account needs, by ClusterRole:
//
//   - {apiGroups: [""], resources: [pods, nodes], verbs: [get, list, watch]}
//   - {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch]}
//   - {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
//   - {apiGroups: [apps], resources: [replicasets, statefulsets], verbs: [get]}
//   - {apiGroups: [batch], resources: [jobs], verbs: [get]}
//
// With events, also {apiGroups: [events.k8s.io], resources: [events], verbs: [create]}.
//
// The last two of the list are optional: without them the Deployment of a ReplicaSet and
// the CronJob of a Job are inferred from names, with no UID. So are get on
// rayclusters of ray.io and jobsets of jobset.x-k8s.io, without which those
// stand as the owners themselves. Only the metadata of owners is read.
package kubeapi
