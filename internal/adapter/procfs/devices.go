// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"strconv"
)

// defaultMajor is the character device number that NVIDIA's driver has by
// registration; /proc/devices says which it has on this host.
const defaultMajor = 195

// majorOf finds the major number of /dev/nvidia* in /proc/devices. The driver
// registers as nvidia, older ones as nvidia-frontend.
func majorOf(procDevices []byte) int {
	for line := range bytes.Lines(procDevices) {
		if bytes.HasPrefix(line, []byte("Block")) {
			break
		}
		fields := bytes.Fields(line)
		if len(fields) != 2 || string(fields[1]) != "nvidia" && string(fields[1]) != "nvidia-frontend" {
			continue
		}
		if n, err := strconv.Atoi(string(fields[0])); err == nil {
			return n
		}
	}
	return defaultMajor
}

// allowed is what a container's v1 devices cgroup lets it open.
type allowed struct {
	all    bool
	minors map[int]bool
}

func (a allowed) open(minor int) bool { return a.all || a.minors[minor] }

// parseDevicesList reads devices.list: lines "TYPE MAJOR:MINOR ACCESS", where
// a number may be "*". An entry that only lets nodes be made (access m) opens
// nothing.
func parseDevicesList(text []byte, major int) allowed {
	a := allowed{minors: map[int]bool{}}
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) != 3 || !bytes.ContainsAny(fields[2], "rw") || string(fields[0]) == "b" {
			continue
		}
		maj, min, ok := bytes.Cut(fields[1], []byte{':'})
		if !ok || string(maj) != "*" && string(maj) != strconv.Itoa(major) {
			continue
		}
		if string(min) == "*" {
			a.all = true
		} else if n, err := strconv.Atoi(string(min)); err == nil {
			a.minors[n] = true
		}
	}
	return a
}

// privilegedCaps are capabilities that a container has together only when it
// is privileged: SYS_MODULE, SYS_RAWIO, SYS_ADMIN and SYS_BOOT.
const privilegedCaps = 1<<16 | 1<<17 | 1<<21 | 1<<22

// privileged reads /proc/PID/status. The bounding set tells, whoever the
// process runs as.
func privileged(status []byte) bool {
	for line := range bytes.Lines(status) {
		value, ok := bytes.CutPrefix(line, []byte("CapBnd:"))
		if !ok {
			continue
		}
		caps, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 16, 64)
		return err == nil && caps&privilegedCaps == privilegedCaps
	}
	return false
}
