// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestFaultCodes(t *testing.T) {
	kinds := map[string]nvml.Return{
		"lost": nvml.ERROR_GPU_IS_LOST, "no_permission": nvml.ERROR_NO_PERMISSION, "not_supported": nvml.ERROR_NOT_SUPPORTED,
		"lib_mismatch": nvml.ERROR_LIB_RM_VERSION_MISMATCH, "missing": nvml.ERROR_FUNCTION_NOT_FOUND, "unknown": nvml.ERROR_UNKNOWN,
		"reset_required": nvml.ERROR_RESET_REQUIRED, "operating_system": nvml.ERROR_OPERATING_SYSTEM, "timeout": nvml.ERROR_TIMEOUT,
		"driver_not_loaded": nvml.ERROR_DRIVER_NOT_LOADED, "version_mismatch": nvml.ERROR_ARGUMENT_VERSION_MISMATCH,
		"not_found": nvml.ERROR_NOT_FOUND, "not_ready": nvml.ERROR_NOT_READY, "in_use": nvml.ERROR_IN_USE, "error:21": nvml.ERROR_NO_DATA,
	}
	s := mocknvml.TestState(t)
	s.GPU("t4")
	g := s.GPU("t4")
	fault := s.Fault(g, "lost", "nvmlDeviceGetPowerUsage")
	lib := load(t, s)
	for kind, code := range kinds {
		fault.Set("kind", kind)
		s.MustWrite(t)
		_, ret := device(t, lib, 1).GetPowerUsage()
		want(t, ret, code)
		_, ret = device(t, lib, 0).GetPowerUsage()
		want(t, ret, nvml.SUCCESS)
		_, ret = device(t, lib, 1).GetMemoryInfo()
		want(t, ret, nvml.SUCCESS)
	}
}

func TestFaultOfMemoryOnly(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("t4")
	s.Add("fault", "gpu=0", "kind=not_supported_memory")
	d := device(t, load(t, s), 0)
	_, ret := d.GetMemoryInfo()
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
	_, ret = d.GetMemoryInfo_v2()
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
	_, ret = d.GetPowerUsage()
	want(t, ret, nvml.SUCCESS)
}

// A lost GPU: counted, but its handle cannot be had, and a handle one has fails.
func TestLostGPU(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.GPU("t4")
	lib := load(t, s)
	d := device(t, lib, 0)
	s.Fault(g, "lost", "*")
	s.MustWrite(t)
	_, ret := d.GetUUID()
	want(t, ret, nvml.ERROR_GPU_IS_LOST)
	_, ret = lib.DeviceGetHandleByIndex(0)
	want(t, ret, nvml.ERROR_GPU_IS_LOST)
	if count := must[int](t)(lib.DeviceGetCount()); count != 2 {
		t.Errorf("count %d", count)
	}
	must[string](t)(device(t, lib, 1).GetUUID())
}

// A GPU that leaves the state file is lost too; the others keep their handles.
func TestGPURemoved(t *testing.T) {
	s := mocknvml.TestState(t)
	first := s.GPU("t4")
	s.GPU("t4")
	lib := load(t, s)
	d0, d1 := device(t, lib, 0), device(t, lib, 1)
	first.Remove()
	s.MustWrite(t)
	_, ret := d0.GetUUID()
	want(t, ret, nvml.ERROR_GPU_IS_LOST)
	if uuid := must[string](t)(d1.GetUUID()); uuid != mocknvml.UUID(1) {
		t.Errorf("UUID %s", uuid)
	}
}

// A hung call ends when the fault does, and holds up nobody else meanwhile.
func TestHang(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.GPU("t4")
	lib := load(t, s)
	d0, d1 := device(t, lib, 0), device(t, lib, 1)
	fault := s.Fault(g, "hang", "nvmlDeviceGetMemoryInfo*")
	s.MustWrite(t)
	done := make(chan nvml.Return, 1)
	go func() {
		_, ret := d0.GetMemoryInfo_v2()
		done <- ret
	}()
	for range 20 {
		must[nvml.Memory_v2](t)(d1.GetMemoryInfo_v2())
		must[string](t)(d0.GetUUID())
		time.Sleep(time.Millisecond)
	}
	select {
	case ret := <-done:
		t.Fatalf("the call came back: %v", ret)
	default:
	}
	fault.Remove()
	s.MustWrite(t)
	want(t, <-done, nvml.SUCCESS)
}

func TestSlow(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Fault(s.GPU("t4"), "slow:50", "nvmlDeviceGetUUID")
	d := device(t, load(t, s), 0)
	start := time.Now()
	must[string](t)(d.GetUUID())
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("took %v, want at least 50ms", took)
	}
}

func TestFaultTimes(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Fault(s.GPU("t4"), "unknown", "nvmlDeviceGetUUID", "times=2")
	d := device(t, load(t, s), 0)
	for i, code := range []nvml.Return{nvml.ERROR_UNKNOWN, nvml.ERROR_UNKNOWN, nvml.SUCCESS} {
		if i == 1 {
			s.MustWrite(t) // the same line in a new file goes on counting
		}
		_, ret := d.GetUUID()
		want(t, ret, code)
	}
}

// The list of processes grows between the size query and the fetch, once.
func TestProcessListGrows(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.Proc(g, 10, gib)
	s.Fault(g, "grow:4", "nvmlDeviceGetComputeRunningProcesses*")
	d := device(t, load(t, s), 0)
	if got := must[[]nvml.ProcessInfo](t)(d.GetComputeRunningProcesses()); len(got) != 1 {
		t.Errorf("processes %+v", got)
	}
}

// go-nvml does not survive that for utilization samples. The mock shows it, so that
// a client can be tested against it.
func TestProcessUtilizationGrowsAndBreaksGoNVML(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.Proc(g, 10, gib, "sm=5")
	s.Fault(g, "grow:4", "nvmlDeviceGetProcessUtilization")
	d := device(t, load(t, s), 0)
	defer func() {
		if r := recover(); r == nil {
			t.Error("go-nvml did not panic; is the fault still what it was?")
		}
		if got := must[[]nvml.ProcessUtilizationSample](t)(d.GetProcessUtilization(0)); len(got) != 1 {
			t.Errorf("the fault happens once, then: %+v", got)
		}
	}()
	_, _ = d.GetProcessUtilization(0)
}

func TestDriverNotLoaded(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Driver("none")
	s.GPU("t4")
	s.MustWrite(t)
	lib := nvml.New(nvml.WithLibraryPath(mocknvml.Build(t)))
	want(t, lib.Init(), nvml.ERROR_DRIVER_NOT_LOADED)
	s.Driver("570.172.08")
	s.MustWrite(t)
	want(t, lib.Init(), nvml.SUCCESS)
	want(t, lib.Shutdown(), nvml.SUCCESS)
}

func TestNoStateFile(t *testing.T) {
	mocknvml.TestState(t)
	lib := nvml.New(nvml.WithLibraryPath(mocknvml.Build(t)))
	want(t, lib.Init(), nvml.ERROR_DRIVER_NOT_LOADED)
}

// A driver replaced under a client: nothing works until it starts the library anew.
func TestDriverReload(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Driver("570.172.08")
	p := s.Proc(s.GPU("t4", "accounting=1"), 10, gib)
	lib := load(t, s)
	d := device(t, lib, 0)
	p.Remove()
	s.MustWrite(t)
	if pids := accountedPids(t, d); len(pids) != 1 {
		t.Fatalf("accounted pids %v", pids)
	}
	s.Driver("580.65.06")
	s.MustWrite(t)
	_, ret := d.GetUUID()
	want(t, ret, nvml.ERROR_LIB_RM_VERSION_MISMATCH)
	_, ret = lib.DeviceGetCount()
	want(t, ret, nvml.ERROR_LIB_RM_VERSION_MISMATCH)
	// Starting again without stopping does not help. (go-nvml counts it all the same,
	// so that the library is not unloaded by the Shutdown below.)
	want(t, lib.Init(), nvml.ERROR_LIB_RM_VERSION_MISMATCH)
	want(t, lib.Shutdown(), nvml.SUCCESS)
	want(t, lib.Init(), nvml.SUCCESS)
	if v := must[string](t)(lib.SystemGetDriverVersion()); !strings.HasPrefix(v, "580") {
		t.Errorf("driver %s", v)
	}
	if pids := accountedPids(t, device(t, lib, 0)); len(pids) != 0 {
		t.Errorf("the ring of the old driver is still there: %v", pids)
	}
}
