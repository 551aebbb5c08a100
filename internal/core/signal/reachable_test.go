// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestClassesFromRecords: an hour of records, as agents write them, comes to the
// classes that need the FP pipes, the power and its limit, or the traffic.
func TestClassesFromRecords(t *testing.T) {
	all := func(active, sm, tensor, dram, fp float64, rx uint64) sample.Signals {
		return sample.Signals{Busy: &active, EngineActive: &active, SMActive: &sm, TensorActive: &tensor, DRAMActive: &dram,
			FP64Active: p(0.0), FP32Active: &fp, FP16Active: p(0.0), PCIeRxPerS: &rx}
	}
	for _, c := range []struct {
		name    string
		signals sample.Signals
		watts   uint64
		class   Class
		input   bool
	}{
		{"decoding", all(1, 1, 0.005, 0.706, 0.05, 0), 290, MemoryBound, false},
		{"a hang", all(1, 0.009, 0, 0, 0.001, 0), 90, SuspectStall, false},
		{"loading", all(0.05, 0.02, 0.01, 0.02, 0.01, 6_000_000_000), 90, Waiting, true},
		{"waiting", all(0.05, 0.02, 0.01, 0.02, 0.01, 6_000_000), 90, Waiting, false},
		{"FP32 alone", all(1, 0.9, 0, 0.1, 0.6, 0), 350, ComputeBound, false},
	} {
		at, hour := gpu.Whole("GPU-a"), Hour{DurationMS: 60 * minuteMS, IdleMW: p(uint64(60_000))}
		for i := range int64(60) {
			span := usage.Span{StartMS: i * minuteMS, DurationMS: minuteMS}
			part := usage.PartitionRecord{Partition: at, Span: span, MeasuredMS: minuteMS, Grade: gpu.Measured,
				PowerMW: p(c.watts * 1000), PowerLimitMW: p(uint64(400_000))}
			part.Signals.Signals = c.signals
			w, ok := OfPod("u", part, []usage.Record{{Partition: at, Span: span, Holder: workload.Holder{Kind: workload.KindPod, PodUID: "u"},
				PresentMS: minuteMS, KnownMS: minuteMS, PeakBytes: 1, Grade: gpu.Measured}}, nil)
			if !ok {
				t.Fatal("no window")
			}
			hour.Windows = append(hour.Windows, w)
		}
		if v := Classify(hour); v.Class != c.class || v.WaitsForInput != c.input {
			t.Errorf("%s: %+v, want %s, waits for input: %v", c.name, v, c.class, c.input)
		}
	}
}
