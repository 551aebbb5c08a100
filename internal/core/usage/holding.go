// SPDX-License-Identifier: Apache-2.0

package usage

import "github.com/gputally/gputally/internal/core/gpu"

// holderSum adds up what one holder has on one partition in one piece.
type holderSum struct {
	key                holderKey
	presentMS, knownMS int64
	byteMS, peak       uint64
	grades             gradeTimes
	sm, smMS           int64
	accounted          uint64
}

// add counts dt milliseconds of a size. The product cannot wrap: see reading.
func (h *holderSum) add(s *size, dt int64) {
	h.presentMS += dt
	if s.known {
		h.knownMS += dt
		h.byteMS += s.bytes * uint64(dt)
		h.peak = max(h.peak, s.bytes)
		h.grades[s.grade] += dt
	}
	if s.sm != fixedNone {
		h.sm += int64(s.sm) * dt
		h.smMS += dt
	}
}

func (h *holderSum) record(id gpu.PartitionID, span Span) Record {
	r := Record{
		Partition: id, Span: span, Holder: h.key.Holder, Leak: h.key.leak,
		PresentMS: h.presentMS, KnownMS: h.knownMS, ByteMS: h.byteMS, PeakBytes: h.peak,
		SMMS: float64(h.sm) / fixedOne, SMKnownMS: h.smMS, AccountedByteMS: h.accounted,
	}
	r.Grade, r.GradeMS = h.grades.worst()
	if h.presentMS == 0 && h.accounted > 0 {
		r.Grade = gpu.Estimated
	}
	return r
}
