// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"encoding/binary"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestPowerAndClocks(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb", "power=250W", "power_limit=300W", "temp=61", "sm_clock=1095", "clock_reasons=0x4")
	s.GPU("gb10")
	lib := load(t, s)
	d := device(t, lib, 0)
	numbers := map[string][2]uint32{
		"power":           {must[uint32](t)(d.GetPowerUsage()), 250000},
		"enforced limit":  {must[uint32](t)(d.GetEnforcedPowerLimit()), 300000},
		"default limit":   {must[uint32](t)(d.GetPowerManagementDefaultLimit()), 400000},
		"temperature":     {must[uint32](t)(d.GetTemperature(nvml.TEMPERATURE_GPU)), 61},
		"SM clock":        {must[uint32](t)(d.GetClockInfo(nvml.CLOCK_SM)), 1095},
		"max SM clock":    {must[uint32](t)(d.GetMaxClockInfo(nvml.CLOCK_SM)), 1410},
		"memory clock":    {must[uint32](t)(d.GetClockInfo(nvml.CLOCK_MEM)), 1215},
		"event reasons":   {uint32(must[uint64](t)(d.GetCurrentClocksEventReasons())), 4},
		"instances board": {uint32(must[int](t)(d.GetMultiGpuBoard())), 0},
	}
	for name, n := range numbers {
		if n[0] != n[1] {
			t.Errorf("%s is %d, want %d", name, n[0], n[1])
		}
	}
	spark := device(t, lib, 1)
	if p := must[uint32](t)(spark.GetPowerUsage()); p != 4000 {
		t.Errorf("GB10 draws %d mW", p)
	}
	_, ret := spark.GetEnforcedPowerLimit()
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
}

// Energy counts up by power x time; a day of simulated power would take a day, so
// the test uses the most power a line can say and looks for any rise.
func TestEnergyCountsUp(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "power=4000000W", "energy=1000")
	s.GPU("a100-40gb", "power=0", "energy=77")
	lib := load(t, s)
	d := device(t, lib, 0)
	before := must[uint64](t)(d.GetTotalEnergyConsumption())
	for tries := 0; must[uint64](t)(d.GetTotalEnergyConsumption()) <= before; tries++ {
		if tries > 1e6 {
			t.Fatalf("energy stays at %d mJ", before)
		}
	}
	if before < 1000 {
		t.Errorf("energy began at %d, want 1000 mJ", before)
	}
	if e := must[uint64](t)(device(t, lib, 1).GetTotalEnergyConsumption()); e != 77 {
		t.Errorf("without power energy is %d", e)
	}
	g.Set("energy", 5).Set("power", 0)
	s.MustWrite(t)
	if e := must[uint64](t)(d.GetTotalEnergyConsumption()); e != 5 {
		t.Errorf("a changed energy= sets the counter, got %d", e)
	}
}

func TestFieldValues(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("h100", "recovery=gpu_reset", "mem_temp=71", "ecc_uncorrected=2")
	s.Add("field", "0", "id=500", "value=12345678901")
	d := device(t, load(t, s), 0)
	values := []nvml.FieldValue{
		{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}, {FieldId: nvml.FI_DEV_MEMORY_TEMP},
		{FieldId: nvml.FI_DEV_ECC_DBE_VOL_TOTAL}, {FieldId: 500}, {FieldId: 501},
	}
	want(t, d.GetFieldValues(values), nvml.SUCCESS)
	for i, n := range []uint64{1, 71, 2, 12345678901} {
		if ret := nvml.Return(values[i].NvmlReturn); ret != nvml.SUCCESS {
			t.Errorf("field %d: %v", values[i].FieldId, ret)
		}
		if got := binary.LittleEndian.Uint64(values[i].Value[:]); got != n {
			t.Errorf("field %d is %d, want %d", values[i].FieldId, got, n)
		}
	}
	if ret := nvml.Return(values[4].NvmlReturn); ret != nvml.ERROR_NOT_SUPPORTED {
		t.Errorf("unknown field: %v", ret)
	}
}
