// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	binding "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// power reads energy, power, temperature and clocks, each where there is one.
// The numbers lie in one allocation.
func (r *reading) power() {
	p := &r.out.Power
	store := make([]uint64, 0, 6)
	keep := func(v uint64) *uint64 {
		store = append(store, v)
		return &store[len(store)-1]
	}
	if r.begin(symPowerUsage) {
		if mw, ret := r.handle.GetPowerUsage(); r.ok(ret) {
			p.PowerMW = keep(uint64(mw))
		}
	}
	if r.begin(symPowerLimit) {
		if mw, ret := r.handle.GetEnforcedPowerLimit(); r.ok(ret) {
			p.LimitMW = keep(uint64(mw))
		}
	}
	if r.begin(symEnergy) {
		if mj, ret := r.handle.GetTotalEnergyConsumption(); r.ok(ret) {
			p.EnergyMJ = keep(mj)
		}
	}
	if r.begin(symTemperature) {
		if c, ret := r.handle.GetTemperature(binding.TEMPERATURE_GPU); r.ok(ret) {
			p.TemperatureC = keep(uint64(c))
		}
	}
	if r.begin(symClock) {
		if mhz, ret := r.handle.GetClockInfo(binding.CLOCK_SM); r.ok(ret) {
			p.SMClockMHz = keep(uint64(mhz))
		}
	}
	if r.begin(symClocksEventReasons) {
		if bits, ret := r.handle.GetCurrentClocksEventReasons(); r.ok(ret) {
			p.ClocksEventSet = keep(bits)
		}
	}
}
