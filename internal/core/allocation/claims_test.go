// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// TestUnits: units are as fine as the reservations need, and no finer than sums
// can hold.
func TestUnits(t *testing.T) {
	t.Parallel()
	const card = uint64(80<<30) * minuteMS // byte-milliseconds of a minute: 53 bits
	for _, tc := range []struct {
		total  uint64
		grants []granted
		want   uint64
	}{
		{card, []granted{{share: gpu.One, size: 1}}, 1},
		{card, []granted{{share: half(1, 4), size: 1}, {share: half(40<<30, 80<<30), size: 1}}, 1},
		{card, []granted{{share: half(1, 7), size: 1}, {share: half(1, 3), size: 1}}, 7}, // a minute has threes
		{card, []granted{{share: half(1, 7), size: 2}}, 14},
		{60_001, []granted{{share: half(5, 8), size: 1}, {share: half(1, 12), size: 1}}, 24},
		{card, []granted{{share: half(1, 1<<62-57), size: 1}}, 1 << 27},
		{1<<40 + 3, []granted{{share: half(1, 1<<62+1), size: 4}}, 1 << 39}, // 4 times that wraps
		{60_001, []granted{{share: half(1, 1<<62-57), size: 7}}, 1 << 63},
	} {
		c := claims{grants: tc.grants}
		if got := c.scale(tc.total); got != tc.want {
			t.Errorf("%d by %v: %d times finer, want %d", tc.total, tc.grants, got, tc.want)
		}
	}
}

// TestTwoGrantsOfOnePodCountOnce, in whatever order they are listed.
func TestTwoGrantsOfOnePodCountOnce(t *testing.T) {
	t.Parallel()
	part, own := grantOf("a", gpu.ModeFraction, half(1, 4)), claimed("a")
	for _, grants := range [][]attribution.Grant{
		{part, exclusive("a"), own, claimed("b")}, {own, claimed("b"), exclusive("a"), part}, {exclusive("a"), own, part, claimed("b")},
	} {
		h := Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0(holds("b", 20000)).granted(grants...))}
		if diff := cmp.Diff(bill{"t/a": "0.25", "t/b": "0.75"}, charged(t, h, Policy{})); diff != "" {
			t.Errorf("%v (-want +got):\n%s", grants, diff)
		}
	}
}
