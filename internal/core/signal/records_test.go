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
