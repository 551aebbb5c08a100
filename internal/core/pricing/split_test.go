// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"math/big"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

const gib = 1 << 30

func amount(t *testing.T, text string) money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func shape(gpus int, model string, vcpu int64, memoryGiB float64) *Node {
	n := &Node{Name: "n", CPUMilli: vcpu * 1000, MemoryBytes: uint64(memoryGiB * gib)}
	for i := range gpus {
		n.Slots = append(n.Slots, Slot{Name: "gpu" + string(rune('0'+i)), Model: model})
	}
	return n
}

// ratio is a policy with the GPUs' share, and of the rest the CPUs'.
func ratio(gpu, cpu, memory int64) Policy {
	p := DefaultPolicy()
	p.Rule = RuleFixed
	p.Ratio = Ratio{big.NewRat(gpu, 1000), big.NewRat(cpu, 1000), big.NewRat(memory, 1000)}
	return p
}

func rule(r Rule) Policy {
	p := DefaultPolicy()
	p.Rule = r
	return p
}

// TestRulesGiveThePublishedNumbers: the worked examples of the rules' authors
// and of the reports about them.
func TestRulesGiveThePublishedNumbers(t *testing.T) {
	p4d, g5, p5 := shape(8, "A100", 96, 1152), shape(4, "A10G", 48, 192), shape(8, "H100", 192, 2048)
	g4dn, p3 := shape(1, "T4", 4, 16), shape(8, "V100", 64, 488)
	for _, c := range []struct {
		name              string
		node              *Node
		price             string
		policy            Policy
		gpus, cpu, memory string // to four places
	}{
		{"p4d", p4d, "21.957642", rule(RuleAWS), "5.7783", "6.9340", "9.2453"},
		{"p4d", p4d, "21.957642", rule(RuleOpenCost), "10.7554", "4.2946", "6.9076"},
		{"p4d", p4d, "21.957642", rule(RuleResidual), "14.4696", "3.1680", "4.3200"},
		{"p4d", p4d, "21.957642", ratio(700, 195, 105), "15.3703", "4.2817", "2.3056"},
		{"p4d", p4d, "21.957642", ratio(950, 30, 20), "20.8598", "0.6587", "0.4392"},
		{"p4d", p4d, "21.957642", rule(RuleAllGPU), "21.9576", "0.0000", "0.0000"},
		{"g5.12xlarge", g5, "5.672", rule(RuleAWS), "2.0751", "2.4901", "1.1067"},
		{"g5.12xlarge", g5, "5.672", rule(RuleOpenCost), "3.5156", "1.4038", "0.7526"},
		{"g5.12xlarge", g5, "5.672", rule(RuleResidual), "3.3680", "1.5840", "0.7200"},
		{"p5", p5, "55.04", rule(RuleAWS), "8.8142", "21.1542", "25.0716"},
		{"p5", p5, "55.04", rule(RuleOpenCost), "18.7188", "14.9487", "21.3724"},
		{"p5", p5, "55.04", rule(RuleResidual), "41.0240", "6.3360", "7.6800"},
		{"g4dn.xlarge", g4dn, "0.526", rule(RuleResidual), "0.3340", "0.1320", "0.0600"},
		// AWS's own example: p3.16xlarge at 10 an hour.
		{"p3.16xlarge", p3, "10", rule(RuleAWS), "4.0359", "3.2287", "2.7354"},
		// opencost#2657: a g5.2xlarge at 1.35296.
		{"g5.2xlarge", shape(1, "A10G", 8, 32), "1.35296", rule(RuleOpenCost), "0.9603", "0.2556", "0.1371"},
	} {
		hourly := amount(t, c.price)
		s := c.policy.splitBy(c.node, &hourly, "USD")
		var got HourParts
		if err := got.of(hourly, &s.weights); err != nil {
			t.Fatal(err)
		}
		if s.rule != c.policy.Rule || len(s.notes) > 0 {
			t.Errorf("%s by %s: split by %s, %q", c.name, c.policy.Rule, s.rule, s.notes)
		}
		for what, pair := range map[string][2]string{"GPUs": {four(got.GPUs), c.gpus}, "CPU": {four(got.CPU), c.cpu}, "memory": {four(got.Memory), c.memory}} {
			if pair[0] != pair[1] {
				t.Errorf("%s by %s: %s %s, want %s", c.name, c.policy.Rule, what, pair[0], pair[1])
			}
		}
		if sum := got.GPUs + got.CPU + got.Memory; sum != hourly {
			t.Errorf("%s by %s: the parts sum to %s, not to %s", c.name, c.policy.Rule, sum, hourly)
		}
	}
}

func four(n money.Nano) string {
	return new(big.Rat).SetFrac64(int64(n), int64(money.Unit)).FloatString(4)
}

// TestNoPartIsAddedOnTop is opencost#2901: CPU and memory made up the whole
// price of 0.526, and the GPU came on top of it.
func TestNoPartIsAddedOnTop(t *testing.T) {
	n := &Node{Name: "n", Slots: []Slot{{Name: "gpu0"}}, CPUMilli: 4000, MemoryBytes: 16454684672}
	hourly := amount(t, "0.526")
	all, err := SplitAll(DefaultPolicy(), n, hourly, "USD")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 5 { // gpu-rate has no rates here
		t.Errorf("%d rules compared, want 5", len(all))
	}
	for _, c := range all {
		if sum := c.Parts.GPUs + c.Parts.CPU + c.Parts.Memory; sum != hourly {
			t.Errorf("%s: the parts sum to %s", c.Rule, sum)
		}
	}
	for i, want := range []Rule{RuleAWS, RuleOpenCost, RuleResidual, RuleFixed, RuleAllGPU} {
		if all[i].Rule != want {
			t.Errorf("rule %d is %s, want %s", i, all[i].Rule, want)
		}
	}
}

func TestResidualFallsBackAndSaysSo(t *testing.T) {
	hourly, p := amount(t, "7.488"), DefaultPolicy() // p4d's CPU and memory alone cost this
	for name, s := range map[string]split{
		noteNotPositive:      p.splitBy(shape(8, "A100", 96, 1152), &hourly, "USD"),
		noteNoOnDemand:       p.splitBy(shape(8, "A100", 96, 1152), nil, "USD"),
		"no reference price": p.splitBy(shape(8, "A100", 96, 1152), &hourly, "EUR"),
	} {
		if s.rule != RuleOpenCost || len(s.notes) != 1 || !strings.HasPrefix(s.notes[0], name) {
			t.Errorf("split by %s with notes %q, want opencost and %q", s.rule, s.notes, name)
		}
	}
	cheaper := hourly + 1
	if s := p.splitBy(shape(8, "A100", 96, 1152), &cheaper, "USD"); s.rule != RuleResidual {
		t.Errorf("a residual of a billionth is positive, split by %s", s.rule)
	}
}

func TestGPURate(t *testing.T) {
	p := rule(RuleGPURate)
	p.GPURates = []ModelRate{{Model: "A100*", Hourly: 2 * money.Unit, Currency: "USD"}, {Model: "*", Hourly: money.Unit, Currency: "USD"}}
	hourly := amount(t, "10")
	n := shape(2, "NVIDIA A100-SXM4-40GB", 10, 0)
	n.Slots[1].Model = "Tesla T4"
	s := p.splitBy(n, &hourly, "USD")
	slots, cpu, memory, err := s.apportion(hourly)
	if err != nil || s.rule != RuleGPURate || slots[0] != 2*money.Unit || slots[1] != money.Unit || cpu != 7*money.Unit || memory != 0 {
		t.Errorf("parts %v, %s, %s by %s, %v", slots, cpu, memory, s.rule, err)
	}
	low := amount(t, "2.5")
	if s := p.splitBy(n, &low, "USD"); s.rule != RuleOpenCost || len(s.notes) != 1 {
		t.Errorf("rates above the price: split by %s, %q", s.rule, s.notes)
	}
	p.GPURates = p.GPURates[:1]
	if s := p.splitBy(n, &hourly, "USD"); s.rule != RuleOpenCost || !strings.Contains(s.notes[0], "Tesla T4") {
		t.Errorf("a model without a rate: split by %s, %q", s.rule, s.notes)
	}
	none := shape(2, "T4", 0, 0)
	p.GPURates = []ModelRate{{Model: "T4", Hourly: money.Unit, Currency: "USD"}}
	if s := p.splitBy(none, &hourly, "USD"); s.rule != RuleGPURate || s.cpu.Sign() != 0 {
		t.Errorf("a node of GPUs alone: split by %s, CPU %s", s.rule, s.cpu)
	}
}

// A node without GPUs has no GPU cost under any rule, and one of which nothing
// is known keeps its price.
func TestNothingIsLostOnOddShapes(t *testing.T) {
	hourly := amount(t, "3.000000001")
	for _, n := range []*Node{shape(0, "", 8, 32), shape(0, "", 8, 0), shape(0, "", 0, 32), shape(0, "", 0, 0), shape(3, "L4", 0, 0), shape(3, "L4", 0, 8)} {
		all, err := SplitAll(DefaultPolicy(), n, hourly, "USD")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if sum := c.Parts.GPUs + c.Parts.CPU + c.Parts.Memory; sum != hourly {
				t.Errorf("%s of %d GPUs, %d CPUs: sum %s", c.Rule, len(n.Slots), n.CPUMilli, sum)
			}
			if len(n.Slots) == 0 && c.Parts.GPUs != 0 {
				t.Errorf("%s: GPU cost %s on a node without GPUs", c.Rule, c.Parts.GPUs)
			}
			if n.MemoryBytes == 0 && c.Parts.Memory != 0 || n.CPUMilli == 0 && n.MemoryBytes > 0 && c.Parts.CPU != 0 {
				t.Errorf("%s of %d GPUs, %d CPUs, %d bytes: %+v gives money to what is not there", c.Rule, len(n.Slots), n.CPUMilli, n.MemoryBytes, c.Parts)
			}
		}
	}
}

func TestReferenceOfAPair(t *testing.T) {
	ref, err := ReferenceOf("m5/r5", "USD", CPUNode{96, 384, amount(t, "4.608")}, CPUNode{96, 768, amount(t, "6.048")})
	if want := DefaultPolicy().References[0]; err != nil || ref != want {
		t.Errorf("reference %+v, %v; want %+v", ref, err, want)
	}
	ref, err = ReferenceOf("m5/r5 cn-north-1", "CNY", CPUNode{96, 384, amount(t, "48.634")}, CPUNode{96, 768, amount(t, "58.492")})
	if want := DefaultPolicy().References[1]; err != nil || ref != want {
		t.Errorf("reference %+v, %v; want %+v", ref, err, want)
	}
	if _, err := ReferenceOf("m5/m5", "USD", CPUNode{4, 16, 1}, CPUNode{8, 32, 2}); err == nil {
		t.Error("two nodes of one shape tell two prices")
	}
	if _, err := ReferenceOf("odd", "USD", CPUNode{96, 384, money.Unit}, CPUNode{96, 768, 9 * money.Unit}); err == nil {
		t.Error("a negative price of a CPU passes")
	}
}

func TestPolicyCheck(t *testing.T) {
	for want, spoil := range map[string]func(*Policy){
		"write one of":       func(p *Policy) { p.Rule = "halves" },
		"reference price":    func(p *Policy) { p.References = nil },
		"neither may be":     func(p *Policy) { p.References[0].GiB, p.References[0].VCPU = 0, 0 },
		"currency":           func(p *Policy) { p.References[0].Currency = "" },
		"sum to 0.995":       func(p *Policy) { p.Rule = RuleFixed; p.Ratio.CPU = big.NewRat(190, 1000) },
		"give a share":       func(p *Policy) { p.Rule = RuleFixed; p.Ratio.CPU = nil },
		"needs gpu_rates":    func(p *Policy) { p.Rule = RuleGPURate },
		"model, a currency ": func(p *Policy) { p.GPURates = []ModelRate{{Model: "T4"}} },
	} {
		p := DefaultPolicy()
		spoil(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for _, r := range Rules() {
		p := rule(r)
		p.GPURates = []ModelRate{{Model: "*", Hourly: 1, Currency: "USD"}}
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
