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
	if c, ok := r.temperature(); ok {
		p.TemperatureC = keep(c)
	}
	if r.begin(symClock) {
		if mhz, ret := r.handle.GetClockInfo(binding.CLOCK_SM); r.ok(ret) {
			p.SMClockMHz = keep(uint64(mhz))
		}
	}
	if bits, ok := r.clocksEvents(); ok {
		p.ClocksEventSet = keep(bits)
	}
}

// temperature is that of the GPU in °C, by the call of NVML 13 or the older.
func (r *reading) temperature() (uint64, bool) {
	if r.begin(symTemperatureV) {
		if t, ret := r.handle.GetTemperatureV().V1(); r.ok(ret) && t.Temperature >= 0 {
			return uint64(t.Temperature), true
		}
	}
	if !r.begin(symTemperature) {
		return 0, false
	}
	c, ret := r.handle.GetTemperature(binding.TEMPERATURE_GPU)
	return uint64(c), r.ok(ret)
}

// clocksEvents are the reasons why clocks are limited, by their name of today
// or that of drivers before R535, when they were throttle reasons.
func (r *reading) clocksEvents() (uint64, bool) {
	if r.begin(symClocksEventReasons) {
		bits, ret := r.handle.GetCurrentClocksEventReasons()
		return bits, r.ok(ret)
	}
	if !r.begin(symClocksThrottleReasons) {
		return 0, false
	}
	bits, ret := r.handle.GetCurrentClocksThrottleReasons()
	return bits, r.ok(ret)
}
