// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"fmt"
	"math/big"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// sums is what a history comes to: one number per name, in any size.
type sums map[string]*big.Int

func (s sums) add(name string, a, b uint64) {
	if s[name] == nil {
		s[name] = new(big.Int)
	}
	s[name].Add(s[name], new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)))
}

func (s sums) String() string {
	zero := new(big.Int)
	for k, v := range s {
		if v.Cmp(zero) == 0 {
			delete(s, k)
		}
	}
	return fmt.Sprint(map[string]*big.Int(s)) // fmt prints maps sorted by key
}

// truth integrates a history the slow way: sample by sample, without windows,
// pieces or sixty-four bits.
func truth(rs []attribution.Result) sums {
	s := sums{}
	for i := 1; i < len(rs); i++ {
		dt := rs[i].MonoMS - rs[i-1].MonoMS
		s.add("time", uint64(dt), 1)
		for _, p := range rs[i-1].Partitions {
			s.partition(p, uint64(dt), dt > 15000)
		}
		for _, p := range rs[i-1].Pods {
			key := "pod " + p.Holder.PodKey()
			s.add(key+" request", uint64(p.CPUMilli), uint64(dt))
			s.add(key+" memory request", uint64(p.MemoryReq), uint64(dt))
			if dt <= 15000 && p.MemoryBytes != nil {
				s.add(key+" memory", *p.MemoryBytes, uint64(dt))
				s.add(key+" present", uint64(dt), 1)
				continue
			}
			s.add(key+" unmeasured", uint64(dt), 1)
		}
	}
	return s
}

func (s sums) partition(p attribution.Partition, dt uint64, gap bool) {
	key := p.ID.String()
	for _, g := range p.Grants {
		s.add(key+" grant "+g.Holder.Pod, dt, 1)
	}
	switch {
	case gap:
		s.add(key+" unmeasured", dt, 1)
		return
	case p.State == gpu.StateLost:
		s.add(key+" unavailable", dt, 1)
		return
	case p.State != gpu.StateOK:
		s.add(key+" unmeasured", dt, 1)
		return
	}
	s.add(key+" measured", dt, 1)
	for _, h := range p.Holdings {
		s.add(key+" present "+h.Holder.Pod, dt, 1)
		if h.Bytes != nil {
			s.add(key+" holds "+h.Holder.Pod, *h.Bytes, dt)
		}
	}
	if p.Capacity == nil {
		s.add(key+" no memory", dt, 1)
		return
	}
	if p.ReserveUnknown {
		s.add(key+" reserve unknown", dt, 1)
	}
	s.add(key+" capacity", *p.Capacity, dt)
	s.add(key+" reserved", *p.Reserved, dt)
	s.add(key+" used", *p.Used, dt)
	s.add(key+" unattributed", *p.Unattributed, dt)
	s.add(key+" free", *p.Free, dt)
}

// recorded sums the same names over batches.
func recorded(bs []usage.Batch) sums {
	s := sums{}
	for _, b := range bs {
		if b.Gap == nil {
			s.add("time", uint64(b.DurationMS), 1)
		}
		for _, p := range b.Partitions {
			key := p.Partition.String()
			for name, v := range map[string]uint64{
				"unmeasured": uint64(p.UnmeasuredMS), "unavailable": uint64(p.UnavailableMS), "measured": uint64(p.MeasuredMS),
				"no memory": uint64(p.NoMemoryMS), "reserve unknown": uint64(p.ReserveUnknownMS), "capacity": p.CapacityByteMS, "reserved": p.ReservedByteMS,
				"used": p.UsedByteMS, "unattributed": p.UnattributedByteMS, "free": p.FreeByteMS,
			} {
				s.add(key+" "+name, v, 1)
			}
		}
		for _, g := range b.Grants {
			s.add(g.Partition.String()+" grant "+g.Grant.Holder.Pod, uint64(g.GrantedMS), 1)
		}
		for _, h := range b.Holders {
			s.add(h.Partition.String()+" present "+h.Holder.Pod, uint64(h.PresentMS), 1)
			s.add(h.Partition.String()+" holds "+h.Holder.Pod, h.ByteMS, 1)
		}
		for _, p := range b.Pods {
			key := "pod " + p.Holder.PodKey()
			s.add(key+" request", uint64(p.CPURequestMilliMS), 1)
			s.add(key+" memory request", p.MemoryRequestByteMS, 1)
			s.add(key+" memory", p.MemoryByteMS, 1)
			s.add(key+" present", uint64(p.PresentMS), 1)
			s.add(key+" unmeasured", uint64(p.UnmeasuredMS), 1)
		}
	}
	return s
}
