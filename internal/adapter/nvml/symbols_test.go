// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

// minimal are the functions a driver cannot be without.
var minimal = []string{
	"nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetMemoryInfo",
}

func TestEverySymbolHasAName(t *testing.T) {
	for s := symNone + 1; s < numSymbols; s++ {
		if len(symbolNames[s]) == 0 {
			t.Errorf("symbol %d has no name", s)
		}
	}
}

// A library with none of the functions that can be done without. If one were
// called, the process would be gone.
func TestAncientDriver(t *testing.T) {
	if !inChild(t) {
		return
	}
	var missing []string
	for _, names := range symbolNames {
		for _, name := range names {
			if !slices.Contains(minimal, name) {
				missing = append(missing, name)
			}
		}
	}
	n := newNode(t)
	n.opts.LibraryPath = mocknvml.BuildWithout(t, missing...)
	g := n.state.GPU("h100", "accounting=1")
	n.state.Proc(g, 10, gib)
	m := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(m, "1g.5gb", 7, 0)
	n.open()
	n.good()
	d := n.good()[0]
	if d.Memory == nil || !d.Memory.ReserveUnknown || len(d.Processes) != 0 || d.Signals != (sample.Signals{}) || d.Power != (sample.Power{}) {
		t.Errorf("device %+v", d)
	}
	if driver := n.src.library.driver; driver != "" {
		t.Errorf("driver version %s", driver)
	}
}

// A driver of some years ago lacks only some of them, so that more is tried.
func TestOlderDriver(t *testing.T) {
	if !inChild(t) {
		return
	}
	n := newNode(t)
	n.opts.LibraryPath = mocknvml.BuildWithout(t,
		"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",
		"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2",
		"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses",
		"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes", "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
		"nvmlDeviceGetGpuInstanceProfileInfoV", "nvmlGpmSampleGet", "nvmlGpmQueryDeviceSupport", "nvmlEventSetWait_v2",
		"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetGpuInstances")
	g := n.state.GPU("h100")
	n.state.Proc(g, 10, gib)
	m := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(m, "1g.5gb", 7, 0)
	n.open()
	n.good()
	devices := n.good()
	equal(t, "processes", devices[0].Processes, []sample.Held{{PID: 10, Kind: sample.KindCompute, Bytes: new(1 * gib), SM: new(0.0)}})
	if i := devices[1].Instances; len(i) != 1 || i[0].Profile != "1g.5gb" || i[0].Placement.Size != 1 {
		t.Errorf("instances %+v", i)
	}
	if devices[1].PCIBusID == "" || devices[1].MemorySlices != 8 {
		t.Errorf("device %+v", devices[1])
	}
}

// The driver is upgraded on disk: this process cannot use the new file.
func TestLibraryReplacedOnDisk(t *testing.T) {
	if !inChild(t) {
		return
	}
	n := newNode(t)
	built := n.opts.LibraryPath
	n.opts.LibraryPath = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	install := func() {
		t.Helper()
		text, err := os.ReadFile(built)
		if err != nil {
			t.Fatal(err)
		}
		fresh := n.opts.LibraryPath + ".new"
		if err := os.WriteFile(fresh, text, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, n.opts.LibraryPath); err != nil {
			t.Fatal(err)
		}
	}
	install()
	n.state.Driver("570.1")
	n.state.GPU("t4")
	n.open()
	n.good()
	install()
	n.good() // nothing happens before the driver changes
	n.state.Driver("580.2")
	n.rewrite()
	n.sample()
	lib, devices := n.sample()
	if lib.OK || !strings.Contains(lib.Error, "restart the agent") || !n.src.RestartNeeded() {
		t.Errorf("library %+v, restart %v", lib, n.src.RestartNeeded())
	}
	equal(t, "states", states(devices), []gpu.State{gpu.StateUnreadable})
}
