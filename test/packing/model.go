// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

// model is a card with MIG as NVIDIA's guide has it, on a node of a made-up price.
type model struct {
	name   string
	slices uint32
	gib    uint64 // of the whole card
	// names are its profiles in the order of gpu.LegalPlacements, and tenths of GiB
	// that their instances have.
	names  []string
	tenths []uint64
	cards  int // of a node
	cents  int64
}

// models are all that can be split. Where the guide gives no size of a profile,
// its share of the card stands in.
var models = []model{
	{"A100-SXM4-40GB", 8, 40, []string{"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}, []uint64{47, 96, 96, 195, 195, 392}, 8, 1800},
	{"A100-SXM4-80GB", 8, 80, []string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}, []uint64{96, 195, 195, 392, 392, 790}, 8, 2400},
	{"A30", 4, 24, []string{"1g.6gb", "2g.12gb", "4g.24gb"}, []uint64{57, 114, 228}, 4, 400},
	{"H100-PCIe-80GB", 8, 80, []string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}, []uint64{96, 196, 196, 395, 395, 792}, 4, 1600},
	{"H100-NVL-94GB", 8, 94, []string{"1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"}, []uint64{107, 216, 216, 463, 463, 930}, 4, 1720},
	{"H100-96GB", 8, 96, []string{"1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"}, []uint64{110, 222, 222, 475, 475, 950}, 8, 3900},
	{"GH200-144GB", 8, 144, []string{"1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"}, []uint64{175, 352, 352, 710, 710, 1420}, 1, 600},
	{"H200-141GB", 8, 141, []string{"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}, []uint64{160, 322, 322, 695, 695, 1400}, 8, 4400},
	{"B200-180GB", 8, 180, []string{"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"}, []uint64{205, 442, 442, 890, 890, 1780}, 8, 6000},
	{"GB200-186GB", 8, 186, []string{"1g.24gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"}, []uint64{200, 455, 455, 920, 920, 1840}, 4, 3400},
	{"B300-288GB", 8, 288, []string{"1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb"}, []uint64{330, 660, 660, 1340, 1340, 2680}, 8, 8000},
	{"RTX-PRO-6000-96GB", 4, 96, []string{"1g.24gb", "2g.48gb", "4g.96gb"}, []uint64{231, 473, 950}, 8, 1500},
}

// profiles are what NVML offers on such a card.
func (m *model) profiles() (out []packing.Profile) {
	for i, l := range gpu.LegalPlacements(m.slices) {
		out = append(out, packing.Profile{Name: m.names[i], Bytes: m.tenths[i] * (1 << 30) / 10, Placements: l.Placements})
	}
	return out
}

// cpuMilli and memoryBytes are of a node for each of its cards.
const (
	cpuMilli    = int64(16_000)
	memoryBytes = int64(128) << 30
)

func (m *model) hour(percent int64) *money.Nano {
	return new(money.Nano(m.cents*percent) * (money.Unit / 10_000))
}
