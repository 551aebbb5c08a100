// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package kwok only names the command that build.sh builds, so that go.mod keeps it.
package kwok

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
