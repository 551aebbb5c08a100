// SPDX-License-Identifier: Apache-2.0

// Command scale measures what gputally asks of a large cluster: a real etcd, API
// server, controller manager and scheduler, with kwok in place of the kubelets of
// many GPU nodes. It needs root and runs in namespaces of its own (test/cluster/node).
//
// It owns the fleet of fake nodes and pods, the breaks of its API server, and
// docs/scale.md between the markers. Three things are real and under test: the
// agents' caches of package kubeapi, one for each node, all in this one process;
// the agents' shipping loops and HTTP client, over spools in memory; and the
// program gputally as the server. There are no GPUs and no processes in the pods:
// what an agent reads of those, and what it costs a node, is measured elsewhere
// (docs/cost.md, test/cluster).
//
// What agents ask is counted where it arrives: the API server writes each request
// of theirs into its audit log.
package main
