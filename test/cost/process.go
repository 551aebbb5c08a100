// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gputally/gputally/test/stage"
)

// tick is the unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// cpuTime is what a process has used, threads that have ended included: exactly in
// all, and in ticks in user mode and in the kernel. A calm agent uses less than a
// tick in some seconds.
type cpuTime struct{ all, user, kernel time.Duration }

func readCPU(pid int) (cpuTime, error) {
	var all unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &all); err != nil {
		return cpuTime{}, fmt.Errorf("read CPU time of process %d: %w", pid, err)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return cpuTime{}, fmt.Errorf("read CPU time: %w", err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return cpuTime{}, fmt.Errorf("read CPU time: /proc/%d/stat has too few fields: %q", pid, text)
	}
	user, err := strconv.ParseInt(string(fields[11]), 10, 64) // fields 14 and 15
	kernel, also := strconv.ParseInt(string(fields[12]), 10, 64)
	if err = errors.Join(err, also); err != nil {
		return cpuTime{}, fmt.Errorf("read CPU time: %w", err)
	}
	return cpuTime{time.Duration(all.Nano()), time.Duration(user) * tick, time.Duration(kernel) * tick}, nil
}

// cpuClock is the clock that counts a process's CPU time, as clock_getcpuclockid(3)
// makes its id: the process turned over, and CPUCLOCK_SCHED.
func cpuClock(pid int) int32 { return int32(^pid<<3 | 2) }

// since is what was used between two readings, by time: 1 is one core. What is in
// user mode and in the kernel are shares of all, as the ticks have them; with no tick
// at all, all is the user's.
func (t cpuTime) since(before cpuTime, took time.Duration) (user, kernel float64) {
	all := float64(t.all-before.all) / float64(took)
	if ticks := t.user + t.kernel - before.user - before.kernel; ticks > 0 {
		kernel = all * float64(t.kernel-before.kernel) / float64(ticks)
	}
	return all - kernel, kernel
}

// memory is what a process has of the machine's memory, bytes: all of it, the
// part that is its own, the part that is pages of files, and the most of all
// that it ever had.
type memory struct {
	rss, anon, file, peak uint64
}

func readMemory(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("read memory: %w", err)
	}
	var m memory
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		to := map[string]*uint64{"VmRSS": &m.rss, "RssAnon": &m.anon, "RssFile": &m.file, "VmHWM": &m.peak}[key]
		if to == nil {
			continue
		}
		if *to, err = kibibytes(value); err != nil {
			return memory{}, fmt.Errorf("read memory: %s: %w", key, err)
		}
	}
	return m, nil
}

// kibibytes reads a number of kB, as the kernel writes it, in bytes.
func kibibytes(value string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return n << 10, err
}

// look adds what the agent says of itself.
func (r *row) look(a *stage.Agent) error {
	text, err := scrape(a)
	if err != nil {
		return err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		r.series++
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && (strings.HasPrefix(name, "gputally_agent_") || name == processFailures) {
			sums[name], _ = strconv.ParseFloat(value, 64) // 0 where it is no number: caught below
		}
	}
	samples := sums["gputally_agent_samples_total"]
	if samples == 0 {
		return fmt.Errorf("the agent counts no samples")
	}
	r.taken = time.Duration(sums["gputally_agent_sampling_seconds_total"] / samples * float64(time.Second))
	r.missed = int(sums["gputally_agent_missed_ticks_total"])
	r.failed = int(sums[processFailures])
	return nil
}

// processFailures counts the samples that had to do without /proc.
const processFailures = `gputally_source_failures_total{source="processes"}`
