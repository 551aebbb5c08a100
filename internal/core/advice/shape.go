// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
)

// Shape is a node with one other card, from the price book.
type Shape struct {
	Name string
	Device
	NodeHour money.Nano
	PriceRef string
	// HostFits: its cores, memory and links are enough.
	HostFits bool
}

// OtherShape proposes the cheapest node on which the workload's need fits, where
// it has a node of its own now. minCapability is the compute capability times
// ten that its number formats want: 80 for bf16, 89 for fp8.
func OtherShape(s Subject, shapes []Shape, minCapability int) (Recommendation, error) {
	r := begin(KindShape, &s)
	r.Refusals = s.gates()
	if s.GPUs > 1 {
		r.Refusals = append(r.Refusals, lack(MultiGPU, Say("one_gpu"), Say("links")))
	}
	need, haveNeed := s.memory(&r)
	_, dram, haveWork := s.work(&r)
	tensor, haveTensor := s.figure(&r, "tensor_active", &s.Tensor)
	switch {
	case s.Price == nil:
		r.Refusals = append(r.Refusals, noPrice())
		return r.refuse(), nil
	case haveWork && (!haveTensor || s.Device.Bandwidth <= 0 || s.Device.Tensor <= 0):
		r.Refusals = append(r.Refusals, lack(NoSignal, Say("tensor"), Say("hopper_it")))
	}
	if !haveNeed || blocked(r.Refusals) {
		return r.refuse(), nil
	}
	shapes = slices.Clone(shapes)
	slices.SortFunc(shapes, func(a, b Shape) int {
		return cmp.Or(cmp.Compare(a.NodeHour, b.NodeHour), cmp.Compare(a.Name, b.Name))
	})
	best, old := (*Shape)(nil), false
	for i := range shapes {
		c := &shapes[i]
		if c.NodeHour >= s.Price.NodeHour {
			break
		}
		old = old || c.Capability < minCapability
		tests := s.runsOn(c, need, dram, tensor, minCapability)
		r.Tests = append(r.Tests, tests...)
		if best == nil && !slices.ContainsFunc(tests, func(t Test) bool { return !t.Holds }) {
			best = c
		}
	}
	if best == nil {
		return r.refuse(noShape(old)), nil
	}
	r.Refusals = append(r.Refusals, s.latency()...)
	r.Risk = Risk{SlowdownBound: max(s.Device.Bandwidth/best.Bandwidth, s.Device.Tensor/best.Tensor), Restart: true,
		Notes: []string{Say("other_kernels"), Say("to_be_had")}}
	saved, err := month(s.Price.NodeHour - best.NodeHour)
	if err != nil {
		return r, err
	}
	m := s.Price.money(Cash)
	m.PriceRef = best.PriceRef
	m.ChargeDelta, m.CashLow, m.CashMean = &saved, saved, saved
	return r.finish(&s, Change{Model: best.Name, Count: 1}, m), nil
}

func noShape(old bool) Refusal {
	if old {
		return lack(ArchUnsupported, Say("cheaper_knows"), Say("card_tests"))
	}
	return lack(NoFit, Say("cheaper_card"), Say("card_tests"))
}

func (s *Subject) runsOn(c *Shape, need uint64, dram, tensor float64, minCapability int) []Test {
	moved := dram * s.Device.Bandwidth
	computed := tensor * s.Device.Tensor
	host := 1.0
	if c.HostFits {
		host = 0
	}
	return []Test{
		test(c.Name, Say("capability"), float64(minCapability), float64(c.Capability), Say("times_ten")),
		memoryTest(c.Name, need, c.CapacityBytes-min(c.ReserveBytes, c.CapacityBytes)),
		test(c.Name, "dram", over(moved, signal.DRAMPeak*c.Bandwidth), LoadMost, fmt.Sprintf("%.0f GB/s / (%.2f × %.0f GB/s)", moved, signal.DRAMPeak, c.Bandwidth)),
		test(c.Name, "tensor", over(computed, c.Device.Tensor), TensorMost, fmt.Sprintf("%.1f / %.0f TFLOP/s", computed, c.Device.Tensor)),
		test(c.Name, Say("host_missing"), host, 0, ""),
	}
}

// over is a / b, and too much of anything where b is not known.
func over(a, b float64) float64 {
	if b <= 0 {
		return 1e9
	}
	return a / b
}
