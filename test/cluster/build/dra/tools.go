// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package dra only names the commands that build.sh builds, so that go.mod keeps them.
package dra

import (
	_ "sigs.k8s.io/dra-driver-nvidia-gpu/cmd/gpu-kubelet-plugin"
)
