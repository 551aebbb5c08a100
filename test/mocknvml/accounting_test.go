// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"slices"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/mocknvml"
)

func accountedPids(t *testing.T, d nvml.Device) []int {
	t.Helper()
	return slices.Sorted(slices.Values(must[[]int](t)(d.GetAccountingPids())))
}

func TestAccountingOff(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb")
	d := device(t, load(t, s), 0)
	if mode := must[nvml.EnableState](t)(d.GetAccountingMode()); mode != nvml.FEATURE_DISABLED {
		t.Errorf("mode %d", mode)
	}
	_, ret := d.GetAccountingPids()
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
}

// A process that leaves the state file stays in the ring with its highest memory.
func TestAccountingFollowsProcesses(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "accounting=1")
	p := s.Proc(g, 10, 2*gib, "sm=40", "memutil=7")
	d := device(t, load(t, s), 0)

	running := must[nvml.AccountingStats](t)(d.GetAccountingStats(10))
	if running.IsRunning != 1 || running.Time != 0 || running.MaxMemoryUsage != 2*gib || running.GpuUtilization != 40 {
		t.Errorf("running: %+v", running)
	}
	p.Set("mem", 5*gib)
	s.MustWrite(t)
	must[int](t)(d.GetIndex()) // the library looks at the file on every call
	p.Set("mem", 1*gib)
	s.MustWrite(t)
	if got := must[nvml.AccountingStats](t)(d.GetAccountingStats(10)).MaxMemoryUsage; got != 5*gib {
		t.Errorf("most memory %d, want 5 GiB", got)
	}
	p.Remove()
	s.Acct(g, 99, "maxmem=3GiB", "time=1500", "start=1000", "util=30", "samples=4")
	s.MustWrite(t)
	if d := cmp.Diff([]int{10, 99}, accountedPids(t, d)); d != "" {
		t.Error(d)
	}
	if ended := must[nvml.AccountingStats](t)(d.GetAccountingStats(10)); ended.IsRunning != 0 || ended.MaxMemoryUsage != 5*gib {
		t.Errorf("ended: %+v", ended)
	}
	v2 := must[nvml.AccountingStats_v2](t)(d.GetAccountingStats_v2(99))
	want := nvml.AccountingStats_v2{Pid: 99, GpuUtilization: 30, MaxMemoryUsage: 3 * gib, SampleCount: 4, SumGpuUtil: 12000, Time: 1500, StartTime: 1000}
	if d := cmp.Diff(want, v2); d != "" {
		t.Error(d)
	}
	_, ret := d.GetAccountingStats(11)
	if ret != nvml.ERROR_NOT_FOUND {
		t.Errorf("unknown pid: %v", ret)
	}
}

func TestAccountingRingForgetsTheOldest(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "accounting=1", "accounting_size=2")
	d := device(t, load(t, s), 0)
	for pid := 1; pid <= 4; pid++ {
		p := s.Proc(g, pid, gib)
		s.MustWrite(t)
		must[int](t)(d.GetAccountingBufferSize())
		p.Remove()
		s.MustWrite(t)
		must[int](t)(d.GetAccountingBufferSize())
	}
	if d := cmp.Diff([]int{3, 4}, accountedPids(t, d)); d != "" {
		t.Error(d)
	}
}
