// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

// TestLevelsAreTimeWeightedMeans: power, its limit and traffic are means over
// the time in which each was read, and what no device can have is not read.
func TestLevelsAreTimeWeightedMeans(t *testing.T) {
	low, high := gpu0(gib), gpu0(gib)
	low.Power.PowerMW, high.Power.PowerMW = ptr(uint64(100_000)), ptr(uint64(300_001))
	low.Power.LimitMW = ptr(uint64(400_000))
	low.Signals.PCIeRxPerS, high.Signals.PCIeRxPerS = ptr(uint64(2_000_000_000)), ptr(^uint64(0))
	low.Signals.FP64Active, low.Signals.FP32Active, low.Signals.FP16Active = ptr(0.125), ptr(0.25), ptr(0.5)
	got := run(t, 20, at(0, low), at(5, high), at(15, gpu0(gib)))[0].Partitions[0]
	var want usage.Signals
	want.FP64Active, want.FP32Active, want.FP16Active = ptr(0.125), ptr(0.25), ptr(0.5)
	want.PCIeRxPerS, want.KnownMS = ptr(uint64(2_000_000_000)), 5000
	if diff := cmp.Diff(want, got.Signals); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
	if got.PowerMW == nil || *got.PowerMW != (100_000*5+300_001*10)/15 || got.PowerLimitMW == nil || *got.PowerLimitMW != 400_000 {
		t.Errorf("power %v of %v", got.PowerMW, got.PowerLimitMW)
	}
}

// TestUnreadLevelsAreLeftOut: a record without them has no field for them, so
// that nobody reads a 0.
func TestUnreadLevelsAreLeftOut(t *testing.T) {
	text, err := json.Marshal(run(t, 5, at(0, gpu0(gib)))[0].Partitions[0])
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"power_mw", "power_limit_mw", "signals"} {
		if v, ok := fields[name]; ok {
			t.Errorf("%s stands as %v", name, v)
		}
	}
}
