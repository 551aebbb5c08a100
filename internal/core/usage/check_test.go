// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/usage"
)

func podRecord(b *usage.Batch, labels map[string]string) usage.PodRecord {
	return usage.PodRecord{Span: usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}, Holder: pod(0), Labels: labels}
}

// TestCheckNamesWhatIsBroken breaks a sound batch in one place at a time.
func TestCheckNamesWhatIsBroken(t *testing.T) {
	for _, c := range []struct {
		says  string
		spoil func(b *usage.Batch)
	}{
		{"version 9", func(b *usage.Batch) { b.Version = 9 }},
		{"sequence number", func(b *usage.Batch) { b.Seq = 0 }},
		{"not positive", func(b *usage.Batch) { b.DurationMS = 0 }},
		{"partitions[0] GPU-0: reserved", func(b *usage.Batch) { b.Partitions[0].FreeByteMS++ }},
		{"partitions[0] GPU-0: reserved", func(b *usage.Batch) { b.Holders[0].ByteMS-- }},
		{"partitions[0] GPU-0: measured", func(b *usage.Batch) { b.Partitions[0].MeasuredMS-- }},
		{"measured_ms 10001", func(b *usage.Batch) { b.Partitions[0].UnavailableMS, b.Partitions[0].MeasuredMS = -1, 10001 }},
		{"no reason", func(b *usage.Batch) { b.Partitions[0].UnmeasuredMS, b.Partitions[0].MeasuredMS = 1, 9999 }},
		{"no_memory_ms", func(b *usage.Batch) { b.Partitions[0].NoMemoryMS = 1 }},
		{"without a memory reading", func(b *usage.Batch) { b.Partitions[0].NoMemoryMS = 10000 }},
		{"partitions[1] GPU-0: starts at", func(b *usage.Batch) { b.Partitions[1].StartMS-- }},
		{"not inside the window", func(b *usage.Batch) { b.Partitions[1].DurationMS++ }},
		{"out of order", func(b *usage.Batch) { b.Partitions[1].Partition.Device = "A" }},
		{"holders[0] ns/p0 of GPU-0: span", func(b *usage.Batch) { b.Holders[0].DurationMS++ }},
		{"do not nest", func(b *usage.Batch) { b.Holders[0].PresentMS-- }},
		{"more than its peak", func(b *usage.Batch) { b.Holders[0].PeakBytes-- }},
		{"named twice", func(b *usage.Batch) { b.Holders = append(b.Holders, b.Holders[0]) }},
		{"grants[0] ns/p0 on GPU-0: span", func(b *usage.Batch) { b.Grants[0].StartMS++ }},
		{"unschedulable[0]: span", func(b *usage.Batch) { b.Unschedulable = []usage.Span{{StartMS: b.StartMS - 1, DurationMS: 5}} }},
		{"unschedulable[1]: starts at", func(b *usage.Batch) {
			b.Unschedulable = []usage.Span{{StartMS: b.StartMS, DurationMS: 5}, {StartMS: b.StartMS + 4, DurationMS: 5}}
		}},
		{"cpu_milli -1", func(b *usage.Batch) { b.Shape = &usage.NodeShape{CPUMilli: -1} }},
		{"slots are not in order", func(b *usage.Batch) { b.Shape = &usage.NodeShape{Slots: []usage.NodeSlot{{Slot: "b"}, {Slot: "a"}}} }},
		{"pods[0] ns/p0: label \"team\"=\"\"", func(b *usage.Batch) { b.Pods = append(b.Pods, podRecord(b, map[string]string{"team": ""})) }},
		{"at most 256 bytes", func(b *usage.Batch) {
			b.Pods = append(b.Pods, podRecord(b, map[string]string{"team": strings.Repeat("x", 257)}))
		}},
		{"17 labels are more than 16", func(b *usage.Batch) {
			labels := map[string]string{}
			for i := range 17 {
				labels[string(rune('a'+i))] = "x"
			}
			b.Pods = append(b.Pods, podRecord(b, labels))
		}},
		{"granted", func(b *usage.Batch) { b.Grants[0].GrantedMS = 1 << 40 }},
	} {
		free := gpu0(gib)
		free.Grants = nil
		b := run(t, 15, at(0, gpu0(gib)), at(10, free))[0]
		c.spoil(&b)
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want an error with %q, got %v", c.says, err)
		}
	}
}
