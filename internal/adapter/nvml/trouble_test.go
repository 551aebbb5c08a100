// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

// short is a deadline for tests in which a call does not return.
const short = 300 * time.Millisecond

func states(devices []sample.Device) (out []gpu.State) {
	for _, d := range devices {
		out = append(out, d.State)
	}
	return out
}

// until samples until the devices are in the given states. A machine that is
// busy may delay any call beyond a short deadline, for a while.
func (n *node) until(want ...gpu.State) (sample.Library, []sample.Device) {
	n.Helper()
	var got []gpu.State
	for range 100 {
		lib, devices := n.sample()
		if got = states(devices); slices.Equal(got, want) {
			return lib, devices
		}
		time.Sleep(10 * time.Millisecond)
	}
	n.Fatalf("devices are %v, want %v", got, want)
	return sample.Library{}, nil
}

// named samples until what is said to be stuck is the call that is.
func named(n *node, call string, said func(sample.Library, []sample.Device) string) {
	n.Helper()
	want, got := call+" did not return within 300ms", ""
	for range 100 {
		if got = said(n.sample()); got == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	n.Errorf("said %q, want %q", got, want)
}

func reasonOf(index int) func(sample.Library, []sample.Device) string {
	return func(_ sample.Library, devices []sample.Device) string { return devices[index].Reason }
}

func libraryError(lib sample.Library, _ []sample.Device) string { return lib.Error }

// settled samples until the library and every device answer again: a call that
// was stuck comes back some time after its cause is gone.
func (n *node) settled() []sample.Device {
	n.Helper()
	for range 200 {
		lib, devices := n.sample()
		fine := lib.OK && lib.Error == ""
		for _, d := range devices {
			fine = fine && d.State == gpu.StateOK
		}
		if fine {
			return devices
		}
		time.Sleep(20 * time.Millisecond)
	}
	n.Fatal("the node did not recover")
	return nil
}

func TestHungDevice(t *testing.T) {
	n := newNode(t)
	n.opts.Deadline = short
	for range 3 {
		n.state.GPU("a100-40gb")
	}
	n.open()
	n.settled()
	hang := n.state.Add("fault", "gpu=1", "kind=hang", "call=nvmlDeviceGetMemoryInfo_v2")
	n.rewrite()

	named(n, "nvmlDeviceGetMemoryInfo_v2", reasonOf(1))
	_, devices := n.until(gpu.StateOK, gpu.StateHung, gpu.StateOK)
	if d := devices[1]; d.Memory != nil || d.Name != "NVIDIA A100-SXM4-40GB" || d.PCIBusID == "" {
		t.Errorf("hung device %+v", d)
	}

	// From now on nobody waits for it, or this test would not end, and nothing
	// piles up behind it.
	n.src.opts.Deadline = 24 * time.Hour
	before := runtime.NumGoroutine()
	for range 20 {
		_, devices = n.sample()
		equal(t, "states", states(devices), []gpu.State{gpu.StateOK, gpu.StateHung, gpu.StateOK})
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines after, %d before", now, before)
	}
	n.src.opts.Deadline = short

	hang.Remove()
	n.rewrite()
	if d := n.settled()[1]; d.Memory == nil {
		t.Errorf("after it came back: %+v", d)
	}
}

// No call that hangs may hold up the devices, and every one is named.
func TestEveryHangingCallIsNamed(t *testing.T) {
	for _, call := range []string{
		"nvmlDeviceGetUUID", "nvmlDeviceGetMigMode", "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetPowerUsage",
		"nvmlDeviceGetProcessUtilization", "nvmlDeviceGetUtilizationRates", "nvmlGpmSampleGet", "nvmlDeviceGetAccountingMode",
	} {
		t.Run(call, func(t *testing.T) {
			n := newNode(t)
			n.opts.Deadline = short
			n.state.GPU("h100")
			n.state.GPU("h100")
			n.open()
			n.settled()
			time.Sleep(gpmInterval) // there is no second GPM sample before
			hang := n.state.Add("fault", "gpu=0", "kind=hang", "call="+call)
			n.rewrite()
			named(n, call, reasonOf(0))
			n.until(gpu.StateHung, gpu.StateOK)
			hang.Remove()
			n.rewrite()
			n.settled()
		})
	}
}

// The list of devices hangs: those that are known are read all the same.
func TestHungListing(t *testing.T) {
	n := newNode(t)
	n.opts.Deadline = short
	n.state.GPU("t4")
	n.state.GPU("t4")
	n.open()
	n.settled()
	hang := n.state.Fault(nil, "hang", "nvmlDeviceGetCount_v2")
	n.rewrite()
	named(n, "nvmlDeviceGetCount_v2", libraryError)
	if lib, _ := n.until(gpu.StateOK, gpu.StateOK); !lib.OK {
		t.Errorf("library %+v", lib)
	}
	hang.Remove()
	n.rewrite()
	n.settled()
}

func TestHungInit(t *testing.T) {
	n := newNode(t)
	n.opts.Deadline = short
	n.state.GPU("t4")
	hang := n.state.Fault(nil, "hang", "nvmlInit_v2")
	n.open()
	named(n, "nvmlInit_v2", libraryError)
	if lib, devices := n.sample(); lib.OK || len(devices) != 0 {
		t.Errorf("library %+v, devices %+v", lib, devices)
	}
	hang.Remove()
	n.rewrite()
	if got := len(n.settled()); got != 1 {
		t.Errorf("%d devices", got)
	}
}

// A library whose devices could never be listed is not one that is in use.
func TestHungFirstListing(t *testing.T) {
	n := newNode(t)
	n.opts.Deadline = short
	n.state.GPU("t4")
	hang := n.state.Fault(nil, "hang", "nvmlDeviceGetHandleByIndex_v2")
	n.open()
	named(n, "nvmlDeviceGetHandleByIndex_v2", libraryError)
	if lib, devices := n.sample(); lib.OK || len(devices) != 0 {
		t.Errorf("library %+v, devices %+v", lib, devices)
	}
	hang.Remove()
	n.rewrite()
	n.settled()
}

func TestCanceled(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	n.open()
	n.good()
	hang := n.state.Fault(nil, "hang", "nvmlDeviceGetMemoryInfo_v2")
	n.rewrite()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := n.src.Sample(ctx); err != context.DeadlineExceeded {
		t.Errorf("Sample: %v", err)
	}
	hang.Remove()
	n.rewrite()
	n.settled()
}

func TestLostDevice(t *testing.T) {
	for _, kind := range []string{"lost", "reset_required"} {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t)
			bad := n.state.GPU("a100-40gb")
			n.state.GPU("t4")
			n.open()
			was := n.good()[0]
			fault := n.state.Fault(bad, kind, "*")
			n.rewrite()
			_, devices := n.sample()
			d := devices[0]
			equal(t, "states", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
			if d.UUID != was.UUID || d.PCIBusID != was.PCIBusID || d.Name != was.Name || d.Memory != nil || d.Reason == "" {
				t.Errorf("lost device %+v", d)
			}

			// It is left alone, although it would answer, until it is time to ask.
			fault.Remove()
			n.rewrite()
			_, devices = n.sample()
			equal(t, "soon after", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
			n.at = n.at.Add(n.opts.LostProbe)
			_, devices = n.sample()
			equal(t, "later", states(devices), []gpu.State{gpu.StateOK, gpu.StateOK})
		})
	}
}

// A GPU that was lost before it ever told its UUID has a name all the same.
func TestLostFromTheStart(t *testing.T) {
	n := newNode(t)
	bad := n.state.GPU("a100-40gb")
	n.state.GPU("t4")
	fault := n.state.Fault(bad, "lost", "*")
	n.open()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
	equal(t, "name", devices[0].UUID, "node/0")
	fault.Remove()
	n.rewrite()
	n.at = n.at.Add(n.opts.LostProbe)
	if d := n.good(); len(d) != 2 || d[0].UUID != gpu.UUID(mocknvml.UUID(0)) {
		t.Errorf("devices %+v", d)
	}
}

func TestForbiddenDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	bad := n.state.GPU("t4")
	n.open()
	n.good()
	n.state.Fault(bad, "operating_system", "nvmlDeviceGetHandleByIndex_v2")
	n.rewrite()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateOK, gpu.StateUnreadable})
	if !strings.Contains(devices[1].Reason, "blocked by the operating system") {
		t.Errorf("reason %s", devices[1].Reason)
	}
}

func TestVanishedDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a100-40gb")
	gone := n.state.GPU("t4")
	n.open()
	n.good()
	gone.Remove()
	n.rewrite()
	for range 3 {
		_, devices := n.sample()
		equal(t, "states", states(devices), []gpu.State{gpu.StateOK, gpu.StateLost})
		if d := devices[1]; d.Reason != reasonGone || d.UUID != gpu.UUID(mocknvml.UUID(1)) || d.Name != "Tesla T4" {
			t.Errorf("vanished device %+v", d)
		}
	}
	// After the driver was reloaded and lists the same twice, it is forgotten.
	n.state.Driver("580.1")
	n.rewrite()
	n.sample()
	_, devices := n.sample()
	_, after := n.sample()
	if len(after) != 1 {
		t.Errorf("devices after the reload: %v, then %v", states(devices), states(after))
	}
}

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

// A mismatch that only one device reports is that of the whole library.
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

// A mismatch that stays can only be cured by a new process.
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

func TestUninitialized(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("t4")
	n.open()
	n.good()
	n.state.Fault(g, "error:1", "nvmlDeviceGetMemoryInfo_v2", "times=1")
	n.rewrite()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateUnreadable})
	equal(t, "it is started again, and the driver was not reloaded", events(n.one()), nil)
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
