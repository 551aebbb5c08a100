// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
)

// NodeCost is what one node costs over a piece of one UTC hour in which its
// price and its shape do not change. It is what allocation divides.
type NodeCost struct {
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	// The piece is [StartMS, StartMS+DurationMS), Unix milliseconds, within one
	// hour of UTC.
	StartMS    int64 `json:"start_ms"`
	DurationMS int64 `json:"duration_ms"`
	// Priced is false where no price is known. All amounts are 0 then and mean
	// nothing: money is unknown, never free. Reason says why, in words.
	Priced   bool           `json:"priced"`
	Reason   string         `json:"reason,omitempty"`
	Currency money.Currency `json:"currency,omitempty"`
	// Total = Σ Slots + CPU + Memory, exactly.
	Total money.Nano `json:"total"`
	// Slots are the GPU slots that are paid for, in order of their names, each
	// once. A slot whose card is missing is still paid for.
	Slots  []SlotCost `json:"slots,omitempty"`
	CPU    money.Nano `json:"cpu"`
	Memory money.Nano `json:"memory"`
	// CPUMilli and MemoryBytes are what the node has: the denominators of the
	// pods' shares of CPU and Memory.
	CPUMilli    int64  `json:"cpu_milli"`
	MemoryBytes uint64 `json:"memory_bytes"`
	Basis       Basis  `json:"basis"`
}

// SlotCost is the part of one GPU slot. A slot is a PCI address as NVML writes
// it ("00000000:3B:00.0"), or, on a node whose slots are not known, "gpu0",
// "gpu1", …: the price belongs to the slot, whatever card is in it.
type SlotCost struct {
	Slot string     `json:"slot"`
	Cost money.Nano `json:"cost"`
}

// Basis says where a price comes from and how it was split, so that a line of
// a bill can be explained.
type Basis struct {
	Grade Grade `json:"grade"`
	// Source names the bill, book or list; Row the row of it; Revision the
	// state of it that was used. Together they find the price again.
	Source   string `json:"source,omitempty"`
	Row      string `json:"row,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Hourly is the price of a whole hour, before it was cut to the piece.
	Hourly money.Nano `json:"hourly"`
	// Split is the id of the rule that split it ("residual", "aws-scad", …).
	Split string `json:"split,omitempty"`
	// Notes say what was out of the ordinary: a fall-back, an estimate.
	Notes []string `json:"notes,omitempty"`
}

// Grade says how far a price can be trusted.
type Grade string

// The grades of money: from a list or a price book, or from a provider's bill.
const (
	Listed Grade = "listed"
	Billed Grade = "billed"
)

// Check returns an error that names the first thing that does not add up.
func (c *NodeCost) Check() error {
	var sum money.Sum
	sum.Add(c.CPU)
	sum.Add(c.Memory)
	for i, s := range c.Slots {
		sum.Add(s.Cost)
		if i > 0 && c.Slots[i-1].Slot >= s.Slot {
			return fmt.Errorf("cost of node %s: slot %q is not after %q", c.Node, s.Slot, c.Slots[i-1].Slot)
		}
	}
	const hour = 3_600_000
	switch total, err := sum.Nano(); {
	case err != nil || total != c.Total:
		return fmt.Errorf("cost of node %s: the parts sum to %s, the total is %s", c.Node, sum, c.Total)
	case !c.Priced && c.Total != 0:
		return fmt.Errorf("cost of node %s: without a price, yet it is %s", c.Node, c.Total)
	case c.DurationMS <= 0 || c.StartMS/hour != (c.StartMS+c.DurationMS-1)/hour:
		return fmt.Errorf("cost of node %s: %d ms from %d is no piece of one hour", c.Node, c.DurationMS, c.StartMS)
	}
	return nil
}
