// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

// eventSet is registered for everything the GPUs support.
func eventSet(t *testing.T, lib nvml.Interface, gpus ...nvml.Device) nvml.EventSet {
	t.Helper()
	set := must[nvml.EventSet](t)(lib.EventSetCreate())
	for _, d := range gpus {
		want(t, d.RegisterEvents(must[uint64](t)(d.GetSupportedEventTypes()), set), nvml.SUCCESS)
	}
	return set
}

func TestEvents(t *testing.T) {
	s := mocknvml.TestState(t)
	g0, g1 := s.GPU("h100"), s.GPU("h100")
	s.XID(g0, 13, "past=1")
	lib := load(t, s)
	d0, d1 := device(t, lib, 0), device(t, lib, 1)
	both, second := eventSet(t, lib, d0, d1), eventSet(t, lib, d1)
	defer second.Free()

	_, ret := both.Wait(0)
	want(t, ret, nvml.ERROR_TIMEOUT)
	s.XID(g0, 79, "gi=3", "ci=0")
	s.Event(g1, "type=recovery")
	s.MustWrite(t)
	first := must[nvml.EventData](t)(both.Wait(1000))
	if first.Device != d0 || first.EventType != nvml.EventTypeXidCriticalError || first.EventData != 79 || first.GpuInstanceId != 3 {
		t.Errorf("first event %+v", first)
	}
	next := must[nvml.EventData](t)(both.Wait(1000))
	if next.Device != d1 || next.EventType != nvml.EventTypeGpuRecoveryAction || next.GpuInstanceId != notMIG {
		t.Errorf("second event %+v", next)
	}
	_, ret = both.Wait(0)
	want(t, ret, nvml.ERROR_TIMEOUT)
	if got := must[nvml.EventData](t)(second.Wait(1000)); got.Device != d1 {
		t.Errorf("the other set gets its own: %+v", got)
	}
	want(t, both.Free(), nvml.SUCCESS)
	want(t, both.Free(), nvml.ERROR_INVALID_ARGUMENT)
}

// An event that comes while a caller waits wakes it.
func TestEventWakesWaiter(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("h100")
	lib := load(t, s)
	set := eventSet(t, lib, device(t, lib, 0))
	defer set.Free()
	got := make(chan nvml.Return)
	go func() {
		_, ret := set.Wait(60000)
		got <- ret
	}()
	s.XID(g, 31)
	s.MustWrite(t)
	want(t, <-got, nvml.SUCCESS)
}

func TestMIGDeviceCannotRegister(t *testing.T) {
	s := mocknvml.TestState(t)
	s.MIG(s.GPU("h100", "mig=1"), "1g.10gb", 7, 0)
	lib := load(t, s)
	m := must[nvml.Device](t)(device(t, lib, 0).GetMigDeviceHandleByIndex(0))
	set := eventSet(t, lib)
	defer set.Free()
	want(t, m.RegisterEvents(nvml.EventTypeXidCriticalError, set), nvml.ERROR_NOT_SUPPORTED)
}
