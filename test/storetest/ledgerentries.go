// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"math/big"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

func nano(n int64) money.Nano { return money.Nano(n) }

// shareOf is a share of a slot's cost by time: the other part is what is left.
func shareOf(slot pricing.SlotCost, ms int64, rest bool) money.Nano {
	n := new(big.Int).Mul(big.NewInt(int64(slot.Cost)), big.NewInt(ms))
	part := money.Nano(n.Div(n, big.NewInt(3_600_000)).Int64())
	if rest {
		n := new(big.Int).Mul(big.NewInt(int64(slot.Cost)), big.NewInt(3_600_000-ms))
		part = slot.Cost - money.Nano(n.Div(n, big.NewInt(3_600_000)).Int64())
	}
	return part
}

// podEntry is what a pod on a GPU is charged for so many milliseconds of it.
func podEntry(h ledger.NodeHour, g int, slot pricing.SlotCost, ms int64, basis *pricing.Basis) allocation.Entry {
	amount := shareOf(slot, ms, false)
	e := allocation.Entry{
		ID: id(h, g, "pod"), Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: h.HourMS, DurationMS: 3_600_000,
		Resource: allocation.ResourceGPU, Slot: slot.Slot, Partition: gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%s-%d", h.Node, g))),
		Kind: allocation.Direct, Account: fmt.Sprintf("ns-%d/train-%d", g%3, g), Policy: "held", Model: "NVIDIA H100", Amount: &amount, Currency: "USD", Basis: basis,
		Holder: workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("%s-%d", h.Node, g), Namespace: fmt.Sprintf("ns-%d", g%3), Pod: fmt.Sprintf("train-%d", g)},
		Quantities: allocation.Quantities{ShareMS: ms, UsedMS: ms / 2, UnusedMS: ms / 4, Grade: gpu.Estimated,
			GradeMS: map[gpu.Grade]int64{gpu.Measured: ms - 1000, gpu.Estimated: 1000}, PresentMS: ms, GrantedMS: 3_600_000},
	}
	e.ByteMS.Add(uint64(ms) << 36)
	return e
}

// idleEntry is the rest of a slot.
func idleEntry(h ledger.NodeHour, g int, slot pricing.SlotCost, ms int64, basis *pricing.Basis) allocation.Entry {
	amount := shareOf(slot, ms, true)
	return allocation.Entry{
		ID: id(h, g, "idle"), Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: h.HourMS, DurationMS: 3_600_000,
		Resource: allocation.ResourceGPU, Slot: slot.Slot, Partition: gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%s-%d", h.Node, g))),
		Kind: allocation.Platform, Account: allocation.Idle, Policy: "held", Model: "NVIDIA H100", Amount: &amount, Currency: "USD", Basis: basis,
		Quantities: allocation.Quantities{ShareMS: ms, Grade: gpu.Derived},
	}
}
