// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// A reserve that the driver does not tell is marked, and its bytes have a class.
func TestUnknownReserveIsMarked(t *testing.T) {
	for _, unknown := range []bool{false, true} {
		s := node(0, holds(1, 4))
		s.Devices[0].Memory = &sample.Memory{Total: 40 << 30, Used: 5 << 30, ReserveUnknown: unknown}
		p := New(Policy{}).Attribute(s).Partitions[0]
		if p.ReserveUnknown != unknown || *p.Reserved != 0 || *p.Unattributed != 1<<30 {
			t.Errorf("unknown %v: marked %v, reserve %d, unattributed %d", unknown, p.ReserveUnknown, *p.Reserved, *p.Unattributed)
		}
		if want := map[bool]gpu.Grade{true: gpu.Estimated, false: gpu.Measured}[unknown]; p.Grade != want {
			t.Errorf("unknown %v: grade %s, want %s", unknown, p.Grade, want)
		}
	}
}
