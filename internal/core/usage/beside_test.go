// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

func withEnergy(mj uint64) attribution.Partition {
	p := gpu0(gib)
	p.Power.EnergyMJ = &mj
	return p
}

// TestEnergySurvivesAReload: 600 mJ by minute 1, then a reload: 50 counted
// since. The 600 are spread over the time in which they were used.
func TestEnergySurvivesAReload(t *testing.T) {
	bs := run(t, 65, at(54, withEnergy(1000)), at(59, withEnergy(1500)), at(61, withEnergy(1600)), at(64, withEnergy(50)))
	var got []uint64
	for _, b := range bs {
		got = append(got, *b.Partitions[0].EnergyMJ)
	}
	if diff := cmp.Diff([]uint64{550, 100}, got); diff != "" {
		t.Error(diff)
	}
	if e := run(t, 5, at(0, withEnergy(7)))[0].Partitions[0].EnergyMJ; e != nil {
		t.Errorf("one reading of a counter is no energy, got %d", *e)
	}
}

func TestSignalsAreTimeWeightedMeans(t *testing.T) {
	half, full := gpu0(gib), gpu0(gib)
	half.Signals.Busy, full.Signals.Busy = ptr(0.5), ptr(1.0)
	full.Signals.SMActive = ptr(math.NaN())
	s := run(t, 20, at(0, half), at(5, full), at(20, gpu0(gib)))[0].Partitions[0].Signals
	if *s.Busy != 0.875 || s.KnownMS != 20000 || s.SMActive != nil {
		t.Errorf("got %+v", s)
	}
}

func TestEventsAreNotedOnceWhereTheyHappened(t *testing.T) {
	happened := at(60, gpu0(gib))
	happened.Events = map[gpu.UUID][]sample.Event{"GPU-0": {{Kind: "xid", XID: 79}}, "GPU-9": {{Kind: "xid"}}}
	bs := run(t, 65, at(55, gpu0(gib)), happened)
	if len(bs[0].Partitions[0].Events) != 1 || len(bs[1].Partitions[0].Events) != 0 {
		t.Errorf("the event of the first window: %v, %v", bs[0].Partitions[0].Events, bs[1].Partitions[0].Events)
	}
	first := at(0, gpu0(gib))
	first.Events = happened.Events
	if bs := run(t, 5, first); len(bs[0].Partitions[0].Events) != 1 {
		t.Error("an event in the first sample is lost")
	}
}

func TestFindingsMergeWithTheirTime(t *testing.T) {
	leak := attribution.Finding{Kind: attribution.UnallocatedUse, Holder: pod(1), Bytes: ptr(gib)}
	more := leak
	more.Bytes = ptr(2 * gib)
	other := leak
	other.PID = 7
	with := func(sec float64, fs ...attribution.Finding) attribution.Result {
		r := at(sec, gpu0(gib))
		r.Findings = fs
		return r
	}
	bs := run(t, 62, with(50, leak), with(55, more, other), with(60, leak))
	got := []usage.FindingRecord{{Finding: more, ForMS: 10000}, {Finding: other, ForMS: 5000}}
	if diff := cmp.Diff(got, bs[0].Findings); diff != "" {
		t.Error(diff)
	}
	if len(bs[1].Findings) != 1 || bs[1].Findings[0].ForMS != 2000 || *bs[1].Findings[0].Bytes != gib {
		t.Errorf("second window: %+v", bs[1].Findings)
	}
}

func TestPodsUseCPUByCounterAndMemoryByTime(t *testing.T) {
	with := func(sec float64, nanos, mem uint64) attribution.Result {
		r := at(sec)
		r.Pods = []attribution.PodResult{{Holder: pod(1), CPUNanos: &nanos, MemoryBytes: &mem, CPUMilli: 500, MemoryReq: 100}}
		return r
	}
	bs := run(t, 10, with(0, 900, 10), with(2, 1000, 20), with(5, 30, 40))
	want := usage.PodRecord{
		Span: usage.Span{StartMS: noon.UnixMilli(), DurationMS: 10000}, Holder: pod(1), PresentMS: 10000,
		CPUNanos: 130, MemoryByteMS: 10*2000 + 20*3000 + 40*5000, CPURequestMilliMS: 5_000_000, MemoryRequestByteMS: 1_000_000,
	}
	if diff := cmp.Diff([]usage.PodRecord{want}, bs[0].Pods); diff != "" {
		t.Error(diff)
	}
}

// TestAPodThatIsNotReadIsKnownAllTheSame: from 5 s to 8 s nobody could read the
// pod. Its memory then is unknown, its CPU time comes by the counter, and it
// still has its owner, its labels and its requests.
func TestAPodThatIsNotReadIsKnownAllTheSame(t *testing.T) {
	owner := workload.Owner{Kind: "Job", Name: "train"}
	with := func(sec float64, nanos, mem *uint64) attribution.Result {
		r := at(sec)
		r.Pods = []attribution.PodResult{{
			Holder: pod(1), Owner: owner, Labels: map[string]string{"team": "vision"}, CPUNanos: nanos, MemoryBytes: mem, CPUMilli: 500, MemoryReq: 100,
		}}
		return r
	}
	want := usage.PodRecord{
		Span: usage.Span{StartMS: noon.UnixMilli(), DurationMS: 10000}, Holder: pod(1), Owner: owner, Labels: map[string]string{"team": "vision"},
		PresentMS: 7000, UnmeasuredMS: 3000, CPUNanos: 800, MemoryByteMS: 10*5000 + 30*2000, CPURequestMilliMS: 5_000_000, MemoryRequestByteMS: 1_000_000,
	}
	bs := run(t, 10, with(0, ptr(uint64(100)), ptr(uint64(10))), with(5, nil, nil), with(8, ptr(uint64(900)), ptr(uint64(30))))
	if diff := cmp.Diff([]usage.PodRecord{want}, bs[0].Pods); diff != "" {
		t.Error(diff)
	}
	want.PresentMS, want.UnmeasuredMS, want.CPUNanos, want.MemoryByteMS = 0, 10000, 0, 0
	if diff := cmp.Diff([]usage.PodRecord{want}, run(t, 10, with(0, nil, nil), with(5, nil, nil))[0].Pods); diff != "" {
		t.Error("never read:", diff)
	}
}

// TestAccountedStandsBesideTheBalance: a process of 4 GiB lived 2 s between
// two samples; one that was alive at the sample before does not count.
func TestAccountedStandsBesideTheBalance(t *testing.T) {
	lived := gpu0(0)
	lived.Accounted = []sample.Accounted{{PID: 1, MaxMemory: 4 * gib, RunMS: 2000}, {PID: 2, MaxMemory: gib, RunMS: 6000}}
	one := run(t, 10, at(0, gpu0(0)), at(5, lived))[0].Holders
	if len(one) != 1 || one[0].Holder != pod(0) || one[0].AccountedByteMS != 8000*gib || one[0].ByteMS != 0 || one[0].Grade != gpu.Estimated {
		t.Errorf("with one grant: %+v", one)
	}
	shared := lived
	shared.Grants = append(shared.Grants, attribution.Grant{Holder: pod(1), Source: "kubelet"})
	before := shared
	before.Accounted = nil
	two := run(t, 10, at(0, before), at(5, shared))[0].Holders
	if len(two) != 1 || two[0].Holder.Kind != workload.KindUnknown || two[0].AccountedByteMS != 8000*gib {
		t.Errorf("with two grants: %+v", two)
	}
}
