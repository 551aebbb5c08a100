// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
)

// weights are what the parts of a node weigh against each other, exactly. The
// slots come in the order of their names.
type weights struct {
	slots       []*big.Rat
	cpu, memory *big.Rat
}

// split is weights, and how they came about.
type split struct {
	weights
	rule  Rule
	notes []string
}

var (
	awsGPU, awsCPU, awsGiB = big.NewRat(9, 1), big.NewRat(9, 10), big.NewRat(1, 10)
	// OpenCost's default prices of CPU, RAM and GPU per hour
	// (configs/default.json).
	openGPU, openCPU, openGiB = big.NewRat(950_000, 1_000_000), big.NewRat(31_611, 1_000_000), big.NewRat(4_237, 1_000_000)

	none = new(big.Rat)
)

// Notes of splits that are not what the policy says.
const (
	noteNotPositive = "CPU and memory alone would cost as much as the node or more: split by opencost instead"
	noteNoOnDemand  = "no on-demand price of this node is known to take the GPUs' share from: split by opencost instead"
	noteNoShape     = "neither GPUs, CPUs nor memory of the node are known: the whole price stands under CPU"
	noteNoHost      = "CPU and memory of the node are not known: the whole price is the GPUs'"
)

// splitBy weighs the parts of a node under the policy. The hourly price is that
// of the shape on demand; nil where none is known.
func (p *Policy) splitBy(n *Node, hourly *money.Nano, c money.Currency) split {
	cpus, gib := quantities(n)
	var out split
	if len(n.Slots) == 0 && p.Rule != RuleAWS && p.Rule != RuleOpenCost && p.Rule != RuleFixed {
		// No GPU to take a part: what is left are CPU and memory, by what they
		// cost in such nodes.
		out = split{weights: p.hostWeights(n, c), rule: p.Rule}
		return out.settle(n)
	}
	switch p.Rule {
	case RuleAWS:
		out = scaled(n, cpus, gib, awsGPU, awsCPU, awsGiB, RuleAWS)
	case RuleFixed:
		out = p.fixed(n)
	case RuleAllGPU:
		out = scaled(n, cpus, gib, big.NewRat(1, 1), none, none, RuleAllGPU)
	case RuleResidual:
		out = p.residual(n, hourly, c)
	case RuleGPURate:
		out = p.gpuRate(n, hourly, c)
	default:
		out = openCost(n)
	}
	return out.settle(n)
}

// quantities are the vCPUs and GiB of a node, exactly.
func quantities(n *Node) (cpus, gib *big.Rat) {
	bytes := new(big.Rat).SetInt(new(big.Int).SetUint64(n.MemoryBytes))
	return big.NewRat(n.CPUMilli, 1000), bytes.Quo(bytes, big.NewRat(1<<30, 1))
}

// scaled weighs each GPU, vCPU and GiB alike.
func scaled(n *Node, cpus, gib, perGPU, perCPU, perGiB *big.Rat, rule Rule) split {
	return split{rule: rule, weights: weights{
		slots: equally(n, perGPU), cpu: new(big.Rat).Mul(cpus, perCPU), memory: new(big.Rat).Mul(gib, perGiB),
	}}
}

func openCost(n *Node, notes ...string) split {
	cpus, gib := quantities(n)
	out := scaled(n, cpus, gib, openGPU, openCPU, openGiB, RuleOpenCost)
	out.notes = notes
	return out
}

func equally(n *Node, each *big.Rat) []*big.Rat {
	slots := make([]*big.Rat, len(n.Slots))
	for i := range slots {
		slots[i] = each
	}
	return slots
}

// fixed gives each part its share, and a part that the node has nothing of
// none: the others then share by what is left.
func (p *Policy) fixed(n *Node) split {
	out := split{rule: RuleFixed, weights: weights{cpu: none, memory: none}}
	if len(n.Slots) > 0 {
		out.slots = equally(n, new(big.Rat).Quo(p.Ratio.GPU, big.NewRat(int64(len(n.Slots)), 1)))
	}
	if n.CPUMilli > 0 {
		out.cpu = p.Ratio.CPU
	}
	if n.MemoryBytes > 0 {
		out.memory = p.Ratio.Memory
	}
	return out
}

// hostWeights weighs CPU and memory by the reference, and no GPU.
func (p *Policy) hostWeights(n *Node, c money.Currency) weights {
	cpus, gib := quantities(n)
	ref := p.hostRatio(c)
	return weights{slots: equally(n, none), cpu: cpus.Mul(cpus, nanos(ref.VCPU)), memory: gib.Mul(gib, nanos(ref.GiB))}
}

func (p *Policy) residual(n *Node, hourly *money.Nano, c money.Currency) split {
	ref, ok := p.reference(c)
	switch {
	case !ok:
		return openCost(n, fmt.Sprintf("no reference price of CPU and memory in %s is given: split by opencost instead", c))
	case hourly == nil:
		return openCost(n, noteNoOnDemand)
	}
	cpus, gib := quantities(n)
	out := weights{cpu: cpus.Mul(cpus, nanos(ref.VCPU)), memory: gib.Mul(gib, nanos(ref.GiB))}
	rest := new(big.Rat).Sub(nanos(*hourly), out.cpu)
	if rest.Sub(rest, out.memory).Sign() <= 0 {
		return openCost(n, noteNotPositive)
	}
	out.slots = equally(n, rest.Quo(rest, big.NewRat(int64(len(n.Slots)), 1)))
	return split{weights: out, rule: RuleResidual}
}

func (p *Policy) gpuRate(n *Node, hourly *money.Nano, c money.Currency) split {
	if hourly == nil {
		return openCost(n, noteNoOnDemand)
	}
	slots, rest := make([]*big.Rat, len(n.Slots)), nanos(*hourly)
	for i, s := range n.Slots {
		rate, ok := p.rate(s.Model, c)
		if !ok {
			return openCost(n, fmt.Sprintf("no GPU rate in %s is given for model %q: split by opencost instead", c, s.Model))
		}
		slots[i] = nanos(rate)
		rest.Sub(rest, slots[i])
	}
	if rest.Sign() < 0 {
		return openCost(n, "the GPU rates sum to more than the price of the node: split by opencost instead")
	}
	return split{weights: p.rest(n, slots, rest, c), rule: RuleGPURate}
}

// rest divides what the GPUs leave between CPU and memory, by what they cost in
// nodes without GPUs. Where the node has neither, the GPUs keep it.
func (p *Policy) rest(n *Node, slots []*big.Rat, rest *big.Rat, c money.Currency) weights {
	host := p.hostWeights(n, c)
	sum := new(big.Rat).Add(host.cpu, host.memory)
	if sum.Sign() == 0 {
		return weights{slots: slots, cpu: none, memory: none}
	}
	scale := new(big.Rat).Quo(rest, sum)
	return weights{slots: slots, cpu: new(big.Rat).Mul(host.cpu, scale), memory: new(big.Rat).Mul(host.memory, scale)}
}

// settle makes sure that the weights can carry a price, so that none is lost.
func (s split) settle(n *Node) split {
	switch {
	case s.positive():
	case len(n.Slots) > 0:
		s.slots = equally(n, big.NewRat(1, 1))
	case n.CPUMilli == 0 && n.MemoryBytes == 0:
		s.cpu = big.NewRat(1, 1)
		s.notes = append(s.notes, noteNoShape)
	case n.MemoryBytes > 0:
		s.memory = big.NewRat(1, 1)
	default:
		s.cpu = big.NewRat(1, 1)
	}
	if len(n.Slots) > 0 && n.CPUMilli == 0 && n.MemoryBytes == 0 && s.rule != RuleAllGPU && s.rule != RuleStated {
		s.notes = append(s.notes, noteNoHost)
	}
	return s
}

// positive says whether anything weighs anything.
func (w *weights) positive() bool {
	return w.cpu.Sign() > 0 || w.memory.Sign() > 0 || slices.ContainsFunc(w.slots, func(s *big.Rat) bool { return s.Sign() > 0 })
}

func (w *weights) sum() *big.Rat {
	sum := new(big.Rat).Add(w.cpu, w.memory)
	for _, s := range w.slots {
		sum.Add(sum, s)
	}
	return sum
}

// apportion divides an amount by the weights: the slots in order, then CPU,
// then memory.
func (w *weights) apportion(amount money.Nano) (slots []money.Nano, cpu, memory money.Nano, err error) {
	all := append(append(make([]*big.Rat, 0, len(w.slots)+2), w.slots...), w.cpu, w.memory)
	parts, err := money.Apportion(amount, all)
	if err != nil {
		return nil, 0, 0, err
	}
	k := len(w.slots)
	return parts[:k], parts[k], parts[k+1], nil
}
