// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// DigestRecords is the SHA-256, in hex, of the batches that an hour was rated
// from, whatever order they come in and however often each. A batch is never
// changed once it was named by its agent, boot and number: the digest is of the
// names, and of a fold of the figures of each, which notices what was done to them
// since at a fraction of what a rating takes.
func DigestRecords(batches []usage.Batch) string {
	order := make([]int, len(batches))
	for i := range order {
		order[i] = i
	}
	compare := func(i, j int) int {
		a, b := &batches[i], &batches[j]
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Boot, b.Boot), cmp.Compare(a.Seq, b.Seq))
	}
	slices.SortStableFunc(order, compare)
	h := sha256.New()
	var line []byte
	for n, i := range order {
		if n > 0 && compare(order[n-1], i) == 0 {
			continue
		}
		line = digestLine(line[:0], &batches[i])
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digestLine is a batch's name, and its figures folded. Texts have their length before them, so
// that no two lists of them give one line.
func digestLine(b []byte, of *usage.Batch) []byte {
	for _, text := range []string{of.Agent, of.Boot, of.Cluster, of.Node, of.ProviderID} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	number := func(n uint64) { b = binary.BigEndian.AppendUint64(b, n) }
	number(of.Seq)
	number(uint64(of.StartMS))
	number(uint64(of.DurationMS))
	number(uint64(of.IntervalMS))
	number(uint64(folded(of)))
	return b
}

// fold is a running hash of numbers and texts (FNV-1a, with eight bytes at a time):
// fast, and enough to notice a change that nobody made to fool it.
type fold uint64

func (f *fold) numbers(ns ...uint64) {
	for _, n := range ns {
		*f = (*f ^ fold(n)) * 1099511628211
	}
}

func (f *fold) text(s string) {
	h, length := *f, len(s)
	for ; len(s) >= 8; s = s[8:] {
		eight := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		h = (h ^ fold(eight)) * 1099511628211
	}
	for i := range len(s) {
		h = (h ^ fold(s[i])) * 1099511628211
	}
	*f = (h ^ fold(length)) * 1099511628211
}

func (f *fold) partition(p *gpu.PartitionID) {
	f.text(string(p.Device))
	f.numbers(uint64(p.Instance), uint64(p.SinceMS))
}

func (f *fold) holder(h *workload.Holder) {
	f.text(string(h.Kind))
	f.text(h.PodUID)
	f.text(h.Pod)
	f.text(h.Unit)
}

// folded is the figures of a batch that a charge can come from.
func folded(b *usage.Batch) fold {
	f := fold(14695981039346656037)
	for i := range b.Partitions {
		p := &b.Partitions[i]
		f.partition(&p.Partition)
		f.text(string(p.Mode))
		f.text(p.Slot)
		f.numbers(uint64(p.StartMS), uint64(p.DurationMS), uint64(p.MeasuredMS), uint64(p.UnavailableMS), uint64(p.GrantsUnknownMS), p.CapacityByteMS, p.ReservedByteMS,
			p.UnattributedByteMS, uint64(p.Slices), uint64(p.StrandedSlices))
	}
	for i := range b.Holders {
		h := &b.Holders[i]
		f.partition(&h.Partition)
		f.holder(&h.Holder)
		f.numbers(uint64(h.StartMS), uint64(h.PresentMS), uint64(h.KnownMS), h.ByteMS)
	}
	for i := range b.Grants {
		g := &b.Grants[i]
		f.partition(&g.Partition)
		f.holder(&g.Grant.Holder)
		f.numbers(uint64(g.StartMS), uint64(g.GrantedMS), g.Grant.Reserved.Num, g.Grant.Reserved.Den, uint64(g.Grant.Replicas))
		if g.Grant.ReservedBytes != nil {
			f.numbers(*g.Grant.ReservedBytes)
		}
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		f.holder(&p.Holder)
		f.numbers(uint64(p.StartMS), uint64(p.PresentMS), p.CPUNanos, p.MemoryByteMS, uint64(p.CPURequestMilliMS), p.MemoryRequestByteMS)
	}
	return f
}
