// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"testing"
	"time"
)

// patience bounds every wait. It is long because the machine is shared; what is waited
// for usually takes a second.
const patience = 90 * time.Second

// eventually tries until try succeeds, and fails the test with its last error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
