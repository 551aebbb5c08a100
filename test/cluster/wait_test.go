// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"os"
	"testing"
	"time"
)

// patience bounds every wait. It is long because the machine may be busy or emulated;
// what is waited for usually takes a second.
var patience = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("GPUTALLY_CLUSTER_PATIENCE")); err == nil {
		return d
	}
	return 90 * time.Second
}()

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
		time.Sleep(patience / 500)
	}
}
