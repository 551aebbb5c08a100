// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// Check verifies what a batch promises: the pieces of each partition lie in
// the window, in order and without overlap; their measured, unmeasured and
// unavailable time is all of their time; every holder and grant lies in a
// piece and within its time; and the bytes of every piece balance exactly
// (invariant B). The error names the first record that breaks a rule.
func (b Batch) Check() error {
	c := checker{batch: &b, pieces: map[pieceKey]*checkedPiece{}}
	for _, step := range []func() error{
		c.header, c.node, c.partitions, c.holders, c.grants, c.balances, c.beside,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("check batch %s/%s/%d: %w", b.Agent, b.Boot, b.Seq, err)
		}
	}
	return nil
}

// node checks what the batch says of the machine.
func (c *checker) node() error {
	b := c.batch
	end := b.StartMS
	for i, s := range b.Unschedulable {
		if err := c.within(s); err != nil {
			return fmt.Errorf("unschedulable[%d]: %w", i, err)
		}
		if s.StartMS < end {
			return fmt.Errorf("unschedulable[%d]: starts at %d, before the one before it ends at %d", i, s.StartMS, end)
		}
		end = s.StartMS + s.DurationMS
	}
	if o := b.Others; o != nil {
		for _, r := range []attribution.Requests{o.Requests, o.Movable} {
			if r.Pods < 0 || r.CPUMilli < 0 {
				return fmt.Errorf("others: pods %d or cpu_milli %d is below 0", r.Pods, r.CPUMilli)
			}
		}
	}
	s := b.Shape
	if s == nil {
		return nil
	}
	if s.CPUMilli < 0 || s.CreatedMS < 0 || s.AllocatableCPUMilli < 0 {
		return fmt.Errorf("shape: cpu_milli %d, allocatable_cpu_milli %d or created_ms %d is below 0", s.CPUMilli, s.AllocatableCPUMilli, s.CreatedMS)
	}
	if !slices.IsSortedFunc(s.Slots, NodeSlot.compare) {
		return fmt.Errorf("shape: slots are not in order")
	}
	return nil
}

type pieceKey struct {
	id gpu.PartitionID
	Span
}

type checkedPiece struct {
	rec     *PartitionRecord
	at      int
	holders map[holderKey]bool
	bytes   Total
}

type checker struct {
	batch  *Batch
	pieces map[pieceKey]*checkedPiece
}

func (c *checker) header() error {
	b := c.batch
	switch {
	case b.Version != BatchVersion:
		return fmt.Errorf("version %d is not %d", b.Version, BatchVersion)
	case b.Seq == 0:
		return fmt.Errorf("sequence number is 0")
	case b.DurationMS <= 0 && b.Gap == nil:
		return fmt.Errorf("duration %d ms is not positive", b.DurationMS)
	}
	return nil
}

func (c *checker) partitions() error {
	var last *PartitionRecord
	for i := range c.batch.Partitions {
		p := &c.batch.Partitions[i]
		where := fmt.Sprintf("partitions[%d] %s", i, p.Partition)
		if err := c.within(p.Span); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if last != nil && last.Partition == p.Partition && last.StartMS+last.DurationMS > p.StartMS {
			return fmt.Errorf("%s: starts at %d, before the piece before it ends at %d", where, p.StartMS, last.StartMS+last.DurationMS)
		}
		if last != nil && last.Partition.Compare(p.Partition) > 0 {
			return fmt.Errorf("%s: out of order after %s", where, last.Partition)
		}
		if err := partitionTimes(p); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		c.pieces[pieceKey{p.Partition, p.Span}] = &checkedPiece{rec: p, at: i, holders: map[holderKey]bool{}}
		last = p
	}
	return nil
}

func (c *checker) within(s Span) error {
	b := c.batch
	if s.DurationMS <= 0 || s.StartMS < b.StartMS || s.StartMS+s.DurationMS > b.StartMS+b.DurationMS {
		return fmt.Errorf("span %d+%d ms is not inside the window %d+%d ms", s.StartMS, s.DurationMS, b.StartMS, b.DurationMS)
	}
	return nil
}

func partitionTimes(p *PartitionRecord) error {
	if n := p.MeasuredMS + p.UnmeasuredMS + p.UnavailableMS; n != p.DurationMS {
		return fmt.Errorf("measured %d + unmeasured %d + unavailable %d ms is not its duration %d ms",
			p.MeasuredMS, p.UnmeasuredMS, p.UnavailableMS, p.DurationMS)
	}
	for _, f := range []struct {
		name string
		ms   int64
	}{
		{"measured_ms", p.MeasuredMS}, {"unmeasured_ms", p.UnmeasuredMS}, {"unavailable_ms", p.UnavailableMS},
		{"no_memory_ms", p.NoMemoryMS}, {"reserve_unknown_ms", p.ReserveUnknownMS}, {"grants_unknown_ms", p.GrantsUnknownMS},
	} {
		if f.ms < 0 || f.ms > p.DurationMS {
			return fmt.Errorf("%s %d is not within its duration %d ms", f.name, f.ms, p.DurationMS)
		}
	}
	if p.NoMemoryMS != 0 && p.NoMemoryMS != p.MeasuredMS {
		return fmt.Errorf("no_memory_ms %d is neither 0 nor measured_ms %d", p.NoMemoryMS, p.MeasuredMS)
	}
	if p.ReserveUnknownMS > p.MeasuredMS-p.NoMemoryMS {
		return fmt.Errorf("reserve_unknown_ms %d is more than the %d ms with a memory reading", p.ReserveUnknownMS, p.MeasuredMS-p.NoMemoryMS)
	}
	if p.UnmeasuredMS+p.UnavailableMS > 0 && len(p.Reasons) == 0 {
		return fmt.Errorf("%d ms without a reading have no reason", p.UnmeasuredMS+p.UnavailableMS)
	}
	return gradeSum(p.GradeMS, p.MeasuredMS)
}

func gradeSum(split map[gpu.Grade]int64, want int64) error {
	if split == nil {
		return nil
	}
	sum := int64(0)
	for _, ms := range split {
		sum += ms
	}
	if sum != want {
		return fmt.Errorf("grade_ms sums to %d, not to %d ms", sum, want)
	}
	return nil
}

func (c *checker) holders() error {
	for i := range c.batch.Holders {
		r := &c.batch.Holders[i]
		if err := c.holder(r); err != nil {
			return fmt.Errorf("holders[%d] %s of %s: %w", i, r.Holder.Account(), r.Partition, err)
		}
	}
	return nil
}

func (c *checker) holder(r *Record) error {
	p := c.pieces[pieceKey{r.Partition, r.Span}]
	if p == nil {
		return fmt.Errorf("span %d+%d ms is no piece of the partition", r.StartMS, r.DurationMS)
	}
	k := holderKey{r.Holder, r.Leak}
	if p.holders[k] {
		return fmt.Errorf("named twice in one piece")
	}
	p.holders[k] = true
	p.bytes.Add(r.ByteMS)
	if r.KnownMS < 0 || r.KnownMS > r.PresentMS || r.PresentMS > p.rec.MeasuredMS {
		return fmt.Errorf("known %d, present %d, measured %d ms do not nest", r.KnownMS, r.PresentMS, p.rec.MeasuredMS)
	}
	hi, lo := bits.Mul64(r.PeakBytes, uint64(r.KnownMS))
	if hi == 0 && r.ByteMS > lo {
		return fmt.Errorf("%d byte-ms is more than its peak %d bytes over %d ms", r.ByteMS, r.PeakBytes, r.KnownMS)
	}
	return gradeSum(r.GradeMS, r.KnownMS)
}

func (c *checker) grants() error {
	for i := range c.batch.Grants {
		g := &c.batch.Grants[i]
		where := fmt.Sprintf("grants[%d] %s on %s", i, g.Grant.Holder.Account(), g.Partition)
		if c.pieces[pieceKey{g.Partition, g.Span}] == nil {
			return fmt.Errorf("%s: span %d+%d ms is no piece of the partition", where, g.StartMS, g.DurationMS)
		}
		if g.GrantedMS < 0 || g.GrantedMS > g.DurationMS {
			return fmt.Errorf("%s: granted %d ms is not within its piece of %d ms", where, g.GrantedMS, g.DurationMS)
		}
	}
	return nil
}

// balances checks invariant B, in 128 bits.
func (c *checker) balances() error {
	for i := range c.batch.Partitions {
		p := &c.batch.Partitions[i]
		if p.NoMemoryMS > 0 {
			if p.CapacityByteMS|p.ReservedByteMS|p.UsedByteMS|p.UnattributedByteMS|p.FreeByteMS != 0 {
				return fmt.Errorf("partitions[%d] %s: has byte sums without a memory reading", i, p.Partition)
			}
			continue
		}
		parts := c.pieces[pieceKey{p.Partition, p.Span}].bytes
		held := parts
		for _, v := range []uint64{p.ReservedByteMS, p.UnattributedByteMS, p.FreeByteMS} {
			parts.Add(v)
		}
		if parts != (Total{lo: p.CapacityByteMS}) {
			return fmt.Errorf("partitions[%d] %s: reserved %d + holders %s + unattributed %d + free %d is not the capacity %d byte-ms",
				i, p.Partition, p.ReservedByteMS, held, p.UnattributedByteMS, p.FreeByteMS, p.CapacityByteMS)
		}
	}
	return nil
}

// beside checks the times of what stands beside the balance.
func (c *checker) beside() error {
	for i, p := range c.batch.Pods {
		if err := c.within(p.Span); err != nil {
			return fmt.Errorf("pods[%d] %s: %w", i, p.Holder.Account(), err)
		}
		if p.PresentMS < 0 || p.UnmeasuredMS < 0 || p.PresentMS+p.UnmeasuredMS > p.DurationMS {
			return fmt.Errorf("pods[%d] %s: present %d + unmeasured %d ms is not within %d ms", i, p.Holder.Account(), p.PresentMS, p.UnmeasuredMS, p.DurationMS)
		}
	}
	for i := range c.batch.Pods {
		if err := checkLabels(c.batch.Pods[i].Labels); err != nil {
			return fmt.Errorf("pods[%d] %s: %w", i, c.batch.Pods[i].Holder.Account(), err)
		}
	}
	for i := range c.batch.Engines {
		e := &c.batch.Engines[i]
		err := c.within(e.Span)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return fmt.Errorf("engines[%d] %s: %w", i, e.Holder.Account(), err)
		}
	}
	for i, f := range c.batch.Findings {
		if f.ForMS < 0 || f.ForMS > c.batch.DurationMS {
			return fmt.Errorf("findings[%d] %s: stood %d ms of a window of %d ms", i, f.Kind, f.ForMS, c.batch.DurationMS)
		}
	}
	return nil
}

// checkLabels bounds what a batch may carry of each pod.
func checkLabels(labels map[string]string) error {
	if len(labels) > attribution.MaxCostLabels {
		return fmt.Errorf("%d labels are more than %d", len(labels), attribution.MaxCostLabels)
	}
	for key, value := range labels {
		if key == "" || value == "" || len(value) > attribution.MaxCostLabelBytes {
			return fmt.Errorf("label %q=%q: key and value may not be empty, and a value has at most %d bytes", key, value, attribution.MaxCostLabelBytes)
		}
	}
	return nil
}
