// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/sample"
)

// processesOf are the processes of a device's or instance's lists, once each.
// Where the most telling list gives no size, another list's is the process's.
func processesOf(lists []sample.Held) []sample.Held {
	out := onePerProcess(lists)
	if len(out) == len(lists) {
		return out
	}
	for i := range out {
		if out[i].Bytes == nil {
			out[i].Bytes = sizeOf(out[i], lists)
		}
	}
	return out
}

// sizeOf is the largest size that any list gives of a process, nil if none does.
func sizeOf(p sample.Held, lists []sample.Held) *uint64 {
	var size *uint64
	for _, h := range lists {
		if sameProcess(h, p) == 0 && h.Bytes != nil && (size == nil || *h.Bytes > *size) {
			size = h.Bytes
		}
	}
	return size
}

// outsideOf are the processes that NVML lists on a device in MIG mode and on
// none of its instances. A driver that does not tell the instance of a process
// lists those of all instances on the device again: they are where they are.
func outsideOf(d *sample.Device) []sample.Held {
	if len(d.Processes) == 0 {
		return nil
	}
	inside := map[int]bool{}
	for i := range d.Instances {
		for _, h := range d.Instances[i].Processes {
			inside[h.PID] = true
		}
	}
	return slices.DeleteFunc(processesOf(d.Processes), func(h sample.Held) bool { return inside[h.PID] })
}
