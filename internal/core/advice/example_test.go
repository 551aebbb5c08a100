// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
)

// TestExample1: an embedding server on a whole A100 goes to a slice. Its charge
// falls, capacity is freed, and the invoice stays what it is.
func TestExample1(t *testing.T) {
	r, err := SmallerProfile(subject(t), a100Profiles)
	advised(t, r, err)
	if r.Proposed.Profile != "1g.10gb" || r.Confidence != Low || math.Abs(r.Risk.SlowdownBound-7.714) > 0.001 {
		t.Errorf("%+v, %s, bound %v", r.Proposed, r.Confidence, r.Risk.SlowdownBound)
	}
	if got, ok := withMargin(gb(6.4)); !ok || *r.Need.HardBytes != got || math.Abs(float64(got)/(1<<30)-7.36) > 1e-6 {
		t.Errorf("need %d, want 7.36 GiB", *r.Need.HardBytes)
	}
	passed(t, r, "1g.10gb", "sm", 0.77, true)
	passed(t, r, "1g.10gb", "dram", 0.60, true)
	cashIs(t, r.Money, Capacity, "1916.25", "1916.25", "0")
	if r.Money.FreedStranded != 0 {
		t.Errorf("one slice at the start strands nothing, got %v", r.Money.FreedStranded)
	}
	same, _ := SmallerProfile(subject(t), a100Profiles)
	a, _ := json.Marshal(r)
	b, _ := json.Marshal(same)
	if string(a) != string(b) {
		t.Errorf("not the same twice:\n%s\n%s", a, b)
	}
}

// TestExample2And12: the seven together with a training job that moves give a
// node back. The plan has the cash, its members have none, and a reservation
// leaves nothing until it ends.
func TestExample2And12(t *testing.T) {
	var members []Recommendation
	for i := range 7 {
		s := subject(t)
		s.Target.Partitions = []string{"GPU-" + string(rune('1'+i))}
		r, err := SmallerProfile(s, a100Profiles)
		advised(t, r, err)
		if r.Money.CashMean != 0 {
			t.Error("a single one has cash")
		}
		members = append(members, r)
	}
	b := Node{Name: "B", Hour: usd(t, "24")}
	plan, inside, err := MakePlan(members, []Node{b}, nil, "USD", 0)
	if err != nil || plan.Cash != usd(t, "17520") || plan.Class != Cash || len(plan.Members) != 7 {
		t.Fatalf("%+v, %v", plan, err)
	}
	for _, r := range inside {
		if r.PlanID != plan.ID || r.Money.CashMean != 0 {
			t.Errorf("a member has %v of its own", r.Money.CashMean)
		}
	}
	var taken []gpu.Placement
	for i := range uint32(7) {
		taken = append(taken, gpu.Placement{Start: i, Size: 1})
	}
	if n := gpu.Stranded(8, nil, taken); n != 1 {
		t.Errorf("seven slices strand %d", n)
	}
	if stranded, err := part(usd(t, "3"), 1, 8); err != nil || stranded != usd(t, "0.375") {
		t.Errorf("an hour of it is %v, %v", stranded, err)
	}
	if total, err := TotalCash([]Plan{plan}); err != nil || total != usd(t, "17520") {
		t.Errorf("total %v, %v", total, err)
	}
	if _, err := TotalCash([]Plan{plan, plan}); err == nil {
		t.Error("node B was given back twice")
	}
	b.CommittedUntilMS = 1
	plan, _, err = MakePlan(members, []Node{b}, nil, "USD", 0)
	if err != nil || plan.Cash != 0 || plan.Class != Capacity || len(plan.Refusals) != 1 || plan.Refusals[0].Code != Committed {
		t.Errorf("committed: %+v, %v", plan, err)
	}
	no, _ := SmallerProfile(Subject{}, nil)
	if _, _, err := MakePlan([]Recommendation{no}, nil, nil, "USD", 0); err == nil {
		t.Error("a refusal is in a plan")
	}
}

// vllm is example 3's server: a pool of which a fifth is used.
func vllm(t *testing.T) Subject {
	s := subject(t)
	s.Engine, s.Current.Fraction = "vLLM", "0.92"
	s.SM, s.DRAM, s.PeakBytes = level(0.55), level(0.35), p(gb(72.82))
	s.Pool = &Pool{TotalBytes: gb(79.15), FixedBytes: gb(17.4), PoolBytes: gb(55.42), RequestBytes: gb(1), UsageMax: p(0.22), HitRate: p(0.05), Scrapes: 10_000, Expected: 10_000}
	return s
}

// TestExample3: a smaller pool saves nobody anything by itself, and a slice is
// too small for its work.
func TestExample3(t *testing.T) {
	s := vllm(t)
	r, err := SmallerPool(s)
	advised(t, r, err)
	demand := float64(*r.Need.HardBytes+*r.Need.SoftBytes) / (1 << 30)
	if r.Proposed.Fraction != "0.42" || math.Abs(demand-32.64) > 0.005 {
		t.Errorf("fraction %s, demand %.3f GiB", r.Proposed.Fraction, demand)
	}
	if freed := r.Evidence[len(r.Evidence)-1]; math.Abs(freed.Value/(1<<30)-39.58) > 0.005 {
		t.Errorf("freed inside the grant: %+v", freed)
	}
	cashIs(t, r.Money, Enabler, "0", "0", "0")
	profile, err := SmallerProfile(s, a100Profiles)
	refused(t, profile, err, NoFit)
	passed(t, profile, "3g.40gb", "dram", 0.875, false)
	passed(t, profile, "3g.40gb", "sm", 1.41, false)
	s.Pool.RequestBytes = gb(30)
	if r, _ = SmallerPool(s); *r.Need.SoftBytes != gb(30) {
		t.Error("one request of the greatest length must fit")
	}
	s.Pool.UsageMax = p(0.95)
	r, err = SmallerPool(s)
	refused(t, r, err, NoFit)
}

// TestExample4And5: low usage is no room when requests wait, when a prefix cache
// earns its keep, or when nobody told.
func TestExample4And5(t *testing.T) {
	for _, c := range []struct {
		code Code
		set  func(*Subject)
	}{
		{Saturated, func(s *Subject) { s.Pool.Waiting, s.Pool.Preemptions = 200, 40 }},
		{Saturated, func(s *Subject) { s.Pool.Waiting = 11 }},
		{Saturated, func(s *Subject) { s.Pool.Preemptions = 1 }},
		{PrefixCache, func(s *Subject) { s.Pool.UsageMax, s.Pool.HitRate = p(0.15), p(0.72) }},
		{PrefixCache, func(s *Subject) { s.Pool.HitRate = p(0.2) }},
		{PrefixCache, func(s *Subject) { s.Pool.HitRate = nil }},
		{Coverage, func(s *Subject) { s.Pool.Scrapes = 8_999 }},
		{PreallocatedUnknown, func(s *Subject) { s.Pool.UsageMax = nil }},
		{PreallocatedUnknown, func(s *Subject) { s.Engine, s.Pool = "TensorFlow", nil }},
	} {
		s := vllm(t)
		c.set(&s)
		r, err := SmallerPool(s)
		refused(t, r, err, c.code)
		r, err = SmallerProfile(s, a100Profiles)
		refused(t, r, err, c.code)
	}
	s := vllm(t)
	s.Pool.Waiting = 10
	r, err := SmallerPool(s)
	advised(t, r, err)
}

// TestExample6: 100 % busy is no need. Without SM activity nothing is said of it.
func TestExample6(t *testing.T) {
	s := subject(t)
	s.Work, s.Runs = Training, 3
	s.SM, s.DRAM, s.PeakBytes = level(0.12), level(0.05), p(gb(30))
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	if r.Proposed.Profile != "3g.40gb" || r.Class != signal.LaunchBound {
		t.Errorf("%s, %s", r.Proposed.Profile, r.Class)
	}
	passed(t, r, "3g.40gb", "sm", 0.31, true)
	passed(t, r, "3g.40gb", "dram", 0.125, true)
	s.SM, s.DRAM = signal.Spread{}, signal.Spread{}
	r, err = SmallerProfile(s, a100Profiles)
	refused(t, r, err, NoSignal)
	if r.Need.HardBytes == nil {
		t.Error("memory is known all the same")
	}
}

// TestExample8: a GPU that was granted and never used is a fact, and no number
// is proposed. Little use is none.
func TestExample8(t *testing.T) {
	s := subject(t)
	s.GPUs, s.ToMS, s.GrantedMS, s.MeasuredMS = 8, 14*dayMS, 14*dayMS, 14*dayMS
	uses := make([]PartitionUse, 8)
	for i := range uses {
		uses[i] = PartitionUse{Partition: "GPU-" + string(rune('0'+i)), PeakBytes: p(gb(60)), BusyMost: p(0.01), Holders: 1}
	}
	r, err := FewerGPUs(s, uses)
	refused(t, r, err, NoFit)
	uses[7].PeakBytes, uses[7].BusyMost = p(uint64(0)), p(0.0)
	r, err = FewerGPUs(s, uses)
	advised(t, r, err)
	if r.Proposed.Count != 0 || len(r.Proposed.With) != 1 || r.Proposed.With[0] != "GPU-7" {
		t.Errorf("%+v", r.Proposed)
	}
	cashIs(t, r.Money, Capacity, "2190", "2190", "0")
	all := slices.Repeat([]PartitionUse{uses[7]}, 2)
	all[1].Partition = "GPU-8"
	r, err = FewerGPUs(s, all)
	advised(t, r, err)
	cashIs(t, r.Money, Capacity, "4380", "4380", "0")
	s.HaveSlices = 2 // of 8: an instance
	r, err = FewerGPUs(s, all[:1])
	advised(t, r, err)
	cashIs(t, r.Money, Capacity, "547.5", "547.5", "0")
	s.HaveSlices = 0
	uses[7].Holders = 2
	r, err = FewerGPUs(s, uses)
	refused(t, r, err, Indivisible)
	uses[7].Holders, uses[7].BusyMost = 1, nil
	r, err = FewerGPUs(s, uses)
	refused(t, r, err, NoSignal)
}

// TestExample9To14: what is refused whatever is asked.
func TestExample9To14(t *testing.T) {
	for _, c := range []struct {
		code Code
		set  func(*Subject)
	}{
		{Indivisible, func(s *Subject) { s.Holders = 2 }},
		{Coverage, func(s *Subject) { s.MeasuredMS = s.GrantedMS / 100 * 55 }},
		{Skewed, func(s *Subject) { s.SkewedMS = s.MeasuredMS / 5 }},
		{NotEnoughHistory, func(s *Subject) { s.ToMS = 14*dayMS - 1 }},
		{NotEnoughHistory, func(s *Subject) { s.Work, s.Runs = Training, 2 }},
		{ChangedWorkload, func(s *Subject) { s.Changed = true }},
		{OptedOut, func(s *Subject) { s.OptedOut = "benchmark until 2027-01-01" }},
		{SuspectStall, func(s *Subject) { s.Classes = append(s.Classes, ClassTime{signal.SuspectStall, 1}) }},
		{MultiGPU, func(s *Subject) { s.GPUs = 2 }},
		{Graphics, func(s *Subject) { s.Graphics = true }},
		{MIGUnsupported, func(s *Subject) { s.Device.Slices = 0 }},
		{MIGUnsupported, func(s *Subject) { s.IPC = true }},
		{NoSignal, func(s *Subject) { s.PeakBytes = nil }},
		{NoSignal, func(s *Subject) { s.SM = level(1.29) }},
		{NoSignal, func(s *Subject) { s.DRAM.UnreadMS = dayMS }},
		{Skewed, func(s *Subject) { s.PeakBytes = p(gb(80)) }},
	} {
		s := subject(t)
		c.set(&s)
		r, err := SmallerProfile(s, a100Profiles)
		refused(t, r, err, c.code)
	}
}

// TestExample13: a leak of another is not this one's need.
func TestExample13(t *testing.T) {
	s := subject(t)
	s.PeakBytes, s.LeakBytes = p(gb(28)), gb(20)
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	want, _ := withMargin(gb(8))
	if *r.Need.HardBytes != want || r.Proposed.Profile != "1g.10gb" || codes(r)[0] != LeakPresent {
		t.Errorf("need %d, %s, %v", *r.Need.HardBytes, r.Proposed.Profile, codes(r))
	}
}

// TestConfidenceIsAWord: high takes measured memory, twice the period, one
// class, and a latency that is declared.
func TestConfidenceIsAWord(t *testing.T) {
	for _, c := range []struct {
		want Confidence
		set  func(*Subject)
	}{
		{High, func(*Subject) {}},
		{Medium, func(s *Subject) { s.ToMS = 27 * dayMS }},
		{Medium, func(s *Subject) { s.Classes = append(s.Classes, ClassTime{signal.Mixed, 8 * dayMS}) }},
		{Medium, func(s *Subject) { s.PeakGrade = gpu.Derived }},
		{Low, func(s *Subject) { s.LatencyDeclared = false }},
		{Low, func(s *Subject) { s.PeakGrade = gpu.Estimated }},
	} {
		s := subject(t)
		s.LatencyDeclared = true
		c.set(&s)
		r, err := SmallerProfile(s, a100Profiles)
		advised(t, r, err)
		if r.Confidence != c.want {
			t.Errorf("%s, want %s", r.Confidence, c.want)
		}
	}
}

// TestWithoutAPrice: advice, and no money rather than 0.
func TestWithoutAPrice(t *testing.T) {
	s := subject(t)
	s.Price = nil
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	if r.Money != nil || codes(r)[len(codes(r))-1] != NoPrice {
		t.Errorf("%+v, %v", r.Money, codes(r))
	}
	s.Price = &Price{DeviceHour: money.Nano(math.MaxInt64 / 2)}
	if _, err := SmallerProfile(s, a100Profiles); err == nil {
		t.Error("a price beyond all numbers gave advice")
	}
}
