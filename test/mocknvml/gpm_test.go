// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

// metrics asks for some metrics between two samples taken by the functions.
func metrics(t *testing.T, lib nvml.Interface, wait time.Duration, take func(nvml.GpmSample) nvml.Return, ids ...uint32) []nvml.GpmMetric {
	t.Helper()
	get := nvml.GpmMetricsGetType{NumMetrics: uint32(len(ids))}
	samples := []*nvml.GpmSample{&get.Sample1, &get.Sample2}
	for i, s := range samples {
		*s = must[nvml.GpmSample](t)(lib.GpmSampleAlloc())
		defer (*s).Free()
		if i > 0 {
			time.Sleep(wait)
		}
		want(t, take(*s), nvml.SUCCESS)
	}
	for i, id := range ids {
		get.Metrics[i].MetricId = id
	}
	want(t, lib.GpmMetricsGet(&get), nvml.SUCCESS)
	return get.Metrics[:len(ids)]
}

func check(t *testing.T, m nvml.GpmMetric, ret nvml.Return, value float64) {
	t.Helper()
	if nvml.Return(m.NvmlReturn) != ret || m.Value != value {
		t.Errorf("metric %d: %d, value %g; want %d, value %g", m.MetricId, m.NvmlReturn, m.Value, ret, value)
	}
}

func TestGPM(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("h100")
	s.GPM(g, "sm=37.5", "tensor=20", "m166=3")
	lib := load(t, s)
	d := device(t, lib, 0)
	const busy, idle, given, unknown = uint32(nvml.GPM_METRIC_SM_UTIL), uint32(nvml.GPM_METRIC_FP64_UTIL), 166, 167
	got := metrics(t, lib, 110*time.Millisecond, d.GpmSampleGet, busy, uint32(nvml.GPM_METRIC_ANY_TENSOR_UTIL), idle, given, unknown)
	check(t, got[0], nvml.SUCCESS, 37.5)
	check(t, got[1], nvml.SUCCESS, 20)
	check(t, got[2], nvml.SUCCESS, 0)
	check(t, got[3], nvml.SUCCESS, 3)
	check(t, got[4], nvml.ERROR_NOT_SUPPORTED, 0)
	// Samples that are closer than the hardware's refresh say nothing.
	got = metrics(t, lib, 0, d.GpmSampleGet, busy)
	check(t, got[0], nvml.ERROR_NO_DATA, 0)
}

func TestGPMOfAGpuInstance(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("h100", "mig=1")
	s.MIG(g, "1g.10gb", 7, 0)
	s.GPM(g, "sm=10")
	s.GPM(g, "gi=7", "sm=70")
	lib := load(t, s)
	d := device(t, lib, 0)
	m := must[nvml.Device](t)(d.GetMigDeviceHandleByIndex(0))
	id := uint32(nvml.GPM_METRIC_SM_UTIL)
	byParent := func(s nvml.GpmSample) nvml.Return { return d.GpmMigSampleGet(7, s) }
	check(t, metrics(t, lib, 110*time.Millisecond, byParent, id)[0], nvml.SUCCESS, 70)
	check(t, metrics(t, lib, 110*time.Millisecond, m.GpmSampleGet, id)[0], nvml.SUCCESS, 70)
	check(t, metrics(t, lib, 110*time.Millisecond, d.GpmSampleGet, id)[0], nvml.SUCCESS, 10)
}

func TestNoGPMBeforeHopper(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb")
	lib := load(t, s)
	sample := must[nvml.GpmSample](t)(lib.GpmSampleAlloc())
	defer sample.Free()
	want(t, device(t, lib, 0).GpmSampleGet(sample), nvml.ERROR_NOT_SUPPORTED)
}
