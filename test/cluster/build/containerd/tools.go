// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package containerd only names the commands that build.sh builds, so that go.mod keeps them.
package containerd

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
)
