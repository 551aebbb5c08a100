// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30
)

// bench is a Source over the mock library and the state behind it. Tests here
// do not run in parallel: the binding has one library per process.
type bench struct {
	*testing.T
	state *mocknvml.State
	opts  Options
	src   *Source
	at    time.Time // the wall clock
}

// begin makes a state; open begins to read it.
func begin(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, state: mocknvml.TestState(t), at: time.UnixMilli(1_800_000_000_000)}
	b.opts = Options{
		LibraryPath: mocknvml.Build(t),
		Deadline:    5 * time.Second,
		RetryMin:    time.Nanosecond,
		LostProbe:   time.Minute,
		Clock:       func() time.Time { return b.at },
	}
	return b
}

func (b *bench) open() {
	b.Helper()
	b.state.MustWrite(b.T)
	b.src = Open(b.opts)
	b.Cleanup(b.src.Close)
}

// sample is one Sample, five seconds after the one before.
func (b *bench) sample() (sample.Library, []sample.Device) {
	b.Helper()
	b.at = b.at.Add(5 * time.Second)
	lib, devices, err := b.src.Sample(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return lib, devices
}

// good is a sample whose devices all answered.
func (b *bench) good() []sample.Device {
	b.Helper()
	lib, devices := b.sample()
	if !lib.OK || lib.Error != "" {
		b.Fatalf("library: %+v", lib)
	}
	for _, d := range devices {
		if d.State != gpu.StateOK {
			b.Fatalf("device %s is %s: %s", d.UUID, d.State, d.Reason)
		}
	}
	return devices
}

// rewrite writes the state again after it was changed.
func (b *bench) rewrite() {
	b.Helper()
	b.state.MustWrite(b.T)
}

func TestWholeDevices(t *testing.T) {
	b := begin(t)
	g := b.state.GPU("h100", "util=37", "memutil=12", "power=412W", "temp=61", "compute_mode=exclusive_process")
	b.state.Proc(g, 4242, 6*gib)
	b.state.GPU("t4")
	b.open()
	devices := b.good()
	if len(devices) != 2 {
		t.Fatalf("%d devices, want 2", len(devices))
	}
	for _, d := range devices {
		t.Logf("%+v", d)
		t.Logf("memory %+v", d.Memory)
	}
}
