// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

func TestBalance(t *testing.T) {
	tests := []struct {
		name string
		in   binding.Memory_v2
		want sample.Memory
	}{
		{"the parts sum to the whole",
			binding.Memory_v2{Total: 100 * gib, Reserved: gib, Used: 60 * gib, Free: 39 * gib},
			sample.Memory{Total: 100 * gib, Reserved: gib, Used: 60 * gib, Free: 39 * gib}},
		{"within rounding the driver's word stands",
			binding.Memory_v2{Total: 100 * gib, Reserved: gib, Used: 60*gib + 4096, Free: 39 * gib},
			sample.Memory{Total: 100 * gib, Reserved: gib, Used: 60*gib + 4096, Free: 39 * gib}},
		{"used includes the reserve",
			binding.Memory_v2{Total: 100 * gib, Reserved: gib, Used: 61 * gib, Free: 39 * gib},
			sample.Memory{Total: 100 * gib, Reserved: gib, Used: 60 * gib, Free: 39 * gib}},
		{"some of it is nowhere",
			binding.Memory_v2{Total: 100 * gib, Reserved: gib, Used: 50 * gib, Free: 39 * gib},
			sample.Memory{Total: 100 * gib, Reserved: gib, Used: 60 * gib, Free: 39 * gib}},
		{"free is all and more",
			binding.Memory_v2{Total: 100 * gib, Reserved: gib, Used: 5 * gib, Free: 101 * gib},
			sample.Memory{Total: 100 * gib, Reserved: gib, Free: 101 * gib}},
		{"reserve above the whole",
			binding.Memory_v2{Total: gib, Reserved: 2 * gib, Used: gib},
			sample.Memory{Total: gib, Reserved: gib}},
	}
	for _, test := range tests {
		equal(t, test.name, *balance(test.in), test.want)
	}
}

// A driver without memory info v2 does not tell the reserve: it is inside Used.
func TestMemoryV1(t *testing.T) {
	for _, kind := range []string{"missing", "not_supported", "version_mismatch", "unknown"} {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t)
			g := n.state.GPU("a100-40gb", "extra=0")
			n.state.Proc(g, 10, 5*gib)
			n.open()
			v2 := n.one().Memory
			n.state.Fault(g, kind, "nvmlDeviceGetMemoryInfo_v2")
			n.rewrite()
			equal(t, "memory", n.one().Memory, &sample.Memory{
				Total: v2.Total, Used: v2.Reserved + 5*gib, Free: v2.Free, ReserveUnknown: true,
			})
		})
	}
}

func TestUnifiedMemory(t *testing.T) {
	n := newNode(t)
	n.opts.MeminfoPath = filepath.Join(t.TempDir(), "meminfo")
	if err := os.WriteFile(n.opts.MeminfoPath, []byte("MemTotal:       125456388 kB\nMemFree:        1 kB\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := n.state.GPU("gb10")
	n.state.Proc(g, 10, 5*gib)
	n.open()
	d := n.one()
	if d.Memory != nil || !d.UnifiedMemory || d.HostMemory == nil || *d.HostMemory != 125456388<<10 {
		t.Errorf("memory %v, unified %v, host %v", d.Memory, d.UnifiedMemory, d.HostMemory)
	}
	equal(t, "processes", d.Processes, []sample.Held{{PID: 10, Kind: sample.KindCompute, Bytes: new(5 * gib)}})
}

// Without memory there is nothing to bill by: that is no optional reading.
func TestMemoryForbidden(t *testing.T) {
	n := newNode(t)
	bad := n.state.GPU("t4")
	n.state.GPU("t4")
	n.state.Fault(bad, "no_permission", "nvmlDeviceGetMemoryInfo*")
	n.open()
	_, devices := n.sample()
	if d := devices[0]; d.State != gpu.StateUnreadable || d.Reason != "nvmlDeviceGetMemoryInfo: no permission" || d.Memory != nil {
		t.Errorf("device %+v", d)
	}
	if devices[1].State != gpu.StateOK {
		t.Errorf("the other device is %s", devices[1].State)
	}
}

func TestHostMemoryUnreadable(t *testing.T) {
	if got := hostMemory(filepath.Join(t.TempDir(), "none")); got != nil {
		t.Errorf("%d bytes from no file", *got)
	}
}

func FuzzMemTotal(f *testing.F) {
	for _, line := range []string{"MemTotal: 16384 kB", "MemTotal:", "MemTotal: -1 kB", "MemFree: 1 kB", "MemTotal: 99999999999999999999 kB"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		total, ok := memTotal(line)
		if ok && (total%1024 != 0 || !strings.HasPrefix(line, "MemTotal:")) {
			t.Errorf("%q gave %d", line, total)
		}
	})
}
