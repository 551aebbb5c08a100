// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"math"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// TestExample10: an LLM on an A100 of its own goes to an L40S, not to an L4 and
// not to a T4.
func TestExample10(t *testing.T) {
	s := subject(t)
	s.PeakBytes, s.DRAM, s.Tensor, s.LatencyDeclared = p(gb(18/1.15)), level(0.22), level(0.15), true
	s.ToMS = 14 * dayMS
	s.Price.NodeHour, s.Price.DeviceHour = usd(t, "3.67"), usd(t, "3.67")
	shape := func(name, price string, memory, bandwidth, tensor float64, capability int) Shape {
		return Shape{Name: name, Device: Device{Model: name, CapacityBytes: gb(memory), Bandwidth: bandwidth, Tensor: tensor, Capability: capability}, NodeHour: usd(t, price), HostFits: true}
	}
	l40s, l4, t4 := shape("n1l", "1.90", 45, 864, 362, 89), shape("n1x", "0.80", 22.5, 300, 121, 89), shape("n1t", "0.50", 24, 8640, 650, 75)
	r, err := OtherShape(s, []Shape{l40s, t4, l4, shape("dear", "4.00", 140, 4800, 989, 90)}, 80)
	advised(t, r, err)
	if r.Proposed.Model != "n1l" || r.Confidence != Medium || math.Abs(r.Risk.SlowdownBound-2.31) > 0.005 {
		t.Errorf("%s, %s, bound %v", r.Proposed.Model, r.Confidence, r.Risk.SlowdownBound)
	}
	passed(t, r, "n1l", "dram", 0.64, true)
	passed(t, r, "n1l", "tensor", 0.13, true)
	passed(t, r, "n1x", "dram", 1.83, false)
	passed(t, r, "n1t", "compute capability", 80, false)
	cashIs(t, r.Money, Cash, "1292.10", "0", "1292.10")
	r, err = OtherShape(s, []Shape{t4}, 80)
	refused(t, r, err, ArchUnsupported)
	r, err = OtherShape(s, []Shape{shape("dear", "4.00", 140, 4800, 989, 90), shape("same", "3.67", 140, 4800, 989, 90)}, 80)
	refused(t, r, err, NoFit)
	if len(r.Tests) != 0 {
		t.Errorf("what costs no less was tried: %+v", r.Tests)
	}
	r, err = OtherShape(s, []Shape{l4}, 80)
	refused(t, r, err, NoFit)
	l40s.HostFits = false
	r, err = OtherShape(s, []Shape{l40s}, 80)
	refused(t, r, err, NoFit)
	s.Price = nil
	r, err = OtherShape(s, nil, 80)
	refused(t, r, err, NoPrice)
}

// TestExample11: asking for less CPU gives back GPUs that nobody could have. They
// avoid a purchase while pods wait for them.
func TestExample11(t *testing.T) {
	s := subject(t)
	h := Host{Allocatable: HostShare{CPUMilli: 96_000}, GPUs: 8, UsedGPUs: 4, Replicas: 4}
	u := HostUse{Request: HostShare{CPUMilli: 24_000}, P999Milli: p(int64(6_000)), PendingMS: s.ToMS / 24 * 20}
	r, err := HostRequest(s, u, h)
	advised(t, r, err)
	if r.Proposed.CPUMilli != 7_000 || r.Proposed.HostBytes != 0 || r.Money.Class != Avoidable || r.Money.Avoidable != usd(t, "7300") || r.Money.CashMean != 0 {
		t.Errorf("%+v, %+v", r.Proposed, r.Money)
	}
	if r.Money.FreedIdle+r.Money.FreedStranded != 0 || r.Money.FreedIdle != usd(t, "8760") || *r.Money.ChargeDelta != 0 {
		t.Errorf("stranded becomes idle: %v, %v", r.Money.FreedIdle, r.Money.FreedStranded)
	}
	u.PendingMS = 0
	if r, err = HostRequest(s, u, h); r.Money.Class != Capacity || r.Money.Avoidable != 0 {
		t.Errorf("nobody waits: %+v, %v", r.Money, err)
	}
	for _, c := range []struct {
		code Code
		set  func(*Host, *HostUse)
	}{
		{NoSignal, func(_ *Host, u *HostUse) { u.P999Milli = nil }},
		{NoSignal, func(_ *Host, u *HostUse) { u.Request = HostShare{} }},
		{NoCapacityEffect, func(h *Host, _ *HostUse) { h.Allocatable.CPUMilli = 192_000 }},
		{NoFit, func(_ *Host, u *HostUse) { u.P999Milli = p(int64(23_000)) }},
		{NoCapacityEffect, func(h *Host, u *HostUse) {
			h.Allocatable.CPUMilli, h.Other.CPUMilli = 196_000, 100_000
			u.P999Milli = p(int64(19_000))
		}},
		{NoCapacityEffect, func(h *Host, _ *HostUse) { h.Other.CPUMilli = 62_000 }},
	} {
		x, y := h, u
		c.set(&x, &y)
		r, err := HostRequest(s, y, x)
		refused(t, r, err, c.code)
	}
	r, err = HostRequest(s, u)
	refused(t, r, err, NoSignal)
}

// TestHostMemoryStrandsGPUs: memory limits a node as CPU does. Only what frees GPUs is
// lowered; two nodes with prices of their own add up; a split price leaves the charge
// open.
func TestHostMemoryStrandsGPUs(t *testing.T) {
	s := subject(t)
	h := Host{Allocatable: HostShare{CPUMilli: 96_000, MemoryBytes: gb(800)}, GPUs: 8, UsedGPUs: 4, Replicas: 2, Each: 2}
	u := HostUse{Request: HostShare{CPUMilli: 10_000, MemoryBytes: gb(400)}, P999Milli: p(int64(2_000)), MostBytes: p(gb(100))}
	other := h
	dear := *s.Price
	dear.DeviceHour, dear.Split = usd(t, "5"), "declared"
	other.Price, other.Replicas, other.UsedGPUs = &dear, 1, 7 // one card is free, and nobody needs one alone
	r, err := HostRequest(s, u, h, other)
	advised(t, r, err)
	// 115 GiB with the margin. On the first node 4 cards are free and 230 of 800 GiB are
	// taken: both pairs can be had.
	if r.Proposed.HostBytes != gb(115) || r.Proposed.CPUMilli != 0 || r.Money.FreedIdle != usd(t, "8760") || *r.Money.ChargeDelta != 0 {
		t.Errorf("%+v, %+v", r.Proposed, r.Money)
	}
	other.UsedGPUs = 2 // 6 free: one pair more fits now, and all three after
	r, err = HostRequest(s, u, h, other)
	advised(t, r, err)
	if r.Money.FreedIdle != usd(t, "8760")+usd(t, "14600") || r.Money.ChargeDelta != nil {
		t.Errorf("%+v", r.Money)
	}
}

// TestNominalSizes: on an H200 an eighth of the card is more than its smallest
// profile has; the profile's own bytes count.
func TestNominalSizes(t *testing.T) {
	s := subject(t)
	s.Device.CapacityBytes, s.Device.SMs = gb(140), 132
	s.SM, s.DRAM, s.PeakBytes = level(0.05), level(0.02), p(gb(14.5)) // 16.675 GiB with the margin; 140 / 8 = 17.5
	r, err := SmallerProfile(s, h200Profiles)
	advised(t, r, err)
	if r.Proposed.Profile != "1g.35gb" {
		t.Errorf("%s", r.Proposed.Profile)
	}
	passed(t, r, "1g.18gb", "memory", 16.675*(1<<30), false)
}

// TestPeaksCount: the most ever held sizes memory, not what was held most of the
// time, and a percentile of work is not its mean.
func TestPeaksCount(t *testing.T) {
	s := subject(t)
	s.PeakBytes = p(gb(18)) // for a minute: a percentile would not see it
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	if r.Proposed.Profile == "1g.10gb" {
		t.Error("sized below its peak")
	}
	s = subject(t)
	s.SM.Add(p(0.6), dayMS/50) // two minutes in a hundred
	if r, err = SmallerProfile(s, a100Profiles); err != nil || *r.Need.SM != 0.6 {
		t.Errorf("SM need %v", *r.Need.SM)
	}
	s.Work, s.Runs = Training, 3
	if r, err = SmallerProfile(s, a100Profiles); err != nil || *r.Need.SM != 0.1 {
		t.Errorf("SM need of a batch job %v", *r.Need.SM)
	}
}

// TestFromAnInstance: a smaller instance in place of an instance.
func TestFromAnInstance(t *testing.T) {
	s := subject(t)
	s.HaveSlices, s.HaveSMs = 4, 42
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	passed(t, r, "1g.10gb", "sm", 0.30, true)
	var want money.Nano
	want, _ = part(usd(t, "2190"), 3, 8)
	if *r.Money.ChargeDelta != want {
		t.Errorf("charge %v, want %v", *r.Money.ChargeDelta, want)
	}
}
