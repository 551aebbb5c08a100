// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"
)

// TestCPUTimeIsFinerThanATick: what is less than a tick is not 0.
func TestCPUTimeIsFinerThanATick(t *testing.T) {
	before, err := readCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(tick / 10); time.Now().Before(end); {
		continue
	}
	after, err := readCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if user, kernel := after.since(before, time.Second); user+kernel <= 0 || user < 0 || kernel < 0 {
		t.Errorf("a millisecond of work is %v of a core in user mode, %v in the kernel", user, kernel)
	}
}

func TestSharesOfCPUTime(t *testing.T) {
	before := cpuTime{all: 103 * time.Millisecond, user: 70 * time.Millisecond, kernel: 30 * time.Millisecond}
	for _, c := range []struct {
		after        cpuTime
		user, kernel float64
	}{
		{cpuTime{all: 143 * time.Millisecond, user: 100 * time.Millisecond, kernel: 40 * time.Millisecond}, 0.3, 0.1},
		{cpuTime{all: 107 * time.Millisecond, user: 70 * time.Millisecond, kernel: 30 * time.Millisecond}, 0.04, 0},
	} {
		user, kernel := c.after.since(before, 100*time.Millisecond)
		if abs(user-c.user) > 1e-9 || abs(kernel-c.kernel) > 1e-9 {
			t.Errorf("%v: %v and %v, want %v and %v", c.after, user, kernel, c.user, c.kernel)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
