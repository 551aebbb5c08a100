// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine describes the machine that figures are of, with what it makes of the
// two things that the agent's CPU time is mostly made of.
func machine() string {
	call, wake := callCost(), wakeCost()
	return fmt.Sprintf("%d cores of %s, Linux %s, %s; a system call takes %.1f µs there, going to sleep and waking up %.0f µs",
		runtime.NumCPU(), model(), kernel(), runtime.Version(),
		float64(call)/float64(time.Microsecond), float64(wake)/float64(time.Microsecond))
}

// callCost is the CPU time of a system call that does nothing.
func callCost() time.Duration {
	return cpuOf(100_000, func() { unix.Getppid() })
}

// wakeCost is the CPU time of a sleep of 20 µs, in which another may run.
func wakeCost() time.Duration {
	pause := unix.Timespec{Nsec: 20_000}
	return cpuOf(2000, func() { _ = unix.Nanosleep(&pause, nil) }) // cut short by a signal: one of many
}

// cpuOf is the CPU time of one of n calls, of this thread.
func cpuOf(n int, call func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &before) != nil {
		return 0
	}
	for range n {
		call()
	}
	if unix.Getrusage(unix.RUSAGE_THREAD, &after) != nil {
		return 0
	}
	return time.Duration(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()) / time.Duration(n)
}

// load is how many threads ran or waited for a CPU in the last minute.
func load() (l float64) {
	text, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, _ = fmt.Sscan(string(text), &l) // 0 where the kernel does not tell
	}
	return l
}

func model() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown version"
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(text)), "-")
	return version
}
