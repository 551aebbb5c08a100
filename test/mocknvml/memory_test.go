// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"os"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestMemory(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "reserved=600MiB", "extra=1GiB")
	s.Proc(g, os.Getpid(), 6*gib)
	s.Proc(g, 999999, 0).Set("mem", "unknown").Set("managed", "2GiB")
	lib := load(t, s)
	d := device(t, lib, 0)

	v2 := must[nvml.Memory_v2](t)(d.GetMemoryInfo_v2())
	if v2.Total != 40*gib || v2.Reserved != 600*mib || v2.Used != 9*gib || v2.Total != v2.Used+v2.Free+v2.Reserved {
		t.Errorf("v2 %+v", v2)
	}
	v1 := must[nvml.Memory](t)(d.GetMemoryInfo())
	if v1.Used != v2.Used+v2.Reserved || v1.Used+v1.Free != v1.Total {
		t.Errorf("v1 has the reserve in used: v1 %+v, v2 %+v", v1, v2)
	}
}

func TestMemoryLimitsOfACgroup(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("b200")
	s.Add("limit", "0", "cgroup=/sys/fs/cgroup/kubepods.slice/pod1", "soft=1GiB", "hard=2GiB", "used=300MiB")
	lib := load(t, s)
	d := device(t, lib, 0)
	got := must[nvml.MemoryLimits_v1](t)(d.GetMemoryLimits_v1("/sys/fs/cgroup/kubepods.slice/pod1"))
	if got.SoftLimit != gib || got.HardLimit != 2*gib || got.CurrentUsed != 300*mib {
		t.Errorf("got %+v", got)
	}
	_, ret := d.GetMemoryLimits_v1("/sys/fs/cgroup/other")
	want(t, ret, nvml.ERROR_NOT_FOUND)
}
