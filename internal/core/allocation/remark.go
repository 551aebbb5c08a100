// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
)

// RemarkKind is what was odd.
type RemarkKind string

// The kinds of remark.
const (
	// Duplicate: a batch was given more than once.
	Duplicate RemarkKind = "duplicate_batch"
	// Doubled: more than one record told of the same time: two agents on a
	// node, or a clock that was set back. One of them counts.
	Doubled RemarkKind = "doubled_time"
	// NoSlot: a device is in no slot that is paid for. Its usage is kept, its
	// money unknown.
	NoSlot RemarkKind = "device_without_slot"
)

// Remark is something odd in the input, and what was done about it.
type Remark struct {
	Kind   RemarkKind `json:"kind"`
	Slot   string     `json:"slot,omitempty"`
	Device gpu.UUID   `json:"device,omitempty"`
	MS     int64      `json:"ms,omitempty"`
	Detail string     `json:"detail"`
}

// remark notes what was odd about a slot.
func (r *rater) remark(s seat, doubled int64) {
	if doubled > 0 {
		r.remarks = append(r.remarks, Remark{
			Kind: Doubled, Slot: s.name, Device: s.known, MS: doubled,
			Detail: fmt.Sprintf("for %d ms more than one record tells of this slot: one of them counts", doubled),
		})
	}
	if !s.paid && r.cost.Priced {
		r.remarks = append(r.remarks, Remark{
			Kind: NoSlot, Device: s.known,
			Detail: fmt.Sprintf("the node's cost has %d GPU slots and this device is in none of them", len(r.cost.Slots)),
		})
	}
}
