// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// resource is something that nodes have and pods take: no packing can take more
// of it than the nodes that are kept have. The bound takes one at a time.
type resource struct {
	gpu  bool
	has  func(n int32) int64
	asks func(pod int32) int64
}

// resources are the counts that every packing obeys:
//
//   - CPU, memory and, where limits are known, pods;
//   - memory slices of GPUs: instances do not overlap;
//   - the compute slices of MIG, where no layout of any kind of card has more of
//     them than the largest instance has: 7 × 1g fill a card of 8 memory slices;
//   - halves of GPUs: of what takes half of one, two fit, and of what takes more,
//     one.
func (p *problem) resources() []resource {
	cards := func(n int32) int64 { return int64(p.first[n+1]-p.first[n]) * int64(unit) }
	least := p.leastUnits(func(k *kind, o *option) int64 { return int64(o.size) })
	compute := p.leastUnits(p.computeUnits())
	halves := p.leastUnits(halfUnits)
	out := []resource{
		{false, func(n int32) int64 { return p.Nodes[n].CPUMilli }, func(pod int32) int64 { return p.Pods[pod].CPUMilli }},
		{false, func(n int32) int64 { return p.Nodes[n].MemoryBytes }, func(pod int32) int64 { return p.Pods[pod].MemoryBytes }},
		{true, cards, func(pod int32) int64 { return least[p.need[pod]] }},
		{true, cards, func(pod int32) int64 { return compute[p.need[pod]] }},
		{true, cards, func(pod int32) int64 { return halves[p.need[pod]] }},
	}
	if !slices.ContainsFunc(p.Nodes, func(n Node) bool { return n.MostPods == 0 }) {
		out = append(out, resource{false, func(n int32) int64 { return int64(p.Nodes[n].MostPods) }, func(int32) int64 { return 1 }})
	}
	return out
}

// leastUnits is the least that each need takes on any kind of card.
func (p *problem) leastUnits(of func(*kind, *option) int64) []int64 {
	out := make([]int64, len(p.needs))
	for i := range p.needs {
		least := int64(-1)
		for k := range p.kinds {
			if o := &p.options[i][k]; o.ok() {
				if v := of(&p.kinds[k], o); least < 0 || v < least {
					least = v
				}
			}
		}
		out[i] = max(least, 0)
	}
	return out
}

// computeUnits weighs a profile by its compute slices, of the most that any
// profile of the card has. Where a layout has more than that together, it would
// be no bound, and the memory slices stand in.
func (p *problem) computeUnits() func(*kind, *option) int64 {
	sound := map[*geometry][]int64{}
	for i := range p.kinds {
		if g := p.kinds[i].geo; g != nil {
			sound[g] = g.compute()
		}
	}
	return func(k *kind, o *option) int64 {
		weights := sound[k.geo]
		if len(o.profiles) == 0 || weights == nil {
			return int64(o.size)
		}
		least := weights[o.profiles[0]]
		for _, i := range o.profiles {
			least = min(least, weights[i])
		}
		return least
	}
}

// compute is the weight of each profile by compute slices, nil where the layouts
// do not bear it out.
func (g *geometry) compute() []int64 {
	out := make([]int64, len(g.profiles))
	most := int64(1)
	for i := range g.profiles {
		name, err := gpu.ParseProfile(g.profiles[i].Name)
		if err != nil {
			return nil
		}
		out[i] = int64(name.Slices)
		most = max(most, out[i])
	}
	for i := range out {
		out[i] = int64(unit) * out[i] / most
	}
	for s := range g.states {
		sum := int64(0)
		for i := range out {
			sum += int64(g.states[s].has[i]) * out[i]
		}
		if sum > int64(unit) {
			return nil
		}
	}
	return out
}

// halfUnits weighs what takes half of a card by a half, what takes more by all of
// it, and the rest by nothing.
func halfUnits(k *kind, o *option) int64 {
	if len(o.profiles) == 0 && o.milli == 0 {
		return int64(o.size)
	}
	switch {
	case 2*o.size > unit:
		return int64(unit)
	case 2*o.size == unit:
		return int64(unit) / 2
	}
	return 0
}

// bound is a sum that no packing of the pods on the nodes costs less than, in an
// hour. Nodes that could never serve the same pod with a GPU are apart; in each
// group the resource that costs most counts, and over all nodes CPU and memory of
// all pods, if that is more.
func (p *problem) bound() money.Nano {
	stays := p.stays()
	group := p.groups()
	res := p.resources()
	nodes, pods := map[int32][]int32{}, map[int32][]int32{}
	var all []int32
	for n := range p.Nodes {
		nodes[group[n]] = append(nodes[group[n]], int32(n))
		all = append(all, int32(n))
	}
	var every []int32
	for i := range p.Pods {
		every = append(every, int32(i))
		if p.Pods[i].Need != (Need{}) || p.stuck[i] {
			g := group[p.home[i].node]
			pods[g] = append(pods[g], int32(i))
		}
	}
	apart := money.Nano(0)
	for g, list := range nodes {
		most := money.Nano(0)
		for _, r := range res {
			most = max(most, p.cover(list, pods[g], r, stays))
		}
		apart += most
	}
	together := money.Nano(0)
	for _, r := range res {
		together = max(together, p.cover(all, every, r, stays))
	}
	return max(apart, together)
}

// stays is the nodes that no packing can give back.
func (p *problem) stays() []bool {
	out := make([]bool, len(p.Nodes))
	for n := range p.Nodes {
		out[n] = p.Nodes[n].Keep != ""
	}
	for pod := range p.Pods {
		out[p.home[pod].node] = out[p.home[pod].node] || p.stuck[pod]
	}
	return out
}

// groups joins nodes that could serve the same pod, and gives each the number of
// its group's first.
func (p *problem) groups() []int32 {
	group := make([]int32, len(p.Nodes))
	for n := range group {
		group[n] = int32(n)
	}
	root := func(n int32) int32 {
		for group[n] != n {
			group[n] = group[group[n]]
			n = group[n]
		}
		return n
	}
	join := func(a, b int32) {
		a, b = root(a), root(b)
		group[max(a, b)] = min(a, b)
	}
	type ask struct{ need, rule int32 }
	firstOf := map[ask]int32{}
	for pod := range p.Pods {
		if p.Pods[pod].Need == (Need{}) || p.stuck[pod] {
			continue
		}
		k := ask{p.need[pod], p.rule[pod]}
		if first, ok := firstOf[k]; ok {
			join(first, p.home[pod].node)
			continue
		}
		firstOf[k] = p.home[pod].node
		for n := range p.Nodes {
			if p.couldServe(int32(n), int32(pod)) {
				join(p.home[pod].node, int32(n))
			}
		}
	}
	for n := range group {
		group[n] = root(int32(n))
	}
	return group
}

// couldServe: an empty node would take the pod, room for its CPU aside.
func (p *problem) couldServe(n, pod int32) bool {
	if !p.allowed[p.rule[pod]][n] {
		return false
	}
	for c := p.first[n]; c < p.first[n+1]; c++ {
		if k := p.kind[c]; p.models[p.rule[pod]][k] && p.options[p.need[pod]][k].ok() {
			return true
		}
	}
	return false
}

// asks is what a pod takes of a resource wherever it is. Where it stays it may
// have less than it needs, and then counts with no GPU.
func (p *problem) asks(r *resource, pod int32) int64 {
	if r.gpu && !p.served(pod) {
		return 0
	}
	return r.asks(pod)
}

// served: what a pod has is at least what it needs.
func (p *problem) served(pod int32) bool {
	h := &p.home[pod]
	if len(h.cards) == 0 {
		return false
	}
	o := &p.options[p.need[pod]][p.kind[h.cards[0]]]
	switch {
	case !o.ok():
		return false
	case h.profile >= 0:
		return slices.Contains(o.profiles, h.profile)
	case h.milli > 0:
		return o.milli > 0 && h.milli >= o.milli
	}
	return len(h.cards) >= int(o.whole)
}

// lot is nodes that are alike to a bound.
type lot struct {
	has   int64
	price money.Nano
	count int64
}

// cover is the least that nodes cost which have enough of a resource for the pods.
func (p *problem) cover(nodes, pods []int32, r resource, stays []bool) money.Nano {
	demand, base := int64(0), money.Nano(0)
	for _, pod := range pods {
		demand += p.asks(&r, pod)
	}
	lots := map[lot]int64{}
	for _, n := range nodes {
		hour, sunk := money.Nano(0), p.Nodes[n].CommittedUntilMS > p.NowMS
		if p.Nodes[n].Hour != nil {
			hour = *p.Nodes[n].Hour
		}
		switch {
		case stays[n]:
			base += hour
			demand -= r.has(n)
		case sunk:
			base += hour
			lots[lot{has: r.has(n)}]++
		default:
			lots[lot{has: r.has(n), price: hour}]++
		}
	}
	var list []lot
	for l, count := range lots {
		l.count = count
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b lot) int {
		return cmp.Or(cheaper(a, b), cmp.Compare(a.has, b.has), cmp.Compare(a.price, b.price))
	})
	return base + cheapest(list, demand)
}

// cheaper orders by price for what a node has, exactly.
func cheaper(a, b lot) int {
	x := new(big.Int).Mul(big.NewInt(int64(a.price)), big.NewInt(b.has))
	return x.Cmp(new(big.Int).Mul(big.NewInt(int64(b.price)), big.NewInt(a.has)))
}

// cheapest is the least price of nodes with a demand: exactly, by whole nodes,
// where the numbers are small, and else as if nodes could be bought in part, which
// is never more.
func cheapest(list []lot, demand int64) money.Nano {
	list = slices.DeleteFunc(list, func(l lot) bool { return l.has <= 0 })
	if demand <= 0 || len(list) == 0 {
		return 0
	}
	step := list[0].has
	items := int64(0)
	for _, l := range list {
		step = gcd(step, l.has)
		for n := l.count; n > 0; n /= 2 {
			items++
		}
	}
	if want := (demand + step - 1) / step; want*items <= 1<<26 {
		return byWholeNodes(list, want, step)
	}
	return inPart(list, demand)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

const tooMuch = money.Nano(1) << 62

// byWholeNodes is a knapsack: best[i] is the least price of nodes that have i
// steps of the resource. Nodes alike are taken in bundles of 1, 2, 4, … .
func byWholeNodes(list []lot, want, step int64) money.Nano {
	best := slices.Repeat([]money.Nano{tooMuch}, int(want)+1)
	best[0] = 0
	for _, l := range list {
		left := l.count
		for bundle := int64(1); left > 0; bundle *= 2 {
			n := min(bundle, left)
			left -= n
			has, price := n*(l.has/step), money.Nano(n)*l.price
			for i := want; i > 0; i-- {
				if from := best[max(i-has, 0)]; from < tooMuch {
					best[i] = min(best[i], from+price)
				}
			}
		}
	}
	if best[want] >= tooMuch {
		return allOf(list)
	}
	return best[want]
}

func allOf(list []lot) (sum money.Nano) {
	for _, l := range list {
		sum += money.Nano(l.count) * l.price
	}
	return sum
}

// inPart takes the cheapest first, and of the last a part, rounded up: a price is
// a whole number.
func inPart(list []lot, demand int64) (sum money.Nano) {
	for _, l := range list {
		for range l.count {
			if demand <= l.has {
				part := new(big.Int).Mul(big.NewInt(int64(l.price)), big.NewInt(demand))
				part.Add(part, big.NewInt(l.has-1))
				return sum + money.Nano(part.Quo(part, big.NewInt(l.has)).Int64())
			}
			sum, demand = sum+l.price, demand-l.has
		}
	}
	return sum
}
