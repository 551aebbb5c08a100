// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

type sampleEvent = sample.Event

func msDuration(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

const gib = uint64(1) << 30

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// gpu0 is an 80 GiB device on which pod 0 holds some, exclusively.
func gpu0(held uint64) attribution.Partition {
	p := attribution.Partition{
		ID: gpu.Whole("GPU-0"), State: gpu.StateOK, Mode: gpu.ModeExclusive, Grade: gpu.Measured, GrantsKnown: true,
		Capacity: ptr(80 * gib), Reserved: ptr(gib), Unattributed: ptr(uint64(0)), Free: ptr(79*gib - held), Used: ptr(held),
		Grants: []attribution.Grant{{Holder: pod(0), Source: "kubelet", Mode: gpu.ModeExclusive, Reserved: gpu.One}},
	}
	if held > 0 {
		p.Holdings = []attribution.Holding{{Holder: pod(0), Bytes: &held, Grade: gpu.Measured}}
	}
	return p
}

// at is a sample at a time after noon, by both clocks.
func at(sec float64, ps ...attribution.Partition) attribution.Result {
	ms := int64(sec * 1000)
	return attribution.Result{Node: "n", MonoMS: 500 + ms, At: noon.Add(msDuration(ms)), Partitions: ps}
}

func checked(t *testing.T, bs []usage.Batch) []usage.Batch {
	t.Helper()
	for _, b := range bs {
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
	}
	return bs
}

// run feeds samples and closes at a last time.
func run(t *testing.T, until float64, rs ...attribution.Result) []usage.Batch {
	t.Helper()
	in := usage.New(testConfig)
	var bs []usage.Batch
	for _, r := range rs {
		bs = append(bs, in.Add(r)...)
	}
	end := at(until)
	return checked(t, append(bs, in.Close(end.MonoMS, end.At)...))
}

// table prints pieces and holders, one a line, times in seconds after noon.
func table(bs []usage.Batch) string {
	var s strings.Builder
	sec := func(x usage.Span) string {
		from := x.StartMS - noon.UnixMilli()
		return fmt.Sprintf("%g..%g", float64(from)/1000, float64(from+x.DurationMS)/1000)
	}
	for _, b := range bs {
		fmt.Fprintf(&s, "window %s\n", sec(usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}))
		for _, p := range b.Partitions {
			fmt.Fprintf(&s, " %s %s ok %d bad %d gone %d %v\n", p.Partition, sec(p.Span), p.MeasuredMS, p.UnmeasuredMS, p.UnavailableMS, p.Reasons)
		}
		for _, h := range b.Holders {
			fmt.Fprintf(&s, " held %s %s: %g GiB s in %d ms, %s\n", h.Holder.Pod, sec(h.Span), float64(h.ByteMS)/float64(gib)/1000, h.PresentMS, h.Grade)
		}
		for _, g := range b.Grants {
			fmt.Fprintf(&s, " grant %s %s\n", g.Grant.Holder.Pod, sec(g.Span))
		}
		for _, f := range b.Findings {
			fmt.Fprintf(&s, " finding %s %d for %d ms\n", f.Kind, f.Count, f.ForMS)
		}
	}
	return s.String()
}

func want(t *testing.T, bs []usage.Batch, text string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(text, "\n"), table(bs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWindowsAlignToMinutesAndSplitTheHeldValue(t *testing.T) {
	bs := run(t, 63, at(50, gpu0(10*gib)), at(54, gpu0(20*gib)), at(58, gpu0(30*gib)), at(62, gpu0(0)))
	want(t, bs, `
window 50..60
 GPU-0 50..60 ok 10000 bad 0 gone 0 []
 held p0 50..60: 180 GiB s in 10000 ms, measured
 grant p0 50..60
window 60..63
 GPU-0 60..63 ok 3000 bad 0 gone 0 []
 held p0 60..63: 60 GiB s in 2000 ms, measured
 grant p0 60..63
`)
}

func TestGrantChangeCutsThePiece(t *testing.T) {
	free := gpu0(10 * gib)
	free.Grants = nil
	free.Holdings[0].Leak = true
	bs := run(t, 15, at(0, gpu0(10*gib)), at(5, gpu0(10*gib)), at(10, free))
	want(t, bs, `
window 0..15
 GPU-0 0..10 ok 10000 bad 0 gone 0 []
 GPU-0 10..15 ok 5000 bad 0 gone 0 []
 held p0 0..10: 100 GiB s in 10000 ms, measured
 held p0 10..15: 50 GiB s in 5000 ms, measured
 grant p0 0..10
`)
	if !bs[0].Holders[1].Leak || bs[0].Holders[0].Leak {
		t.Error("only the second piece is a leak")
	}
}

func TestShapeChangeCutsThePiece(t *testing.T) {
	shared, moved, more := gpu0(0), gpu0(0), gpu0(0)
	shared.Mode = gpu.ModeTimeSlicing
	moved.Placement = gpu.Placement{Start: 4, Size: 4}
	more.Capacity, more.Free = ptr(81*gib), ptr(80*gib)
	for name, p := range map[string]attribution.Partition{"mode": shared, "placement": moved, "capacity": more} {
		bs := run(t, 10, at(0, gpu0(0)), at(5, p))
		if n := len(bs[0].Partitions); n != 2 {
			t.Errorf("another %s: %d pieces, want 2", name, n)
		}
	}
}

func TestPartitionComesAndGoes(t *testing.T) {
	bs := run(t, 20, at(0), at(5, gpu0(0)), at(10), at(15, gpu0(0)))
	want(t, bs, `
window 0..20
 GPU-0 5..10 ok 5000 bad 0 gone 0 []
 GPU-0 15..20 ok 5000 bad 0 gone 0 []
 grant p0 5..10
 grant p0 15..20
`)
}

// TestMoreThanThreeIntervalsIsUnmeasured: exactly three are not too many.
func TestMoreThanThreeIntervalsIsUnmeasured(t *testing.T) {
	want(t, run(t, 15, at(0, gpu0(gib))), `
window 0..15
 GPU-0 0..15 ok 15000 bad 0 gone 0 []
 held p0 0..15: 15 GiB s in 15000 ms, measured
 grant p0 0..15
`)
	want(t, run(t, 61, at(0, gpu0(gib)), at(15.001, gpu0(gib)), at(16, gpu0(gib))), `
window 0..60
 GPU-0 0..60 ok 999 bad 59001 gone 0 [no samples]
 held p0 0..60: 0.999 GiB s in 999 ms, measured
 grant p0 0..60
window 60..61
 GPU-0 60..61 ok 0 bad 1000 gone 0 [no samples]
 grant p0 60..61
`)
}

func TestStatesHaveTheirOwnTime(t *testing.T) {
	hung, lost := gpu0(gib), gpu0(gib)
	hung.State, hung.Reason = gpu.StateHung, "no answer in 2 s"
	lost.State = gpu.StateLost
	want(t, run(t, 20, at(0, gpu0(gib)), at(5, hung), at(10, lost), at(15, gpu0(gib))), `
window 0..20
 GPU-0 0..20 ok 10000 bad 5000 gone 5000 [device is lost no answer in 2 s]
 held p0 0..20: 10 GiB s in 10000 ms, measured
 grant p0 0..20
`)
}

func TestClockStepEndsTheWindowAndIsFound(t *testing.T) {
	for _, hour := range []float64{1, -1} {
		back := at(10, gpu0(gib))
		back.At = back.At.Add(time.Duration(hour) * time.Hour)
		bs := run(t, 15, at(0, gpu0(gib)), back)
		// Close sees the true clock again: a second step.
		s := hour * 3600
		want(t, bs, fmt.Sprintf(`
window 0..10
 GPU-0 0..10 ok 10000 bad 0 gone 0 []
 held p0 0..10: 10 GiB s in 10000 ms, measured
 grant p0 0..10
 finding clock_step %d for 0 ms
window %g..%g
 GPU-0 %g..%g ok 5000 bad 0 gone 0 []
 held p0 %g..%g: 5 GiB s in 5000 ms, measured
 grant p0 %g..%g
 finding clock_step %d for 0 ms
`, int64(s)*1000, s+10, s+15, s+10, s+15, s+10, s+15, s+10, s+15, -int64(s)*1000))
	}
}

// TestSmallStepsCannotAddUp: each is under the tolerance, together they are
// not, and the label never strays by more than a second.
func TestSmallStepsCannotAddUp(t *testing.T) {
	in, found := usage.New(testConfig), 0
	for i := range 20 {
		r := at(float64(i), gpu0(gib))
		r.At = r.At.Add(msDuration(int64(i) * 300))
		for _, b := range checked(t, in.Add(r)) {
			found += len(b.Findings)
		}
	}
	if found != 4 {
		t.Errorf("19 steps of 0.3 s gave %d findings, want 4", found)
	}
}

func TestOlderSampleIsRejected(t *testing.T) {
	in := usage.New(testConfig)
	in.Add(at(10, gpu0(gib)))
	in.Add(at(9, gpu0(gib)))
	if in.Rejected() != 1 {
		t.Errorf("rejected %d samples, want 1", in.Rejected())
	}
}

func TestUnknownSizeIsPresentButNotKnown(t *testing.T) {
	p := gpu0(gib)
	p.Holdings[0].Bytes, p.Unattributed = nil, ptr(gib)
	h := run(t, 5, at(0, p))[0].Holders[0]
	if h.PresentMS != 5000 || h.KnownMS != 0 || h.ByteMS != 0 || h.Grade != gpu.Unmeasured {
		t.Errorf("got %+v", h)
	}
}

func TestGradesAreSplitByTime(t *testing.T) {
	est := gpu0(gib)
	est.Holdings[0].Grade = gpu.Estimated
	h := run(t, 5, at(0, gpu0(gib)), at(3, est))[0].Holders[0]
	wantMS := map[gpu.Grade]int64{gpu.Measured: 3000, gpu.Estimated: 2000}
	if h.Grade != gpu.Estimated || !cmp.Equal(h.GradeMS, wantMS) {
		t.Errorf("grade %s, split %v", h.Grade, h.GradeMS)
	}
}

// TestImpossibleReadingsAreUnmeasured: neither a wrap nor a wrong balance ever
// becomes somebody's bytes.
func TestImpossibleReadingsAreUnmeasured(t *testing.T) {
	huge, odd := gpu0(0), gpu0(gib)
	huge.Capacity, huge.Free = ptr(uint64(math.MaxUint64)/60000+1), ptr(uint64(math.MaxUint64)/60000+1-gib)
	odd.Free = ptr(uint64(1))
	for _, p := range []attribution.Partition{huge, odd} {
		rec := run(t, 5, at(0, p))[0].Partitions[0]
		if rec.UnmeasuredMS != 5000 || len(rec.Reasons) != 1 || rec.CapacityByteMS != 0 {
			t.Errorf("got %+v", rec)
		}
	}
}

func TestNoMemoryReadingHasPieceOfItsOwn(t *testing.T) {
	uma := gpu0(gib)
	uma.Capacity, uma.Reserved, uma.Unattributed, uma.Free, uma.Used = nil, nil, nil, nil, nil
	b := run(t, 10, at(0, uma), at(5, gpu0(gib)))[0]
	if len(b.Partitions) != 2 || b.Partitions[0].NoMemoryMS != 5000 || b.Partitions[0].CapacityBytes != nil || b.Partitions[1].NoMemoryMS != 0 {
		t.Fatalf("got %+v", b.Partitions)
	}
	if b.Holders[0].ByteMS != gib*5000 {
		t.Error("sizes of processes are kept where the device has none")
	}
}

// TestFirstWindowIsShort: the first window may end early, and those after it end at the
// minute as ever; one whose boundary comes soon anyway is left alone.
func TestFirstWindowIsShort(t *testing.T) {
	for _, x := range []struct {
		from float64
		want string
	}{
		{20, "20..30 30..60 60..120 120..130"},
		{45, "45..60 60..120 120..130"},
		{39, "39..49 49..60 60..120 120..130"},
		{40, "40..60 60..120 120..130"},
	} {
		cfg := testConfig
		cfg.FirstMS = 10_000
		in := usage.New(cfg)
		var bs []usage.Batch
		for sec := x.from; sec < 130; sec += 4 {
			bs = append(bs, in.Add(at(sec))...)
		}
		end := at(130)
		var got []string
		for _, b := range checked(t, append(bs, in.Close(end.MonoMS, end.At)...)) {
			from := b.StartMS - noon.UnixMilli()
			got = append(got, fmt.Sprintf("%d..%d", from/1000, (from+b.DurationMS)/1000))
		}
		if s := strings.Join(got, " "); s != x.want {
			t.Errorf("from %g: windows %s, want %s", x.from, s, x.want)
		}
	}
}
