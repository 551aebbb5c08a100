// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math/bits"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// withMargin is bytes with the margin for what must never be exceeded, rounded
// up. It is false where that is no 64-bit number.
func withMargin(n uint64) (uint64, bool) {
	hi, lo := bits.Mul64(n, marginNum)
	lo, carry := bits.Add64(lo, marginDen-1, 0)
	if hi+carry >= marginDen {
		return 0, false
	}
	q, _ := bits.Div64(hi+carry, lo, marginDen)
	return q, true
}

// memory finds what the workload needs of it, and why that is not known. What a
// program took in advance is a setting and no need.
func (s *Subject) memory(r *Recommendation) (need uint64, ok bool) {
	if s.Engine != "" {
		return s.pooled(r)
	}
	if s.PeakBytes == nil || s.PeakGrade == gpu.Unmeasured || s.PeakGrade == gpu.Skewed || s.PeakGrade == gpu.Indivisible {
		r.Refusals = append(r.Refusals, lack(NoSignal, Say("size_held"), Say("size_grade")))
		return 0, false
	}
	own := *s.PeakBytes
	if s.LeakBytes > own || own > s.Device.CapacityBytes {
		r.Refusals = append(r.Refusals, lack(Skewed, Say("sound_peak", gib(own), gib(s.Device.CapacityBytes), gib(s.LeakBytes)), Say("node_findings")))
		return 0, false
	}
	if s.LeakBytes > 0 {
		own -= s.LeakBytes
		r.Refusals = append(r.Refusals, lack(LeakPresent, Say("leaked", gib(s.LeakBytes)), Say("end_leak")))
	}
	need, ok = withMargin(own)
	r.Need.HardBytes = &need
	r.Evidence = append(r.Evidence, Evidence{"held_bytes", "max", float64(own), "bytes", s.PeakGrade})
	if s.P999Bytes != nil {
		r.Evidence = append(r.Evidence, Evidence{"held_bytes", "p99.9", float64(*s.P999Bytes), "bytes", s.PeakGrade})
	}
	return need, ok
}

// figure takes the percentile of a signal that counts for the work, and records
// it. A signal that was not read for a tenth of the time is not known.
func (s *Subject) figure(r *Recommendation, name string, spread *signal.Spread) (float64, bool) {
	v, ok := spread.Quantile(s.Work.permille())
	read := spread.ReadMS()
	if !ok || float64(read) < MinMeasured*float64(read+spread.UnreadMS) || v > 1 {
		return 0, false
	}
	r.Evidence = append(r.Evidence, Evidence{name, Say("percentile_minutes", s.Work.permille()/10), v, "ratio", gpu.Measured})
	return v, true
}

// work finds what the workload needs of SMs and bandwidth.
func (s *Subject) work(r *Recommendation) (sm, dram float64, ok bool) {
	r.Refusals = append(r.Refusals, s.alone()...)
	if s.Holders > 1 {
		return 0, 0, false
	}
	sm, haveSM := s.figure(r, "sm_active", &s.SM)
	dram, haveDRAM := s.figure(r, "dram_active", &s.DRAM)
	if !haveSM || !haveDRAM {
		r.Refusals = append(r.Refusals, lack(NoSignal, Say("sm_dram"), Say("hopper_them")))
		return 0, 0, false
	}
	r.Need.SM, r.Need.DRAM = &sm, &dram
	return sm, dram, true
}

func gib(n uint64) string { return fmt.Sprintf("%.2f GiB", float64(n)/(1<<30)) }

// memoryTest is need against what there is.
func memoryTest(of string, need, have uint64) Test {
	return Test{Of: of, Name: Say("memory"), Sum: Say("needs", gib(need), gib(have)), Value: float64(need), Limit: float64(have), Unit: "bytes", Holds: need <= have}
}

func test(of, name string, value, limit float64, sum string) Test {
	return Test{Of: of, Name: name, Sum: sum, Value: value, Limit: limit, Holds: value <= limit}
}
