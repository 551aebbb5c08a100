// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kubectl only names the command that build.sh builds, so that go.mod keeps it.
// It is no part of package kube: what users have is not as old as their cluster, and it is
// small.
package kubectl

import (
	_ "k8s.io/kubernetes/cmd/kubectl"
)
