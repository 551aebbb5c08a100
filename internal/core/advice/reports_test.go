// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/signal"
)

// Public reports of wrong sizing, idle or sharing advice, as inputs with their right
// answers.

// TestReportsOfIdle: what was stopped, or would have been, and was in use or not known.
func TestReportsOfIdle(t *testing.T) {
	deaf := func(m Minute) []Minute { return timeline(m, 14*24) }
	for _, c := range []struct {
		report  string
		minutes []Minute
		set     func(*Subject)
		want    Code // "": advised
	}{
		{"kubeopt/kubeopt#21: pods below 10 % of their CPU are called idle, without any sign of the GPU", deaf(Minute{CPU: p(0.02)}), nil, NoSignal},
		{"gpuaudit/cli#7: a GPU's use is taken from CPU and network", deaf(Minute{CPU: p(0.01), Requests: p(int64(0))}), nil, NoSignal},
		{"jupyterhub/jupyterhub#1498: a cell runs for five hours, the browser is closed", deaf(Minute{Active: p(0.6), CPU: p(0.02)}), nil, NoFit},
		{"StatCan/aaw#1375: the notebook was closed while its user sat in it", deaf(Minute{Active: p(0.0), CPU: p(0.01), Terminal: p(true)}), nil, NoFit},
		{"codalab/codalab-worksheets#3979: 110 GB are downloaded for hours, the GPU waits", deaf(Minute{Active: p(0.0), CPU: p(0.4)}), nil, NoFit},
		{"microsoft/pai#4266: below 20 % for hours, and no way to say why", deaf(Minute{Active: p(0.0), CPU: p(0.01)}), func(s *Subject) { s.OptedOut = "it waits for a partner, until 2027-01-01" }, OptedOut},
		{"dstackai/dstack#2375: a job that has only begun is judged", deaf(Minute{Active: p(0.0), CPU: p(0.01)}), func(s *Subject) { s.FromMS = s.ToMS - 2*dayMS; s.GrantedMS, s.MeasuredMS = 2*dayMS, 2*dayMS }, NotEnoughHistory},
		{"PrincetonUniversity/jobstats#28: a burst, then days of nothing, hidden by the mean of the job", timeline(Minute{Active: p(1.0), CPU: p(1.0)}, 24, 13*24), nil, ""},
	} {
		s, _ := notebook(t)
		if c.set != nil {
			c.set(&s)
		}
		r, err := IdleReclaim(s, c.minutes, waits)
		if c.want == "" {
			advised(t, r, err)
			continue
		}
		if r.State != Refused || err != nil || !blockedBy(r, c.want) {
			t.Errorf("%s: %s, %v, %v", c.report, r.State, codes(r), err)
		}
	}
}

func blockedBy(r Recommendation, want Code) bool {
	for _, f := range r.Refusals {
		if f.Code == want && f.Blocks() {
			return true
		}
	}
	return false
}

// TestReportsOfUse: what "100 %" and "0 %" were taken for.
func TestReportsOfUse(t *testing.T) {
	const full = 30 << 30
	minute := func(s sample.Signals, held uint64, mw uint64) signal.Window {
		limit := uint64(400_000)
		w := signal.Window{DurationMS: minuteMS, MeasuredMS: minuteMS, Holders: 1, Grade: gpu.Measured, Running: held > 0, PeakBytes: &held, Signals: s, PowerMW: &mw, LimitMW: &limit, FPActive: p(0.0)}
		return w
	}
	for _, c := range []struct {
		report string
		w      signal.Window
		want   signal.Class
	}{
		{"NVIDIA/nvidia-docker#807: threads limited to 1 %, busy 99 %: time, not share", minute(sample.Signals{Busy: p(0.99), EngineActive: p(0.99), SMActive: p(0.01), TensorActive: p(0.0), DRAMActive: p(0.06)}, full, 120_000), signal.LaunchBound},
		{"ROCm/device-metrics-exporter#34: 100 % while it hangs", minute(sample.Signals{Busy: p(1.0), EngineActive: p(1.0), SMActive: p(0.01), TensorActive: p(0.0), DRAMActive: p(0.0)}, full, 70_000), signal.SuspectStall},
		{"NVIDIA/DCGM#305: an active engine labelled as SM utilization", minute(sample.Signals{EngineActive: p(1.0), SMActive: p(0.5), TensorActive: p(0.1), DRAMActive: p(0.1)}, full, 200_000), signal.Mixed},
		{"PrincetonUniversity/job_defense_shield#2: memory full, little use", minute(sample.Signals{Busy: p(0.1), EngineActive: p(0.1)}, 75<<30, 100_000), signal.Waiting},
		{"mirage-project/mirage#706: 0 % and 92 % of the memory: not free", minute(sample.Signals{Busy: p(0.0), EngineActive: p(0.0)}, 73<<30, 60_000), signal.Empty},
	} {
		var h signal.Hour
		idle := uint64(60_000)
		h.DurationMS, h.IdleMW = 60*minuteMS, &idle
		for i := range 60 {
			w := c.w
			w.StartMS = int64(i) * minuteMS
			h.Windows = append(h.Windows, w)
		}
		if v := signal.Classify(h); v.Class != c.want {
			t.Errorf("%s: %s (rule %d), want %s", c.report, v.Class, v.Rule, c.want)
		}
	}
}

// TestReportsOfSize: sizes that did not fit, and what nobody can know.
func TestReportsOfSize(t *testing.T) {
	s := subject(t)
	s.SM = level(1.29)
	r, err := SmallerProfile(s, a100Profiles)
	refused(t, r, err, NoSignal) // NVIDIA/DCGM#152: an SM activity of 1.29 on a MIG instance is no figure

	// vllm-project/vllm#7211, #17047, NVIDIA/nccl#431: tensor parallelism over MIG
	s = subject(t)
	s.GPUs = 2
	r, err = SmallerProfile(s, a100Profiles)
	refused(t, r, err, MultiGPU)

	// NVIDIA/k8s-device-plugin#461: four replicas, each program takes all of the card
	calm := shift(0, 0, 0.1, 0.1)
	var four []Tenant
	for _, name := range []string{"a", "b", "c", "d"} {
		x := tenant(t, name, calm, calm)
		x.PeakBytes = p(gb(70))
		four = append(four, x)
	}
	r, err = Share(four, gpu.ModeTimeSlicing)
	refused(t, r, err, NoFit)

	// vllm-project/vllm#10533: 0.75 and 0.20 of one card do not go together: contexts
	// and the driver need the rest
	pair := []Tenant{tenant(t, "big", calm, calm), tenant(t, "small", calm, calm)}
	pair[0].PeakBytes, pair[1].PeakBytes = p(gb(60)), p(gb(16))
	r, err = Share(pair, gpu.ModeTimeSlicing)
	refused(t, r, err, NoFit)
}

// TestCatalogue: a sizing that takes busy time for SMs, the memory controller's time for
// memory, and the 60th percentile of peaks for what is needed.
func TestCatalogue(t *testing.T) {
	// One small kernel in a loop is 100 % busy: it needs a slice, not the card.
	s := subject(t)
	s.SM, s.DRAM = level(0.01), level(0.01)
	s.Classes = []ClassTime{{signal.LaunchBound, 30 * dayMS}}
	r, err := SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	if r.Proposed.Profile != "1g.10gb" {
		t.Errorf("%+v", r.Proposed)
	}
	// Kernels of full width for 14 % of the time look as small as one slice on average.
	// The p99 of minutes and the bound do not let that pass as a fact.
	s = subject(t)
	s.SM, s.DRAM = signal.Spread{}, level(0.02)
	for range 86 {
		s.SM.Add(p(0.0), minuteMS)
	}
	for range 14 {
		s.SM.Add(p(1.0), minuteMS)
	}
	r, err = SmallerProfile(s, a100Profiles)
	refused(t, r, err, NoFit)
	// Half of its peaks are above the median: it is sized by the highest.
	s = subject(t)
	s.PeakBytes = p(gb(18))
	r, err = SmallerProfile(s, a100Profiles)
	advised(t, r, err)
	if *r.Need.HardBytes < gb(20) || r.Proposed.Profile == "1g.20gb" || r.Proposed.Profile == "2g.20gb" {
		t.Errorf("need %d, %s", *r.Need.HardBytes, r.Proposed.Profile)
	}
	// More than the card has is no need of a whole card, but a figure that cannot be.
	s.PeakBytes = p(gb(85))
	r, err = SmallerProfile(s, a100Profiles)
	refused(t, r, err, Skewed)
	// A fraction of nominal size: 1g of an H200 is 16 of 140 GiB, not an eighth.
	s = subject(t)
	s.Device.Model, s.Device.CapacityBytes, s.Device.SMs = "NVIDIA H200", gb(140), 132
	s.PeakBytes = p(gb(15))
	r, err = SmallerProfile(s, h200Profiles)
	advised(t, r, err)
	if r.Proposed.Profile == "1g.18gb" {
		t.Error("17.25 GiB were put into 16")
	}
}
