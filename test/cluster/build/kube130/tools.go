// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kube130 names the programs of the oldest Kubernetes that gputally runs on.
// build.sh builds them where GPUTALLY_CLUSTER_KUBE asks for them; they take the
// place of those of kube.
package kube130

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
