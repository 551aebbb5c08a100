// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30
)

func TestMain(m *testing.M) {
	eventWait = 20 * time.Millisecond // every test closes a library and waits for it
	os.Exit(m.Run())
}

// node is a Source over the mock library and the state behind it. Tests here
// do not run in parallel: the binding has one library per process.
type node struct {
	testing.TB
	state *mocknvml.State
	opts  Options
	src   *Source
	at    time.Time // the wall clock
}

// newNode makes a state; open begins to read it.
func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{TB: t, state: mocknvml.TestState(t), at: time.UnixMilli(1_800_000_000_000)}
	n.opts = Options{
		LibraryPath: mocknvml.Build(t),
		Deadline:    20 * time.Second, // no test of a good library may depend on time
		RetryMin:    time.Nanosecond,
		RetryMax:    time.Nanosecond,
		LostProbe:   time.Minute,
		Clock:       func() time.Time { return n.at },
	}
	return n
}

// open writes the state and makes the Source.
func (n *node) open() {
	n.Helper()
	n.rewrite()
	src := Open(n.opts)
	n.src = src
	n.Cleanup(func() {
		src.opts.Deadline = time.Hour // the next test may begin when the library is closed
		src.Close()
	})
}

// rewrite writes the state again after it was changed.
func (n *node) rewrite() {
	n.Helper()
	n.state.MustWrite(n.TB)
}

// sample is one Sample, five seconds after the one before.
func (n *node) sample() (sample.Library, []sample.Device) {
	n.Helper()
	n.at = n.at.Add(5 * time.Second)
	lib, devices, err := n.src.Sample(context.Background())
	if err != nil {
		n.Fatal(err)
	}
	return lib, devices
}

// good is a sample whose devices all answered.
func (n *node) good() []sample.Device {
	n.Helper()
	lib, devices := n.sample()
	if !lib.OK || lib.Error != "" {
		n.Fatalf("library: %+v", lib)
	}
	for _, d := range devices {
		if d.State != gpu.StateOK || d.Reason != "" {
			n.Fatalf("device %s is %s: %s", d.UUID, d.State, d.Reason)
		}
	}
	return devices
}

// one is a good sample of a node with one GPU.
func (n *node) one() sample.Device {
	n.Helper()
	devices := n.good()
	if len(devices) != 1 {
		n.Fatalf("%d devices, want 1", len(devices))
	}
	return devices[0]
}

// equal fails the test where two values differ.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// inChild runs the test in a process of its own, for another library than that
// of the others. It reports true in that process.
func inChild(t *testing.T) bool {
	t.Helper()
	const mark = "GPUTALLY_NVML_TEST_CHILD"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("in its own process: %v\n%s", err, out)
	}
	return false
}

func TestWholeDevices(t *testing.T) {
	n := newNode(t)
	n.state.Driver("570.172.08")
	g := n.state.GPU("h100", "util=37", "memutil=12", "power=412W", "power_limit=650W", "energy=123456", "temp=61",
		"sm_clock=1755", "clock_reasons=4", "compute_mode=exclusive_process", "virtualization=passthrough", "gpm=0", "serial=S1", "minor=3", "bus=0x4e")
	n.state.Proc(g, 4242, 6*gib)
	n.state.GPU("t4")
	n.open()

	devices := n.good()
	if len(devices) != 2 {
		t.Fatalf("%d devices, want 2", len(devices))
	}
	d := devices[0]
	if d.Power.EnergyMJ == nil || *d.Power.EnergyMJ < 123456 {
		t.Errorf("energy %v, want at least 123456", d.Power.EnergyMJ)
	}
	d.Power.EnergyMJ = nil
	equal(t, "device", d, sample.Device{
		UUID: gpu.UUID(mocknvml.UUID(0)), Index: 0, Minor: 3, State: gpu.StateOK,
		Name: "NVIDIA H100 80GB HBM3", PCIBusID: "0000:4e:00.0", Serial: "S1",
		Architecture: "hopper", Virtualization: "passthrough", ComputeMode: "exclusive_process",
		Memory:    &sample.Memory{Total: d.Memory.Total, Reserved: d.Memory.Reserved, Used: 6 * gib, Free: d.Memory.Total - d.Memory.Reserved - 6*gib},
		Processes: []sample.Held{{PID: 4242, Kind: sample.KindCompute, Bytes: new(6 * gib)}},
		Signals:   sample.Signals{Busy: new(0.37), MemoryBusy: new(0.12), PCIeRxPerS: new(uint64(0))},
		Power: sample.Power{
			PowerMW: new(uint64(412_000)), LimitMW: new(uint64(650_000)), TemperatureC: new(uint64(61)),
			SMClockMHz: new(uint64(1755)), ClocksEventSet: new(uint64(4)),
		},
	})
	if devices[1].Architecture != "turing" || devices[1].UUID != gpu.UUID(mocknvml.UUID(1)) {
		t.Errorf("second device %+v", devices[1])
	}
	lib, _ := n.sample()
	if lib.DriverVersion != "570.172.08" || lib.NVMLVersion == "" || lib.CUDAVersion == 0 {
		t.Errorf("library %+v", lib)
	}
}

// Devices are known by UUID: the order of indexes may change.
func TestIndexOrderChanges(t *testing.T) {
	n := newNode(t)
	first := n.state.GPU("a100-40gb")
	n.state.GPU("t4")
	n.open()
	if d := n.good(); d[0].Name != "NVIDIA A100-SXM4-40GB" {
		t.Fatalf("first device %s", d[0].Name)
	}
	first.Remove()
	n.state.GPU("a100-40gb").Set("uuid", mocknvml.UUID(0))
	n.rewrite()
	d := n.good()
	if d[0].UUID != gpu.UUID(mocknvml.UUID(1)) || d[0].Name != "Tesla T4" || d[0].Index != 0 {
		t.Errorf("first device is now %+v", d[0])
	}
	if d[1].UUID != gpu.UUID(mocknvml.UUID(0)) || d[1].Name != "NVIDIA A100-SXM4-40GB" || d[1].Index != 1 {
		t.Errorf("second device is now %+v", d[1])
	}
}

// A platform may give its devices no UUID. None is made up.
func TestNoUUID(t *testing.T) {
	n := newNode(t)
	n.opts.Node = "orin-7"
	g := n.state.GPU("gb10")
	n.state.Fault(g, "not_supported", "nvmlDeviceGetUUID")
	n.open()
	if d := n.one(); d.UUID != "orin-7/0" {
		t.Errorf("device %+v", d)
	}
}

// A driver may give a handle to another device. That is noticed before
// anything is taken for the wrong device's, and put right.
func TestHandleNamesAnotherDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a100-40gb")
	n.state.GPU("t4")
	n.open()
	n.good()
	uuids := n.src.library.lib.uuids
	for h, uuid := range uuids {
		uuids[h] = mocknvml.UUID(0)
		if uuid == mocknvml.UUID(0) {
			uuids[h] = mocknvml.UUID(1)
		}
	}
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateUnreadable, gpu.StateUnreadable})
	devices = n.good()
	if devices[0].Name != "NVIDIA A100-SXM4-40GB" || devices[1].Name != "Tesla T4" {
		t.Errorf("devices %+v", devices)
	}
}

func TestDeviceIsAdded(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a100-40gb")
	n.open()
	n.good()
	n.state.GPU("t4")
	n.rewrite()
	if d := n.good(); len(d) != 2 || d[1].Name != "Tesla T4" {
		t.Errorf("devices %+v", d)
	}
}

func TestClosed(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	n.open()
	n.good()
	n.src.Close()
	n.src.Close()
	if _, _, err := n.src.Sample(context.Background()); err != ErrClosed {
		t.Errorf("Sample after Close: %v", err)
	}
}
