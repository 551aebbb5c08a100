// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// TestExplain: what was asked for, what was given, and what that makes of the
// cost, for a card that is fought over: 0.25 leaked, two halves granted, the
// driver's reserve.
func TestExplain(t *testing.T) {
	t.Parallel()
	card := card0(leaked("x", 10000), holds("a", 10000)).granted(grantOf("a", gpu.ModeFraction, half(1, 2)), grantOf("b", gpu.ModeFraction, half(1, 2)))
	card.reserve = 400
	h := Hour{Costs: []pricing.NodeCost{costOf(12*money.Unit, 1)}, Batches: wholeHour(card)}
	lines, err := Explain(h, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	minutes := func(r *big.Rat) string { return new(big.Rat).Quo(r, big.NewRat(minuteMS, 1)).FloatString(2) }
	for _, l := range lines {
		got = append(got, fmt.Sprintf("%s %s: held %s reserved %s unused %s; for held %s, unused %s, other %s = %s of %d; %s of %s",
			l.Entry.Account, l.Entry.Kind, minutes(l.Held), minutes(l.Reserved), minutes(l.Unused), minutes(l.ForHeld), minutes(l.ForUnused),
			minutes(l.ForOther), minutes(l.Weight), l.Of/minuteMS, new(big.Rat).Quo(l.Exact, big.NewRat(int64(money.Unit), 1)).FloatString(2), *l.Cost))
	}
	want := []string{
		"t/a direct: held 15.00 reserved 30.00 unused 15.00; for held 15.00, unused 10.00, other 0.00 = 25.00 of 60; 5.00 of 12.00",
		"t/b direct: held 0.00 reserved 30.00 unused 30.00; for held 0.00, unused 20.00, other 0.00 = 20.00 of 60; 4.00 of 12.00",
		"t/x leak: held 15.00 reserved 0.00 unused 0.00; for held 15.00, unused 0.00, other 0.00 = 15.00 of 60; 3.00 of 12.00",
		"overhead platform: held 0.60 reserved 0.00 unused 0.00; for held 0.00, unused 0.00, other 0.00 = 0.00 of 60; 0.00 of 12.00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
