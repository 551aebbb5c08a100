// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kube only names the commands that build.sh builds, so that go.mod keeps them.
// They are one module because they are made of the same packages, which so are compiled once.
package kube

import (
	_ "github.com/gputally/gputally/test/cluster/build/kube/coredns"
	_ "helm.sh/helm/v3/cmd/helm"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
