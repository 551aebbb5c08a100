// SPDX-License-Identifier: Apache-2.0

package pricing

// modelMemory are the sizes of memory, in GiB or GB as vendors state them, in
// which a model of GPU is sold. It is there to notice a wrong unit or a wrong
// card in a list of prices, not to know every card: a model that is not here is
// not checked. The longest name that a text contains counts.
var modelMemory = []struct {
	name  string
	sizes []int64
}{
	{"rtx-pro-6000", []int64{96}},
	{"rtx-a6000", []int64{48}},
	{"rtx-6000-ada", []int64{48}},
	{"rtx-4090", []int64{24}},
	{"rtx-5090", []int64{32}},
	{"gb200", []int64{186, 192}},
	{"gb300", []int64{288}},
	{"gh200", []int64{96, 144}},
	{"b300", []int64{268, 288}},
	{"b200", []int64{180, 192}},
	{"h200", []int64{141}},
	{"h100", []int64{64, 80, 94, 96}},
	{"h800", []int64{80}},
	{"h20", []int64{96, 141}},
	{"a100", []int64{40, 80}},
	{"a800", []int64{40, 80}},
	{"a10g", []int64{24}},
	{"a10", []int64{24}},
	{"a16", []int64{16}},
	{"a30", []int64{24}},
	{"a40", []int64{48}},
	{"l40s", []int64{48}},
	{"l40", []int64{48}},
	{"l20", []int64{48}},
	{"l4", []int64{24}},
	{"t4g", []int64{16}},
	{"t4", []int64{16}},
	{"v100", []int64{16, 32}},
	{"p100", []int64{12, 16}},
	{"p40", []int64{24}},
	{"m60", []int64{8}},
	{"k80", []int64{12}},
	{"k520", []int64{4}},
}
