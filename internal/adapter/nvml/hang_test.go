// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
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

// A GPU that was lost before it ever told its UUID has a name all the same.

// A mismatch that only one device reports is that of the whole library.

// A mismatch that stays can only be cured by a new process.
