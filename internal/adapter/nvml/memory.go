// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// memoryRounding is how far the parts may be from the whole before used memory
// is taken from the difference instead of the driver's word.
const memoryRounding = gpu.MiB

// memoryInfo reads the memory of a device or MIG device. unified is true when
// the device says that it has none of its own to report (GB10, Jetson).
// A nil memory without an ended reading means "not available".
// lenient: an error is "not available" too.
func (r *reading) memoryInfo(h binding.Device, lenient bool) (m *sample.Memory, unified bool) {
	v2 := binding.ERROR_FUNCTION_NOT_FOUND
	if r.begin(symMemoryV2) {
		var info binding.Memory_v2
		if info, v2 = h.GetMemoryInfo_v2(); r.ok(v2) {
			return balance(info), false
		}
	}
	if !r.begin(symMemory) {
		if !absent(v2) && !lenient {
			r.must(v2)
		}
		return nil, false
	}
	info, v1 := h.GetMemoryInfo()
	switch {
	case r.ok(v1):
		return withoutReserve(info), false
	case absent(v1):
		return nil, absent(v2)
	}
	if !lenient {
		r.must(v1)
	}
	return nil, false
}

// balance takes memory info v2 as the driver gives it when the parts sum to
// the whole. Where they do not, some drivers count the reserve in "used" as
// well (the header says both); what is neither free nor reserved is allocated.
func balance(i binding.Memory_v2) *sample.Memory {
	m := &sample.Memory{Total: i.Total, Reserved: min(i.Reserved, i.Total), Used: i.Used, Free: i.Free}
	rest := i.Total - m.Reserved
	if sum := i.Reserved + i.Used + i.Free; sum > i.Total+memoryRounding || sum+memoryRounding < i.Total {
		m.Used = rest - min(i.Free, rest)
	}
	m.Used = min(m.Used, rest)
	return m
}

// withoutReserve is memory info v1, where "used" includes the driver's reserve
// and nothing says how large that is.
func withoutReserve(i binding.Memory) *sample.Memory {
	return &sample.Memory{Total: i.Total, Used: min(i.Used, i.Total), Free: i.Free, ReserveUnknown: true}
}

// hostMemory is MemTotal of a /proc/meminfo file in bytes, nil if unreadable.
func hostMemory(path string) *uint64 {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if total, ok := memTotal(lines.Text()); ok {
			return &total
		}
	}
	return nil
}

func memTotal(line string) (uint64, bool) {
	rest, ok := strings.CutPrefix(line, "MemTotal:")
	fields := strings.Fields(rest)
	if !ok || len(fields) != 2 || fields[1] != "kB" {
		return 0, false
	}
	kib, err := strconv.ParseUint(fields[0], 10, 53)
	return kib << 10, err == nil
}
