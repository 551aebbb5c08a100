// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kube only names the commands that build.sh builds, so that go.mod keeps them.
package kube

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
