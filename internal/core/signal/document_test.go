// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The card of docs/utilization.md: an A100 SXM with 80 GB, by NVIDIA's data
// sheet: SMs, warps that fit one, dense bf16 TFLOP/s, GB/s, watts.
const (
	cardSMs   = 108
	cardWarps = 64
	cardTFLOP = 312
	cardGBs   = 2039
	cardWatts = 400
	idleWatts = 60
)

// load is work on that card, from which its signals follow by their definitions.
type load struct {
	name   string
	active float64 // share of time in which kernels ran
	sms    float64 // SMs with a warp, while they ran
	warps  float64 // warps on each of these
	tflops float64 // on the tensor pipes, over all of the time
	gbs    float64 // of device memory, over all of the time
	fp     float64 // activity of the busiest FP pipe
	watts  float64
}

// A model of 8 billion bf16 parameters: each step of decoding reads all weights
// once and costs two operations per parameter and sequence.
const (
	parameters = 8e9
	steps      = 90
)

func decoding(batch float64) (tflops, gbs float64) {
	return 2 * parameters * steps * batch / 1e12, 2 * parameters * steps / 1e9
}

func loads() []load {
	one, read := decoding(1)
	many, _ := decoding(32)
	return []load{
		{"one thread in an endless loop, 90 W", 1, 1, 1, 0, 0, 0.001, 90},
		{"the same at 150 W", 1, 1, 1, 0, 0, 0.001, 150},
		{"kernels of full width, 14 % of the time", 0.14, 108, 32, 35, 90, 0.01, 140},
		{"kernels on 15 of 108 SMs, all the time", 1, 15, 32, 35, 90, 0.01, 140},
		{"many small kernels (training, batch too small)", 1, 13, 20, 3, 100, 0.02, 152},
		{"decoding 8 B parameters, one sequence", 1, 108, 24, one, read, 0.05, 290},
		{"decoding 8 B parameters, 32 sequences", 1, 108, 24, many, read, 0.08, 310},
		{"adding two vectors", 1, 108, 64, 0, 1550, 0.03, 280},
		{"large matrix products", 0.97, 104, 16, 190, 700, 0.03, 390},
		{"a model is loaded, nobody asks", 0, 0, 0, 0, 0, 0, 75},
	}
}

// window is a minute of the load.
func (l load) window() Window {
	width := l.active * l.sms / cardSMs
	w := full(gr(l.active), sm(width), tensor(l.tflops/cardTFLOP), dram(l.gbs/cardGBs), fp(l.fp),
		power(uint64(l.watts*1000), cardWatts*1000))
	w.SMOccupancy = p(width * l.warps / cardWarps)
	return w
}

// row is the load's line in the document.
func (l load) row() string {
	w := l.window()
	v := Classify(hour(w))
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.0f W | `%s` (%d) |", l.name, percent(*w.Busy), percent(*w.SMActive),
		percent(*w.SMOccupancy), percent(*w.TensorActive), percent(*w.DRAMActive), l.watts, v.Class, v.Rule)
}

func percent(v float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", v*100), ".0") + " %" }

// sights are the rows on what can be known where.
func sights() []struct {
	where string
	sight Sight
} {
	return []struct {
		where string
		sight Sight
	}{
		{"NVML alone: T4, V100, A10, L4, L40S, A100 and A30 whole", Sight{Activity: true}},
		{"NVML alone: MIG instance of an A100 or A30", Sight{}},
		{"counters without the FP pipes", Sight{Activity: true, SM: true, DRAM: true, Tensor: true}},
		{"GPM as the agent reads it: Hopper and later, MIG instance", Sight{Activity: true, SM: true, DRAM: true, Tensor: true, FP: true}},
		{"GPM as the agent reads it: whole device, power limit and idle power known", Sight{true, true, true, true, true, true}},
	}
}

func sightRow(where string, s Sight) string {
	var names []string
	for _, c := range Reach(s) {
		if c != Unknown {
			names = append(names, "`"+string(c)+"`")
		}
	}
	return "| " + where + " | " + strings.Join(names, ", ") + " |"
}

// ruleLines are the sentences of the document that carry a threshold.
func ruleLines() []string {
	return []string{
		fmt.Sprintf("| 0 | less than %s of the time measured, or several holders, or reads that disagree | `unknown`, with the reason |", percent(MinMeasured)),
		fmt.Sprintf("| 3 | active < %s | `waiting`; waiting for input where more than %d GB/s came over PCIe |", percent(WaitingBelow), InputFrom/1_000_000_000),
		fmt.Sprintf("| 5 | active ≥ %s; SM, tensor and DRAM each < %s of it; power < idle + %s of (limit − idle); for %d minutes on end | `suspect-stall` |",
			percent(StallActive), percent(StallWork), percent(StallPower), StallMS/60_000),
		fmt.Sprintf("| 6 | DRAM* ≥ %s, and no less than tensor* and FP* | `memory-bound` |", percent(MemoryFrom)),
		fmt.Sprintf("| 7 | tensor* or FP* ≥ %s, and SM* ≥ %s | `compute-bound` |", percent(ComputeFrom), percent(ComputeSM)),
		fmt.Sprintf("| 8 | active ≥ %s and SM* < %s | `launch-bound` |", percent(LaunchActive), percent(LaunchSM)),
		fmt.Sprintf("A star is the signal divided by activity; DRAM also by %s and tensor by %s, which is as far as they go.", percent(DRAMPeak), percent(TensorPeak)),
		fmt.Sprintf("It counts as known after %d minutes of such time.", IdleMinMS/60_000),
	}
}

// sentences are the other figures that the document works out.
func sentences() []string {
	one, read := decoding(1)
	many, _ := decoding(32)
	return []string{
		fmt.Sprintf("%d steps a second read %.0f GB/s, which is %s of the data sheet's %d GB/s and %s of what can be reached.",
			steps, read, percent(read/cardGBs), cardGBs, percent(read/cardGBs/DRAMPeak)),
		fmt.Sprintf("One sequence does %.1f TFLOP/s, 32 do %.0f: the same busy, SM and DRAM figures for %.0f times the tokens.", one, many, many/one),
		fmt.Sprintf("a kernel that filled %d SMs may take up to %d/14 = %.1f times as long on the 14 of a 1g instance", cardSMs, cardSMs, cardSMs/14.0),
		fmt.Sprintf("Three 1g instances at 100 %%, 100 %% and 50 %% are (1 + 1 + 0.5) / 7 = %s of the GPU.", percent(2.5/7)),
		fmt.Sprintf("Three pods that share a GPU which is 90 %% busy are 90 %% busy together, not %d %%.", 3*90),
	}
}

// TestDocument: every figure of docs/utilization.md is worked out here.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../../docs/utilization.md")
	if err != nil {
		t.Fatal(err)
	}
	want := append(ruleLines(), sentences()...)
	for _, l := range loads() {
		want = append(want, l.row())
	}
	for _, s := range sights() {
		want = append(want, sightRow(s.where, s.sight))
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	for _, line := range want {
		if !strings.Contains(text, strings.Join(strings.Fields(line), " ")) {
			t.Errorf("docs/utilization.md lacks:\n%s", line)
		}
	}
	for _, c := range Classes() {
		if !strings.Contains(text, "`"+string(c)+"`") {
			t.Errorf("docs/utilization.md does not name %s", c)
		}
	}
}
