// SPDX-License-Identifier: Apache-2.0

// Package chart owns how the chart in deploy/chart is rendered outside of a
// cluster, and how its README and the plain manifests in deploy/manifests are made
// from it. Its tests hold the chart to what Kubernetes, Prometheus and our own
// documents say.
//
// It does not install anything: that is the business of test/cluster. It is a module
// of its own, so that Helm's library stays out of the programs.
package chart
