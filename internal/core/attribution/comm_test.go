// SPDX-License-Identifier: Apache-2.0

package attribution

import "testing"

// TestIsCalled: the kernel cuts names at 15 bytes, so /proc never has the
// whole name of the MPS server.
func TestIsCalled(t *testing.T) {
	for comm, want := range map[string]bool{
		"nvidia-cuda-mps": true, mpsServer: true,
		"nvidia-cuda-mp": false, "nvidia-cuda-mpx": false, "nvidia-cuda-mps-": false, "": false,
	} {
		if got := isCalled(comm, mpsServer); got != want {
			t.Errorf("isCalled(%q) is %v, want %v", comm, got, want)
		}
	}
}
