// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

func TestDriverReload(t *testing.T) {
	n := newNode(t)
	n.state.Driver("570.1")
	g := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(g, "1g.5gb", 7, 0)
	n.state.GPU("t4")
	n.open()
	before := sinces(n.good()[0])
	n.state.Driver("580.2")
	n.rewrite()

	lib, devices := n.sample()
	if lib.OK || !strings.Contains(lib.Error, "driver reloaded") {
		t.Errorf("library %+v", lib)
	}
	for _, d := range devices {
		if d.State != gpu.StateUnreadable || !strings.Contains(d.Reason, "driver reloaded") || d.Name == "" {
			t.Errorf("device is %s: %s", d.State, d.Reason)
		}
	}
	devices = n.good()
	for _, d := range devices {
		equal(t, "events", d.Events, []sample.Event{{Kind: "driver_reload", Detail: "driver 570.1 was replaced by 580.2"}})
	}
	if since := sinces(devices[0]); since[7] <= before[7] {
		t.Error("MIG instances do not outlive the driver")
	}
	for _, d := range n.good() {
		equal(t, "events afterwards", d.Events, nil)
	}
	if n.src.RestartNeeded() {
		t.Error("a restart is asked for")
	}
}

func TestMismatchAtADevice(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("t4")
	n.state.GPU("t4")
	n.open()
	n.good()
	n.state.Fault(g, "lib_mismatch", "nvmlDeviceGetPowerUsage", "times=1")
	n.rewrite()
	lib, devices := n.sample()
	if lib.OK || devices[0].State != gpu.StateUnreadable || devices[1].State != gpu.StateUnreadable {
		t.Errorf("library %+v, devices %v", lib, states(devices))
	}
	if d := n.good(); len(d[1].Events) != 1 || d[1].Events[0].Kind != "driver_reload" {
		t.Errorf("events %+v", d[1].Events)
	}
}

func TestMismatchThatStays(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	n.open()
	n.good()
	n.state.Fault(nil, "lib_mismatch", "*")
	n.rewrite()
	for range 4 {
		n.sample()
	}
	if !n.src.RestartNeeded() {
		t.Error("no restart is asked for")
	}
}

// A library that says it is not initialized is started again. The driver was
// there all the time, and so were its MIG instances.
func TestUninitialized(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb", "mig=1")
	n.state.MIG(g, "1g.5gb", 7, 0)
	n.open()
	since := sinces(n.one())
	n.state.Fault(g, "error:1", "nvmlDeviceGetMemoryInfo_v2", "times=1")
	n.rewrite()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateUnreadable})
	d := n.one()
	equal(t, "events", events(d), nil)
	equal(t, "since", sinces(d), since)
}

func TestDriverUnloadedForAWhile(t *testing.T) {
	n := newNode(t)
	n.opts.RetryMin, n.opts.RetryMax = 8*time.Second, 20*time.Second
	n.state.GPU("t4")
	n.state.Driver("none")
	n.open()
	lib, devices := n.sample()
	if lib.OK || !strings.Contains(lib.Error, "the NVIDIA driver is not loaded") || len(devices) != 0 {
		t.Fatalf("library %+v, devices %+v", lib, devices)
	}
	n.state.Driver("570.1")
	n.rewrite()
	if lib, _ := n.sample(); lib.OK {
		t.Error("it was tried again without a pause")
	}
	if d := n.one(); len(d.Events) != 0 {
		t.Errorf("events %+v", d.Events)
	}
	n.state.Driver("none")
	n.rewrite()
	lib, devices = n.sample()
	if lib.OK || len(devices) != 1 || devices[0].State != gpu.StateUnreadable {
		t.Errorf("library %+v, devices %+v", lib, devices)
	}
	n.state.Driver("570.1")
	n.rewrite()
	n.at = n.at.Add(n.opts.RetryMax)
	equal(t, "the same driver, loaded again", n.one().Events, []sample.Event{{Kind: "driver_reload", Detail: "driver 570.1 was loaded again"}})
}

func TestNoLibrary(t *testing.T) {
	n := newNode(t)
	n.opts.LibraryPath = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	n.open()
	lib, devices := n.sample()
	if lib.OK || !strings.Contains(lib.Error, n.opts.LibraryPath) || len(devices) != 0 {
		t.Errorf("library %+v, devices %+v", lib, devices)
	}
}

func TestNoLibraryAnywhere(t *testing.T) {
	saved := DefaultLibraries
	defer func() { DefaultLibraries = saved }()
	DefaultLibraries = []string{"libgputally-none.so.1", "/nonexistent/libnvidia-ml.so.1"}
	n := newNode(t)
	n.opts.LibraryPath = ""
	n.open()
	lib, _ := n.sample()
	if lib.OK || !strings.Contains(lib.Error, "not found (looked for libgputally-none.so.1, /nonexistent/libnvidia-ml.so.1)") {
		t.Errorf("library %+v", lib)
	}
}

func TestNotALibrary(t *testing.T) {
	n := newNode(t)
	n.opts.LibraryPath = filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	if err := os.WriteFile(n.opts.LibraryPath, []byte("not an ELF file"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.open()
	if lib, _ := n.sample(); lib.OK || lib.Error == "" {
		t.Errorf("library %+v", lib)
	}
	n.src.Close()
	n.opts.LibraryPath = "libm.so.6"
	n.open()
	if lib, _ := n.sample(); lib.OK || !strings.Contains(lib.Error, "it has no function nvmlInit_v2") {
		t.Errorf("library %+v", lib)
	}
}

// While a call is stuck in the library it cannot be closed: only a new process
// can go on.
func TestReloadWithAStuckCall(t *testing.T) {
	n := newNode(t)
	n.opts.Deadline = short
	n.state.GPU("t4")
	n.state.GPU("t4")
	n.open()
	n.settled()
	hang := n.state.Add("fault", "gpu=0", "kind=hang", "call=nvmlDeviceGetPowerUsage")
	n.rewrite()
	n.until(gpu.StateHung, gpu.StateOK)
	mismatch := n.state.Fault(nil, "lib_mismatch", "nvmlDeviceGetCount_v2")
	n.rewrite()
	n.until(gpu.StateHung, gpu.StateUnreadable)
	lib, _ := n.sample()
	if lib.OK || !n.src.RestartNeeded() {
		t.Errorf("library %+v, restart %v", lib, n.src.RestartNeeded())
	}
	mismatch.Remove()
	hang.Remove()
	n.rewrite()
	n.settled()
	if n.src.RestartNeeded() {
		t.Error("a restart is asked for although it works again")
	}
}
