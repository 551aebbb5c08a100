// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/test/stage"
)

// tick is the unit of CPU time in /proc/PID/stat: USER_HZ, 100 on every Linux.
const tick = 10 * time.Millisecond

// readCPU is the CPU time that a process has used, in user and kernel.
func readCPU(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: /proc/%d/stat has too few fields: %q", pid, text)
	}
	var sum time.Duration
	for _, f := range fields[11:13] { // utime and stime, fields 14 and 15
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read CPU time: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// memory is what a process has of the machine's memory, bytes: all of it, the
// part that is its own and not a page of a file, and the most it ever had.
type memory struct {
	rss, anon, peak uint64
}

func readMemory(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, fmt.Errorf("read memory: %w", err)
	}
	var m memory
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		to := map[string]*uint64{"VmRSS": &m.rss, "RssAnon": &m.anon, "VmHWM": &m.peak}[key]
		if to == nil {
			continue
		}
		kib, err := strconv.ParseUint(strings.Fields(value)[0], 10, 64)
		if err != nil {
			return memory{}, fmt.Errorf("read memory: %s: %w", key, err)
		}
		*to = kib << 10
	}
	return m, nil
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
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "gputally_agent_") {
			sums[name], _ = strconv.ParseFloat(value, 64) // 0 where it is no number: caught below
		}
	}
	samples := sums["gputally_agent_samples_total"]
	if samples == 0 {
		return fmt.Errorf("the agent counts no samples")
	}
	r.taken = time.Duration(sums["gputally_agent_sampling_seconds_total"] / samples * float64(time.Second))
	r.missed = int(sums["gputally_agent_missed_ticks_total"])
	return nil
}
