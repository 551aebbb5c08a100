// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestUtilizationRates(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.Proc(g, 10, gib, "sm=60", "memutil=5")
	s.Proc(g, 11, gib, "sm=37", "memutil=4")
	s.GPU("t4", "util=3", "memutil=2")
	lib := load(t, s)
	for i, want := range []nvml.Utilization{{Gpu: 97, Memory: 9}, {Gpu: 3, Memory: 2}} {
		if got := must[nvml.Utilization](t)(device(t, lib, i).GetUtilizationRates()); got != want {
			t.Errorf("GPU %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestPCIeThroughput(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("t4", "pcie_rx=2500000", "pcie_tx=7")
	s.GPU("a100-40gb", "mig=1")
	lib := load(t, s)
	d := device(t, lib, 0)
	if got := must[uint32](t)(d.GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES)); got != 2_500_000 {
		t.Errorf("received %d KB/s", got)
	}
	if got := must[uint32](t)(d.GetPcieThroughput(nvml.PCIE_UTIL_TX_BYTES)); got != 7 {
		t.Errorf("sent %d KB/s", got)
	}
	_, ret := device(t, lib, 1).GetPcieThroughput(nvml.PCIE_UTIL_RX_BYTES)
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
}

// A period longer than the test: every query meets the same samples.
const longPeriod = "sample_period_us=3600000000"

func TestProcessUtilization(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Option(longPeriod)
	g := s.GPU("t4")
	s.Proc(g, 10, gib, "sm=60", "memutil=5", "enc=1", "dec=2")
	s.Proc(g, 11, gib)                  // idle: no sample
	s.Sample(g, 999, "sm=250", "ts=77") // dead, absurd and old
	d := device(t, load(t, s), 0)

	got := must[[]nvml.ProcessUtilizationSample](t)(d.GetProcessUtilization(0))
	if len(got) != 2 || got[0].Pid != 10 || got[0].SmUtil != 60 || got[0].MemUtil != 5 || got[0].EncUtil != 1 || got[0].DecUtil != 2 {
		t.Fatalf("samples %+v", got)
	}
	if got[1].Pid != 999 || got[1].SmUtil != 250 || got[1].TimeStamp != 77 {
		t.Errorf("sample line %+v", got[1])
	}
	newest := got[0].TimeStamp
	if age := time.Since(time.UnixMicro(int64(newest))); age < 0 || age > time.Hour+time.Minute {
		t.Errorf("sample is %v old", age)
	}
	if got := must[[]nvml.ProcessUtilizationSample](t)(d.GetProcessUtilization(77)); len(got) != 1 {
		t.Errorf("newer than 77: %+v", got)
	}
	_, ret := d.GetProcessUtilization(newest)
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

func TestProcessUtilizationOfAnIdleGPU(t *testing.T) {
	s := mocknvml.TestState(t)
	s.Proc(s.GPU("t4"), 10, gib)
	_, ret := device(t, load(t, s), 0).GetProcessUtilization(0)
	want(t, ret, nvml.ERROR_NOT_FOUND)
}

func TestProcessesUtilizationInfoAsksForRoom(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	s.Proc(g, 10, gib, "sm=60")
	s.Proc(g, 11, gib, "jpeg=6")
	info, ret := device(t, load(t, s), 0).GetProcessesUtilizationInfo()
	want(t, ret, nvml.ERROR_INSUFFICIENT_SIZE)
	if info.ProcessSamplesCount != 2 {
		t.Errorf("room for %d, want 2", info.ProcessSamplesCount)
	}
}

func TestSamples(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("t4", "power=66W")
	s.GPU("h100", "mig=1")
	lib := load(t, s)
	valueType, samples, ret := device(t, lib, 0).GetSamples(nvml.TOTAL_POWER_SAMPLES, 0)
	want(t, ret, nvml.SUCCESS)
	if valueType != nvml.VALUE_TYPE_UNSIGNED_INT || len(samples) != 120 {
		t.Fatalf("type %d, %d samples", valueType, len(samples))
	}
	last := samples[len(samples)-1]
	if value := *(*uint32)(unsafe.Pointer(&last.SampleValue)); value != 66000 {
		t.Errorf("last value %d mW", value)
	}
	for i := 1; i < len(samples); i++ {
		if samples[i].TimeStamp <= samples[i-1].TimeStamp {
			t.Fatalf("times do not rise at %d", i)
		}
	}
	_, _, ret = device(t, lib, 1).GetSamples(nvml.GPU_UTILIZATION_SAMPLES, 0)
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
}
