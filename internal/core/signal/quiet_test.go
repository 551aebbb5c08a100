// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// quietBatch is a minute of a device in MIG mode, its one instance, and a device
// that is whole; nobody is there.
func quietBatch() *usage.Batch {
	span := usage.Span{DurationMS: minuteMS}
	piece := func(at gpu.PartitionID) usage.PartitionRecord {
		return usage.PartitionRecord{Partition: at, Span: span, MeasuredMS: minuteMS}
	}
	parent, instance, whole := piece(gpu.Whole("GPU-mig")), piece(gpu.PartitionID{Device: "GPU-mig", Instance: 7}), piece(gpu.Whole("GPU-a"))
	parent.MIGParent = true
	parent.PowerMW, whole.PowerMW = p(uint64(80_000)), p(uint64(61_000))
	whole.EnergyMJ = p(uint64(3_600_000)) // 60 W: a counter misses nothing
	return &usage.Batch{Partitions: []usage.PartitionRecord{parent, instance, whole}}
}

// TestQuietOf: only a device without any process, read all of the time, teaches
// its idle power.
func TestQuietOf(t *testing.T) {
	learn := func(device gpu.UUID, change func(*usage.Batch)) *uint64 {
		b := quietBatch()
		if change != nil {
			change(b)
		}
		var known IdlePower
		for range IdleMinMS / minuteMS {
			known.Learn(QuietOf(b)[device])
		}
		return known.MW()
	}
	holder := func(at gpu.PartitionID, present int64, accounted uint64) func(*usage.Batch) {
		return func(b *usage.Batch) {
			b.Holders = []usage.Record{{Partition: at, PresentMS: present, AccountedByteMS: accounted}}
		}
	}
	instance := gpu.PartitionID{Device: "GPU-mig", Instance: 7}
	for _, c := range []struct {
		name   string
		device gpu.UUID
		change func(*usage.Batch)
		want   uint64 // 0: nothing
	}{
		{"by its counter", "GPU-a", nil, 60_000},
		{"by its readings", "GPU-mig", nil, 80_000},
		{"a process on an instance", "GPU-mig", holder(instance, 1, 0), 0},
		{"a process on another device", "GPU-a", holder(instance, 1, 0), 60_000},
		{"a process that accounting alone saw", "GPU-a", holder(gpu.Whole("GPU-a"), 0, 9), 0},
		{"memory of nobody", "GPU-a", func(b *usage.Batch) { b.Partitions[2].UnattributedByteMS = (nameless + 1<<20) * minuteMS }, 0},
		{"a little memory of nobody", "GPU-a", func(b *usage.Batch) { b.Partitions[2].UnattributedByteMS = nameless * minuteMS }, 60_000},
		{"read in part", "GPU-a", func(b *usage.Batch) { b.Partitions[2].MeasuredMS-- }, 0},
		{"no power", "GPU-mig", func(b *usage.Batch) { b.Partitions[0].PowerMW = nil }, 0},
	} {
		got := learn(c.device, c.change)
		if c.want == 0 && got != nil || c.want != 0 && (got == nil || *got != c.want) {
			t.Errorf("%s: idle power %v, want %d", c.name, got, c.want)
		}
	}
}

// TestQuietOfPieces: a window in pieces is one time of the device.
func TestQuietOfPieces(t *testing.T) {
	b := quietBatch()
	first, second := b.Partitions[0], b.Partitions[0]
	first.DurationMS, first.MeasuredMS = 20_000, 20_000
	second.StartMS, second.DurationMS, second.MeasuredMS, second.PowerMW = 20_000, 40_000, 40_000, p(uint64(50_000))
	b.Partitions = []usage.PartitionRecord{first, second}
	if q := QuietOf(b)["GPU-mig"]; q.DurationMS != minuteMS || *q.PowerMW != 60_000 {
		t.Errorf("two pieces: %+v", q)
	}
	b.Partitions[1].PowerMW = nil
	if q := QuietOf(b)["GPU-mig"]; q.PowerMW != nil {
		t.Errorf("a piece without a power: %d mW", *q.PowerMW)
	}
}
