// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

// Rule is the id of a way to split a node's one price into GPUs, CPUs and
// memory. The choice moves the GPUs' part of the same node from a quarter to
// nearly all, so it is printed wherever the parts are.
type Rule string

// The rules.
const (
	// RuleAWS weighs a GPU 9, a vCPU 0.9, a GiB 0.1: AWS's split cost
	// allocation data for accelerated instances.
	RuleAWS Rule = "aws-scad"
	// RuleOpenCost weighs a GPU 0.95, a vCPU 0.031611, a GiB 0.004237: the
	// ratios of OpenCost's default prices.
	RuleOpenCost Rule = "opencost"
	// RuleResidual gives CPU and memory what they cost in nodes without GPUs,
	// and the GPUs the rest.
	RuleResidual Rule = "residual"
	// RuleFixed gives the GPUs a given share of the price.
	RuleFixed Rule = "fixed-ratio"
	// RuleGPURate gives each GPU a given price by its model, CPU and memory the
	// rest.
	RuleGPURate Rule = "gpu-rate"
	// RuleAllGPU gives the GPUs everything, as where GPUs are sold with the
	// host included.
	RuleAllGPU Rule = "all-gpu"
	// RuleStated is no choice: the price itself states its parts.
	RuleStated Rule = "stated"
)

// Rules are the rules that a policy can name, in the order in which they are
// compared.
func Rules() []Rule {
	return []Rule{RuleAWS, RuleOpenCost, RuleResidual, RuleFixed, RuleGPURate, RuleAllGPU}
}

// Policy is how prices with one line are split.
type Policy struct {
	Rule Rule
	// References are prices of CPU and memory without GPUs, one per currency:
	// for residual; and as ratios wherever a host's part is divided.
	References []Reference
	Ratio      Ratio       // for fixed-ratio
	GPURates   []ModelRate // for gpu-rate, the first that matches counts
}

// Reference is what a vCPU and a GiB cost per hour in nodes without GPUs.
type Reference struct {
	Name      string // of the pair they come from
	Currency  money.Currency
	VCPU, GiB money.Nano
}

// Ratio is the shares of fixed-ratio. They sum to 1.
type Ratio struct{ GPU, CPU, Memory *big.Rat }

// ModelRate is a price per GPU-hour by model, as Selector.Model writes it.
type ModelRate struct {
	Model    string
	Hourly   money.Nano
	Currency money.Currency
}

// CPUNode is a node without GPUs and its price, one half of a reference pair.
type CPUNode struct {
	VCPU, GiB int64
	Hourly    money.Nano
}

// ReferenceOf is the reference at which both nodes of a pair cost what they do:
// two equations, two unknowns. Both prices are rounded once.
func ReferenceOf(name string, currency money.Currency, a, b CPUNode) (Reference, error) {
	out := Reference{Name: name, Currency: currency}
	det := a.VCPU*b.GiB - b.VCPU*a.GiB
	if det == 0 {
		return out, fmt.Errorf("reference %s: both nodes have the same memory per CPU, so their prices do not tell one from the other", name)
	}
	solve := func(x, y int64) (money.Nano, error) {
		left := new(big.Rat).Mul(nanos(a.Hourly), new(big.Rat).SetInt64(x))
		right := new(big.Rat).Mul(nanos(b.Hourly), new(big.Rat).SetInt64(y))
		return Rate(left.Quo(left.Sub(left, right), new(big.Rat).SetInt64(det)))
	}
	var err error
	if out.VCPU, err = solve(b.GiB, a.GiB); err != nil {
		return out, fmt.Errorf("reference %s: %w", name, err)
	}
	if out.GiB, err = solve(-b.VCPU, -a.VCPU); err != nil {
		return out, fmt.Errorf("reference %s: %w", name, err)
	}
	return out, out.check()
}

// DefaultPolicy is residual against m5 and r5 of AWS, the pair whose rates give
// the shares of docs/pricing.md: m5.24xlarge (96 vCPU, 384 GiB) and r5.24xlarge
// (96, 768) cost 4.608 and 6.048 USD in us-east-1 (2026-07-20), and 48.634 and
// 58.492 CNY in cn-north-1 (2024-11-06).
func DefaultPolicy() Policy {
	return Policy{
		Rule: RuleResidual,
		References: []Reference{
			{Name: "m5/r5", Currency: "USD", VCPU: 33_000_000, GiB: 3_750_000},
			{Name: "m5/r5 cn-north-1", Currency: "CNY", VCPU: 403_916_667, GiB: 25_671_875},
		},
		Ratio: Ratio{GPU: big.NewRat(70, 100), CPU: big.NewRat(195, 1000), Memory: big.NewRat(105, 1000)},
	}
}

// Check returns an error that says what is wrong with the policy.
func (p *Policy) Check() error {
	if !slices.Contains(Rules(), p.Rule) {
		return fmt.Errorf("split rule %q: write one of %s", p.Rule, list(Rules()))
	}
	for i := range p.References {
		if err := p.References[i].check(); err != nil {
			return err
		}
	}
	if len(p.References) == 0 {
		return fmt.Errorf("split rule %s: it needs a reference price of CPU and memory", p.Rule)
	}
	if err := p.Ratio.check(); err != nil && p.Rule == RuleFixed {
		return err
	}
	if p.Rule == RuleGPURate && len(p.GPURates) == 0 {
		return fmt.Errorf("split rule %s: it needs gpu_rates, a price per GPU-hour for each model", p.Rule)
	}
	for _, r := range p.GPURates {
		if err := r.Currency.Check(); err != nil || r.Hourly < 0 || r.Model == "" {
			return fmt.Errorf("GPU rate of model %q: it needs a model, a currency and a price of 0 or more", r.Model)
		}
	}
	return nil
}

func (r *Reference) check() error {
	if err := r.Currency.Check(); err != nil {
		return fmt.Errorf("reference %s: %w", r.Name, err)
	}
	if r.VCPU < 0 || r.GiB < 0 || r.VCPU == 0 && r.GiB == 0 {
		return fmt.Errorf("reference %s: %s per vCPU and %s per GiB: neither may be negative, nor both 0", r.Name, r.VCPU, r.GiB)
	}
	return nil
}

func (r *Ratio) check() error {
	sum := new(big.Rat)
	for _, share := range []*big.Rat{r.GPU, r.CPU, r.Memory} {
		if share == nil || share.Sign() < 0 {
			return fmt.Errorf("fixed-ratio: give a share of 0 or more for gpu, cpu and memory")
		}
		sum.Add(sum, share)
	}
	if sum.Cmp(big.NewRat(1, 1)) != 0 {
		return fmt.Errorf("fixed-ratio: the shares sum to %s, not to 1", sum.FloatString(6))
	}
	return nil
}

// reference is the one in the currency, if there is one.
func (p *Policy) reference(c money.Currency) (Reference, bool) {
	for _, r := range p.References {
		if r.Currency == c {
			return r, true
		}
	}
	return Reference{}, false
}

// hostRatio is a reference for the ratio of CPU to memory alone, in which no
// currency matters: that of the price where there is one, else the first.
func (p *Policy) hostRatio(c money.Currency) Reference {
	if r, ok := p.reference(c); ok {
		return r
	}
	return p.References[0]
}

// rate is the price per hour of a GPU of the model.
func (p *Policy) rate(model string, c money.Currency) (money.Nano, bool) {
	for _, r := range p.GPURates {
		if r.Currency == c && MatchModel(r.Model, model) {
			return r.Hourly, true
		}
	}
	return 0, false
}

func list(rules []Rule) string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}
