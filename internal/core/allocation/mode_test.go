// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// TestModeOfAnEntry: an entry has the mode of the windows that it comes from,
// not of the rest of the hour.
func TestModeOfAnEntry(t *testing.T) {
	t.Parallel()
	minutes := func(n int, states ...state) (out []usage.Batch) {
		for range n {
			out = append(out, batch(len(out), states...))
		}
		return out
	}
	after := func(first []usage.Batch, states ...state) []usage.Batch {
		for n := len(first); n < 60; n++ {
			first = append(first, batch(n, states...))
		}
		return first
	}
	free := card0().shared(gpu.ModeNone)
	taken := card0(holds("p", 10000)).granted(exclusive("p")).shared(gpu.ModeExclusive)
	turns := card0(holds("q", 10000)).granted(turn("p", 1), turn("q", 1)).offered(4)
	mig := migCard(0, 4)
	mig[1] = mig[1].shared(gpu.ModeMIG)
	for name, c := range map[string]struct {
		batches []usage.Batch
		want    map[string]gpu.Mode
	}{
		"for ten minutes only": {after(minutes(10, taken), free), map[string]gpu.Mode{"t/p": "exclusive", "idle": "none"}},
		"longest":              {after(minutes(20, turns.shared(gpu.ModeShared)), turns.shared(gpu.ModeMPS)), map[string]gpu.Mode{"t/p": "mps", "t/q": "mps", "idle": "mps"}},
		"by name where equal":  {after(minutes(30, turns.shared(gpu.ModeTimeSlicing)), turns.shared(gpu.ModeMPS)), map[string]gpu.Mode{"t/p": "mps", "t/q": "mps", "idle": "mps"}},
		"what no instance has": {wholeHour(mig...), map[string]gpu.Mode{"t/p0": "mig", "idle": "mig"}},
	} {
		got := map[string]gpu.Mode{}
		res, err := Allocate(Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: c.batches}, Policy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range res.Entries {
			if e.Resource == ResourceGPU {
				got[e.Account] = e.Mode
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
