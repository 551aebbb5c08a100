// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"fmt"
	"math/bits"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

const reasonNoSamples = "no samples"

// account is where the time of a reading goes.
type account int

const (
	toUnmeasured account = iota
	toMeasured
	toUnavailable
)

// memory is what a reading says of memory as a whole.
type memory int

const (
	memoryUnread memory = iota // not read at all
	memoryKnown                // capacity and its parts
	memoryNone                 // the device has no such reading
)

// holderKey is one record of a piece.
type holderKey struct {
	workload.Holder
	leak bool
}

func (k holderKey) compare(o holderKey) int {
	if c := k.Holder.Compare(o.Holder); c != 0 || k.leak == o.leak {
		return c
	}
	if k.leak {
		return 1
	}
	return -1
}

// size is what one holder has at this moment.
type size struct {
	key   holderKey
	sum   *holderSum
	bytes uint64
	known bool
	grade rank
	sm    fixed // fixedNone when not sampled
}

// reading is what one partition holds from its sample until the next.
type reading struct {
	account     account
	reason      string
	memory      memory
	grantsKnown bool
	// noReserve: the driver did not tell its reserve.
	noReserve bool
	grade     rank
	capacity, reserved, used,
	unattributed, free uint64
	signals  signalValues
	levels   levelValues
	holdings []size
	// rebind: the holders are not those of the reading before.
	rebind bool
}

// fill takes a partition's figures. A reading that cannot be integrated
// exactly (sizes too large, or parts that do not sum to the capacity) is kept
// as unmeasured with that reason: it never becomes anybody's bytes.
func (r *reading) fill(p *attribution.Partition, limit uint64) {
	r.grantsKnown = p.GrantsKnown
	r.memory, r.reason = memoryUnread, ""
	switch p.State {
	case gpu.StateOK:
		r.account = toMeasured
	case gpu.StateLost:
		r.account, r.reason = toUnavailable, reasonOf(p)
		return
	default:
		r.account, r.reason = toUnmeasured, reasonOf(p)
		return
	}
	r.grade = rankOf(p.Grade)
	r.signals, r.levels = signalsOf(p.Signals), levelsOf(p)
	r.fillSizes(p)
	r.fillHoldings(p.Holdings)
	if why := r.wrong(limit); why != "" {
		r.account, r.memory, r.reason = toUnmeasured, memoryUnread, why
	}
}

func reasonOf(p *attribution.Partition) string {
	if p.Reason != "" {
		return p.Reason
	}
	return "device is " + string(p.State)
}

func (r *reading) fillSizes(p *attribution.Partition) {
	r.memory, r.noReserve = memoryNone, p.ReserveUnknown
	r.capacity, r.reserved, r.used, r.unattributed, r.free = 0, 0, 0, 0, 0
	if p.Capacity == nil {
		return
	}
	r.memory, r.capacity = memoryKnown, *p.Capacity
	r.reserved, r.used = deref(p.Reserved), deref(p.Used)
	r.unattributed, r.free = deref(p.Unattributed), deref(p.Free)
}

func deref(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

// fillHoldings takes the sizes. Where the holders are those of the reading
// before, in the same order, their sums stay bound: the usual case costs no
// hashing.
func (r *reading) fillHoldings(hs []attribution.Holding) {
	if r.sameHolders(hs) {
		for i := range hs {
			r.holdings[i].set(&hs[i])
		}
		return
	}
	r.rebind = true
	r.holdings = r.holdings[:0]
	at := make(map[holderKey]int, len(hs))
	for i := range hs {
		key := holderKey{hs[i].Holder, hs[i].Leak}
		s := size{key: key}
		s.set(&hs[i])
		if j, twice := at[key]; twice {
			r.holdings[j].merge(s)
			continue
		}
		at[key] = len(r.holdings)
		r.holdings = append(r.holdings, s)
	}
}

func (r *reading) sameHolders(hs []attribution.Holding) bool {
	if len(hs) != len(r.holdings) {
		return false
	}
	for i := range hs {
		if r.holdings[i].key.leak != hs[i].Leak || r.holdings[i].key.Holder != hs[i].Holder {
			return false
		}
	}
	return true
}

func (s *size) set(h *attribution.Holding) {
	s.known, s.bytes = h.Bytes != nil, deref(h.Bytes)
	s.grade, s.sm = rankOf(h.Grade), fixedOf(h.SM)
}

// merge adds a second holding of the same holder, which attribution has
// usually merged already.
func (s *size) merge(o size) {
	bytes, carry := bits.Add64(s.bytes, o.bytes, 0)
	if carry != 0 {
		bytes = ^uint64(0)
	}
	s.bytes, s.known, s.grade = bytes, s.known || o.known, max(s.grade, o.grade)
	s.sm = s.sm.plus(o.sm)
}

// wrong says why a reading cannot be integrated, or "".
func (r *reading) wrong(limit uint64) string {
	parts, over := uint64(0), r.used > limit
	add := func(v uint64) {
		var carry uint64
		parts, carry = bits.Add64(parts, v, 0)
		over = over || carry != 0 || parts > limit
	}
	for i := range r.holdings {
		add(r.holdings[i].bytes)
	}
	add(r.reserved)
	add(r.unattributed)
	add(r.free)
	switch {
	case over || r.capacity > limit:
		return fmt.Sprintf("sizes above %d bytes do not fit a window", limit)
	case r.memory == memoryKnown && parts != r.capacity:
		return "parts do not sum to the capacity"
	}
	return ""
}
