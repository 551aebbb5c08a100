// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"

	"github.com/gputally/gputally/internal/core/sample"
)

// shares is the SM share per PID; -1 stands for "not sampled".
func shares(d sample.Device) map[int]float64 {
	out := map[int]float64{}
	for _, p := range d.Processes {
		out[p.PID] = -1
		if p.SM != nil {
			out[p.PID] = *p.SM
		}
	}
	return out
}

func TestProcessUtilization(t *testing.T) {
	n := newNode(t)
	n.state.Option("sample_period_us=1") // every reading has new samples
	g := n.state.GPU("a100-40gb")
	n.state.Proc(g, 10, gib, "sm=40")
	idle := n.state.Proc(g, 11, gib)
	absurd := n.state.Proc(g, 12, gib, "sm=2000")
	n.state.Sample(g, 999, "sm=80") // in no list: a process that has ended
	n.open()

	equal(t, "the first answer is a long average", shares(n.one()), map[int]float64{10: -1, 11: -1, 12: -1})
	equal(t, "second", shares(n.one()), map[int]float64{10: 0.4, 11: 0, 12: 0})
	idle.Set("sm", 30)
	absurd.Set("sm", 100)
	n.rewrite()
	equal(t, "third", shares(n.one()), map[int]float64{10: 0.4, 11: 0.3, 12: 1})
}

// NOT_FOUND is the driver's "nothing new": all were idle, which is 0 and known.
func TestProcessUtilizationIdle(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("a100-40gb")
	n.state.Proc(g, 10, gib)
	n.state.Fault(g, "not_found", "nvmlDeviceGetProcessUtilization")
	n.open()
	n.one()
	equal(t, "idle", shares(n.one()), map[int]float64{10: 0})
}

func TestProcessUtilizationUnknown(t *testing.T) {
	for _, kind := range []string{"not_supported", "no_permission", "unknown", "missing"} {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t)
			g := n.state.GPU("a100-40gb")
			n.state.Proc(g, 10, gib)
			n.state.Fault(g, kind, "nvmlDeviceGetProcessUtilization")
			n.open()
			n.one()
			equal(t, "not available", shares(n.one()), map[int]float64{10: -1})
		})
	}
}

// The binding panics when samples come to be between its two calls.
func TestProcessUtilizationPanicIsContained(t *testing.T) {
	n := newNode(t)
	n.state.Option("sample_period_us=1")
	g := n.state.GPU("a100-40gb")
	n.state.Proc(g, 10, gib, "sm=40")
	n.open()
	n.one()
	n.state.Fault(g, "grow:3", "nvmlDeviceGetProcessUtilization", "times=1")
	n.rewrite()
	equal(t, "it panics once and is asked again", shares(n.one()), map[int]float64{10: 0.4})
	always := n.state.Fault(g, "grow:4", "nvmlDeviceGetProcessUtilization", "times=1000")
	n.rewrite()
	equal(t, "it panics every time", shares(n.one()), map[int]float64{10: -1})
	always.Remove()
	n.rewrite()
	equal(t, "afterwards", shares(n.one()), map[int]float64{10: 0.4})
}

func TestNothingOptionalFailsADevice(t *testing.T) {
	optional := []string{
		"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetEnforcedPowerLimit",
		"nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetTemperature*", "nvmlDeviceGetClockInfo",
		"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetComputeMode", "nvmlDeviceGetVirtualizationMode",
		"nvmlDeviceGetSerial", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo*", "nvmlDeviceGetName", "nvmlDeviceGetArchitecture",
		"nvmlGpm*", "nvmlDeviceGetAccountingMode", "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents",
	}
	n := newNode(t)
	g := n.state.GPU("h100")
	for _, call := range optional {
		n.state.Fault(g, "unknown", call)
	}
	n.open()
	n.one()
	d := n.one()
	equal(t, "signals", d.Signals, sample.Signals{})
	equal(t, "power", d.Power, sample.Power{})
	if d.Memory == nil || d.Minor != -1 || d.Name != "" {
		t.Errorf("device %+v", d)
	}
}
