// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"math"
	"slices"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
)

func p[T any](v T) *T { return &v }

// gb is GiB as bytes, rounded.
func gb(v float64) uint64 { return uint64(v*(1<<30) + 0.5) }

func usd(t *testing.T, text string) money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// level is a signal that had the value in every minute of a day.
func level(v float64) (s signal.Spread) {
	s.Add(&v, dayMS)
	return s
}

// a100 is an A100 with 80 GB; its profiles are those that nvidia-smi prints.
var a100 = Device{Model: "NVIDIA A100-SXM4-80GB", CapacityBytes: gb(79.15), ReserveBytes: 600 << 20, SMs: 108, Slices: 8, Bandwidth: 2000, Tensor: 312, Capability: 80}

var a100Profiles = []Profile{
	{"7g.80gb", gb(79.00), 98, 8}, {"4g.40gb", gb(39.25), 56, 4}, {"3g.40gb", gb(39.25), 42, 4},
	{"2g.20gb", gb(19.50), 28, 2}, {"1g.20gb", gb(19.50), 14, 2}, {"1g.10gb", 9856 << 20, 14, 1},
}

var h200Profiles = []Profile{
	{"1g.18gb", gb(16.00), 16, 1}, {"1g.35gb", gb(32.25), 26, 2}, {"2g.35gb", gb(32.25), 32, 2},
	{"3g.71gb", gb(69.50), 60, 4}, {"4g.71gb", gb(69.50), 64, 4}, {"7g.141gb", gb(140.00), 132, 8},
}

// subject is a server on one GPU of a node with eight, seen for 30 days.
func subject(t *testing.T) Subject {
	const month = 30 * dayMS
	return Subject{
		Target: Target{Cluster: "c", Node: "a", Namespace: "emb", Owner: "Deployment/bge", Partitions: []string{"GPU-1"}},
		Work:   Serving, Current: Change{Resource: "nvidia.com/gpu", Count: 1}, Device: a100,
		ToMS: month, GrantedMS: month, MeasuredMS: month / 100 * 99, GPUs: 1, Holders: 1,
		PeakBytes: p(gb(6.4)), PeakGrade: gpu.Measured, SM: level(0.10), DRAM: level(0.06), Tensor: level(0.05),
		Classes: []ClassTime{{signal.LaunchBound, month}},
		Price:   &Price{Currency: "USD", DeviceHour: usd(t, "3.00"), NodeHour: usd(t, "24.00"), Ref: "n8a", Split: "all-gpu", Grade: "listed"},
	}
}

func codes(r Recommendation) (out []Code) {
	for _, x := range r.Refusals {
		out = append(out, x.Code)
	}
	return out
}

// refused checks that there is no advice, because of that code, and that it says
// what to do.
func refused(t *testing.T, r Recommendation, err error, want Code) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.State != Refused || r.Proposed != nil || r.Money != nil || !slices.Contains(codes(r), want) {
		t.Errorf("%s is %s with %v, %+v; want a refusal: %s", r.Kind, r.State, codes(r), r.Proposed, want)
	}
	for _, x := range r.Refusals {
		if x.Missing == "" || x.HowToGet == "" {
			t.Errorf("refusal %s does not say what is missing and how to get it", x.Code)
		}
	}
}

func advised(t *testing.T, r Recommendation, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.State != Advised || r.Proposed == nil || r.Confidence == "" || r.ID == "" {
		t.Fatalf("%s is %s: %v, tests %+v", r.Kind, r.State, r.Refusals, r.Tests)
	}
	balanced(t, r)
}

// balanced: what a charge falls by lands somewhere, or is no longer paid.
func balanced(t *testing.T, r Recommendation) {
	t.Helper()
	if m := r.Money; m != nil && m.ChargeDelta != nil && *m.ChargeDelta != m.FreedIdle+m.FreedStranded+m.CashMean {
		t.Errorf("%s: charge falls by %v, of which %v + %v is freed and %v saved", r.Kind, *m.ChargeDelta, m.FreedIdle, m.FreedStranded, m.CashMean)
	}
}

// cashIs checks the three figures and whose they are.
func cashIs(t *testing.T, m *Money, class MoneyClass, delta, freed, cash string) {
	t.Helper()
	if m == nil {
		t.Fatal("no money")
	}
	if m.Class != class || m.ChargeDelta == nil || *m.ChargeDelta != usd(t, delta) || m.FreedIdle+m.FreedStranded != usd(t, freed) || m.CashMean != usd(t, cash) {
		t.Errorf("%s: charge %v, freed %v + %v, cash %v; want %s: %s, %s, %s", m.Class, m.ChargeDelta, m.FreedIdle, m.FreedStranded, m.CashMean, class, delta, freed, cash)
	}
}

// passed finds a test that was tried, and rounds its value to hundredths.
func passed(t *testing.T, r Recommendation, of, name string, value float64, holds bool) {
	t.Helper()
	for _, x := range r.Tests {
		if x.Of == of && x.Name == name {
			if d := math.Abs(x.Value - value); d > max(0.0051, value*1e-6) || x.Holds != holds {
				t.Errorf("%s of %s is %.4f (%s), holds %v; want %.2f, %v", name, of, x.Value, x.Sum, x.Holds, value, holds)
			}
			return
		}
	}
	t.Errorf("%s of %s was not tried: %+v", name, of, r.Tests)
}
