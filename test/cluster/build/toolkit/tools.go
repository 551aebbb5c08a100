// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package toolkit only names the commands that build.sh builds, so that go.mod keeps them.
package toolkit

import (
	_ "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook"
	_ "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-container-runtime"
	_ "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk"
)
