// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestOfPod: a piece of a window as one pod saw it.
func TestOfPod(t *testing.T) {
	at, other := gpu.Whole("GPU-a"), gpu.Whole("GPU-b")
	span := usage.Span{StartMS: 1000, DurationMS: minuteMS}
	part := usage.PartitionRecord{Partition: at, Span: span, MeasuredMS: minuteMS, Grade: gpu.Measured, EnergyMJ: p(uint64(6_000_000))}
	part.Signals.Busy = p(0.5)
	record := func(kind workload.Kind, uid string, where gpu.PartitionID, peak uint64) usage.Record {
		return usage.Record{Partition: where, Span: span, Holder: workload.Holder{Kind: kind, PodUID: uid}, PresentMS: minuteMS, KnownMS: minuteMS, PeakBytes: peak, Grade: gpu.Measured}
	}
	grant := func(uid string, admin bool) usage.GrantRecord {
		return usage.GrantRecord{Partition: at, Span: span, GrantedMS: minuteMS, Grant: attribution.Grant{Holder: workload.Holder{Kind: workload.KindPod, PodUID: uid}, Admin: admin}}
	}
	held := []usage.Record{record(workload.KindPod, "u1", at, 3), record(workload.KindPod, "u1", at, 4), record(workload.KindPod, "u2", other, 9), record(workload.KindDaemon, "d", at, 1)}
	w, ok := OfPod("u1", part, held, nil)
	if !ok || !w.Running || *w.PeakBytes != 7 || w.Holders != 1 || *w.PowerMW != 100_000 || *w.Busy != 0.5 || w.StartMS != 1000 {
		t.Errorf("a leak of two containers: %+v, %v", w, ok)
	}
	w, ok = OfPod("u3", part, held, []usage.GrantRecord{grant("u3", false)})
	if !ok || w.Running || *w.PeakBytes != 0 || w.Holders != 2 {
		t.Errorf("a grant without a process beside another pod: %+v, %v", w, ok)
	}
	if _, ok = OfPod("u2", part, held, []usage.GrantRecord{grant("u2", true)}); ok {
		t.Error("admin access and a process elsewhere are no time on the partition")
	}
	held[1].KnownMS, held[1].Grade = 0, gpu.Unmeasured
	held = append(held, record(workload.KindHost, "", at, 1))
	w, _ = OfPod("u1", part, held, nil)
	if w.PeakBytes != nil || w.Grade != gpu.Unmeasured || w.Holders != 2 {
		t.Errorf("a size that is not known, beside a host process: %+v", w)
	}
}

// TestOfPodSignals: what the rules 3 and 5 to 7 need comes from the records.
func TestOfPodSignals(t *testing.T) {
	at := gpu.Whole("GPU-a")
	part := usage.PartitionRecord{Partition: at, Span: usage.Span{DurationMS: minuteMS}, MeasuredMS: minuteMS, Grade: gpu.Measured,
		PowerMW: p(uint64(90_000)), PowerLimitMW: p(uint64(400_000))}
	s := &part.Signals.Signals
	s.FP64Active, s.FP32Active, s.FP16Active, s.PCIeRxPerS = p(0.1), p(0.3), p(0.2), p(uint64(5))
	held := []usage.Record{{Partition: at, Holder: workload.Holder{Kind: workload.KindPod, PodUID: "u"}, PresentMS: minuteMS, KnownMS: minuteMS, Grade: gpu.Measured}}
	w, _ := OfPod("u", part, held, nil)
	if *w.FPActive != 0.3 || *w.PCIeRxPerS != 5 || *w.PowerMW != 90_000 || *w.LimitMW != 400_000 {
		t.Errorf("signals: %+v", w)
	}
	s.FP64Active = nil
	if w, _ = OfPod("u", part, held, nil); w.FPActive != nil {
		t.Errorf("a pipe that is not read may be the busiest: %v", *w.FPActive)
	}
	// What a counter grew by before a device could be read again is not of this time.
	part.EnergyMJ, part.MeasuredMS, part.UnmeasuredMS = p(uint64(900_000_000)), minuteMS/2, minuteMS/2
	if w, _ = OfPod("u", part, held, nil); *w.PowerMW != 90_000 {
		t.Errorf("power of a window read in part: %d mW", *w.PowerMW)
	}
}
