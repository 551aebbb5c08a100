// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package deviceplugin only names the commands that build.sh builds, so that go.mod keeps them.
package deviceplugin

import (
	_ "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin"
)
