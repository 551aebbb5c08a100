// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// OfPod is one piece of a window as the pod saw it: the partition's record, what
// was held there and who was granted it, all of the same span. It is false where
// the pod had neither a grant nor a process in it.
func OfPod(podKey string, part usage.PartitionRecord, held []usage.Record, grants []usage.GrantRecord) (Window, bool) {
	w := Window{StartMS: part.StartMS, DurationMS: part.DurationMS, MeasuredMS: part.MeasuredMS,
		Grade: part.Grade, Signals: part.Signals.Signals, FPActive: busiestPipe(&part.Signals.Signals),
		PowerMW: meanPower(&part), LimitMW: part.PowerLimitMW}
	mine, others := whose(podKey, part.Partition, held)
	if len(mine) == 0 && !granted(podKey, part.Partition, grants) {
		return Window{}, false
	}
	w.Holders = 1 + len(others)
	if len(mine) > 0 {
		w.Running, w.PeakBytes, w.Grade = true, peak(mine), worst(mine)
	} else {
		w.PeakBytes = new(uint64)
	}
	return w, true
}

// whose parts the pod's own holdings from the other holders' names. Daemons are
// platform overhead and do not share a partition with anybody.
func whose(podKey string, at gpu.PartitionID, held []usage.Record) (mine []usage.Record, others map[string]bool) {
	others = map[string]bool{}
	for _, r := range held {
		switch {
		case r.Partition != at || r.PresentMS == 0:
		case r.Holder.Kind == workload.KindPod && r.Holder.PodKey() == podKey:
			mine = append(mine, r)
		case r.Holder.Kind == workload.KindPod:
			others[r.Holder.PodKey()] = true
		case r.Holder.Kind != workload.KindDaemon:
			others[string(r.Holder.Kind)+" "+r.Holder.Unit] = true
		}
	}
	return mine, others
}

func granted(podKey string, at gpu.PartitionID, grants []usage.GrantRecord) bool {
	for _, g := range grants {
		if g.Partition == at && g.Grant.Holder.PodKey() == podKey && !g.Grant.Admin && g.GrantedMS > 0 {
			return true
		}
	}
	return false
}

// peak is the sum of the containers' peaks, which need not have been at one
// time: an upper bound. It is nil where a size was not known all the time.
func peak(mine []usage.Record) *uint64 {
	var sum uint64
	for _, r := range mine {
		if r.KnownMS < r.PresentMS {
			return nil
		}
		sum += r.PeakBytes
	}
	return &sum
}

func worst(mine []usage.Record) gpu.Grade {
	grade := mine[0].Grade
	for _, r := range mine[1:] {
		if r.Grade.Rank() > grade.Rank() {
			grade = r.Grade
		}
	}
	return grade
}

// busiestPipe is the activity of the busiest of the three FP pipes, nil where
// one of them is not read: that one may be the busiest.
func busiestPipe(s *sample.Signals) *float64 {
	if s.FP64Active == nil || s.FP32Active == nil || s.FP16Active == nil {
		return nil
	}
	v := max(*s.FP64Active, *s.FP32Active, *s.FP16Active)
	return &v
}

// meanPower is energy over time where all of the time was read, since a counter
// misses nothing; else the mean of the readings. A millijoule a millisecond is a
// watt. What a counter grew by while the device could not be read stands in the
// record in which it could again, and would be too much there.
func meanPower(part *usage.PartitionRecord) *uint64 {
	if part.EnergyMJ == nil || part.MeasuredMS <= 0 || part.MeasuredMS < part.DurationMS {
		return part.PowerMW
	}
	mw := *part.EnergyMJ * 1000 / uint64(part.MeasuredMS)
	return &mw
}
