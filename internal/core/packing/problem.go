// SPDX-License-Identifier: Apache-2.0

package packing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// unit is one GPU in whole numbers: it can be divided by 7 and 8 slices and by
// thousands.
const unit = int32(56_000)

// problem is a fleet in order, with numbers for names.
type problem struct {
	Fleet
	cards   []*GPU  // of all nodes, node after node
	first   []int32 // the first card of each node, and the end
	kind    []int32 // of each card
	kinds   []kind
	needs   []Need
	need    []int32 // of each pod
	rules   []rule
	rule    []int32 // of each pod
	domains []string
	domain  []int32    // of each pod
	home    []spot     // where each pod is
	stuck   []bool     // pods that cannot move, by themselves or by their gang
	gangs   [][]int32  // pods of each gang
	gang    []int32    // of each pod, -1 for none
	options [][]option // by need and kind of card
	allowed [][]bool   // by rule and node
	models  [][]bool   // by rule and kind of card
	cardOf  map[gpu.UUID]int32
}

// kind is what cards have in common as far as packing goes.
type kind struct {
	model  string
	bytes  uint64
	shared bool
	geo    *geometry // nil without MIG
}

// rule is what a pod asks of its node beside room.
type rule struct {
	Labels    map[string]string
	Models    []string
	Tolerates []string
}

// option is how a kind of card serves a need.
type option struct {
	whole int32 // that many cards
	milli int32
	// profiles that serve it, the smallest first.
	profiles []int32
	size     int32 // the least of a card that it takes, in units
}

func (o *option) ok() bool { return o.whole > 0 || o.milli > 0 || len(o.profiles) > 0 }

// spot is where a pod is or could be.
type spot struct {
	node    int32
	cards   []int32
	profile int32 // of the card's geometry, -1 for none
	milli   int32
}

// prepare puts a fleet in order and checks it.
func prepare(f Fleet) (*problem, error) {
	p := &problem{cardOf: map[gpu.UUID]int32{}}
	p.NowMS = f.NowMS
	p.Nodes, p.Pods = slices.Clone(f.Nodes), slices.Clone(f.Pods)
	slices.SortFunc(p.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Pods, func(a, b Pod) int { return strings.Compare(a.ID, b.ID) })
	if err := p.addNodes(); err != nil {
		return nil, err
	}
	p.addPods()
	if err := p.addHomes(); err != nil {
		return nil, err
	}
	p.addOptions()
	return p, nil
}

func (p *problem) addNodes() error {
	known := map[string]int32{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		n.GPUs = slices.Clone(n.GPUs)
		slices.SortFunc(n.GPUs, func(a, b GPU) int { return cmp.Compare(a.UUID, b.UUID) })
		if n.Name == "" || i > 0 && p.Nodes[i-1].Name == n.Name {
			return fmt.Errorf("plan: node %q is there twice, or has no name", n.Name)
		}
		if n.Hour != nil && *n.Hour < 0 || n.CPUMilli < 0 || n.MemoryBytes < 0 || n.MostPods < 0 {
			return fmt.Errorf("plan: node %s: price, CPU, memory and pods must not be below 0", n.Name)
		}
		p.first = append(p.first, int32(len(p.cards)))
		for j := range n.GPUs {
			if err := p.addCard(known, n, &n.GPUs[j]); err != nil {
				return err
			}
		}
	}
	p.first = append(p.first, int32(len(p.cards)))
	return nil
}

func (p *problem) addCard(known map[string]int32, n *Node, g *GPU) error {
	if _, twice := p.cardOf[g.UUID]; twice || g.UUID == "" {
		return fmt.Errorf("plan: node %s: GPU %q is there twice, or has no UUID", n.Name, g.UUID)
	}
	if g.Shared && g.MIG {
		return fmt.Errorf("plan: node %s: GPU %s is shared and has MIG on: say which of both pods are given", n.Name, g.UUID)
	}
	profiles := slices.Clone(g.Profiles)
	slices.SortFunc(profiles, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal([]any{g.Model, g.Bytes, g.Shared, g.Slices, profiles})
	if err != nil {
		return err
	}
	k, ok := known[string(text)]
	if !ok {
		is := kind{model: g.Model, bytes: g.Bytes, shared: g.Shared}
		if g.Slices > 0 && len(profiles) > 0 && !g.Shared {
			if is.geo, err = newGeometry(g.Slices, profiles); err != nil {
				return fmt.Errorf("plan: node %s: GPU %s (%s): %w", n.Name, g.UUID, g.Model, err)
			}
		}
		k = int32(len(p.kinds))
		known[string(text)] = k
		p.kinds = append(p.kinds, is)
	}
	p.cardOf[g.UUID] = int32(len(p.cards))
	p.cards, p.kind = append(p.cards, g), append(p.kind, k)
	return nil
}

// addPods numbers what pods have in common.
func (p *problem) addPods() {
	needs, rules, domains, gangs := map[Need]int32{}, map[string]int32{}, map[string]int32{}, map[string]int32{}
	for i := range p.Pods {
		pod := &p.Pods[i]
		p.need = append(p.need, numbered(needs, pod.Need, &p.needs, pod.Need))
		r := rule{pod.NodeLabels, sorted(pod.Models), sorted(pod.Tolerates)}
		text, _ := json.Marshal(r) // texts and maps of texts, which JSON always writes
		p.rule = append(p.rule, numbered(rules, string(text), &p.rules, r))
		p.domain = append(p.domain, numbered(domains, pod.Domain, &p.domains, pod.Domain))
		p.stuck = append(p.stuck, pod.Pinned != "")
		if pod.Gang == "" {
			p.gang = append(p.gang, -1)
			continue
		}
		g := numbered(gangs, pod.Gang, &p.gangs, nil)
		p.gangs[g] = append(p.gangs[g], int32(i))
		p.gang = append(p.gang, g)
	}
	for _, members := range p.gangs {
		if slices.ContainsFunc(members, func(i int32) bool { return p.stuck[i] }) {
			for _, i := range members {
				p.stuck[i] = true
			}
		}
	}
}

func sorted(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// numbered is the number of a key, which is added with its value where it is new.
func numbered[K comparable, V any](at map[K]int32, key K, list *[]V, value V) int32 {
	n, ok := at[key]
	if !ok {
		n = int32(len(*list))
		at[key] = n
		*list = append(*list, value)
	}
	return n
}

// addHomes finds where pods are.
func (p *problem) addHomes() error {
	nodes := map[string]int32{}
	for i := range p.Nodes {
		nodes[p.Nodes[i].Name] = int32(i)
	}
	for i := range p.Pods {
		pod := &p.Pods[i]
		if pod.ID == "" || i > 0 && p.Pods[i-1].ID == pod.ID {
			return fmt.Errorf("plan: pod %q is there twice, or has no id", pod.ID)
		}
		if err := pod.Need.check(); err != nil {
			return fmt.Errorf("plan: pod %s: %w", pod.ID, err)
		}
		if pod.CPUMilli < 0 || pod.MemoryBytes < 0 || pod.At.Milli < 0 {
			return fmt.Errorf("plan: pod %s: what it asks for must not be below 0", pod.ID)
		}
		n, ok := nodes[pod.At.Node]
		if !ok {
			return fmt.Errorf("plan: pod %s is on node %q, which is not in the fleet; leave pods without a node out", pod.ID, pod.At.Node)
		}
		s := spot{node: n, profile: -1, milli: int32(pod.At.Milli)}
		for _, id := range pod.At.GPUs {
			c, ok := p.cardOf[id]
			if !ok || c < p.first[n] || c >= p.first[n+1] {
				return fmt.Errorf("plan: pod %s has GPU %s, which is not on its node %s", pod.ID, id, pod.At.Node)
			}
			s.cards = append(s.cards, c)
		}
		if in := pod.At.Instance; in != nil {
			if len(s.cards) != 1 || !slices.Contains(p.cards[s.cards[0]].Layout, *in) || !p.cards[s.cards[0]].MIG || p.kinds[p.kind[s.cards[0]]].geo == nil {
				return fmt.Errorf("plan: pod %s has instance %s at slice %d, which its GPU's layout does not have", pod.ID, in.Profile, in.Placement.Start)
			}
			s.profile = int32(p.kinds[p.kind[s.cards[0]]].geo.index(in.Profile))
		}
		if (s.milli > 0) && (len(s.cards) != 1 || s.profile >= 0) {
			return fmt.Errorf("plan: pod %s has %d thousandths: give the one GPU that they are of", pod.ID, s.milli)
		}
		p.home = append(p.home, s)
	}
	return nil
}

func (n Need) check() error {
	set := 0
	for _, is := range []bool{n.GPUs != 0, n.Profile != "", n.Bytes != 0, n.Milli != 0} {
		if is {
			set++
		}
	}
	if set > 1 || n.GPUs < 0 || n.Milli < 0 || n.Milli > 1000 {
		return fmt.Errorf("need %+v: give one of GPUs, profile, bytes, or 1 to 1000 thousandths", n)
	}
	return nil
}

// addOptions finds which cards serve which need, and which nodes which rule.
func (p *problem) addOptions() {
	for _, n := range p.needs {
		row := make([]option, len(p.kinds))
		for k := range p.kinds {
			row[k] = p.kinds[k].serve(n)
		}
		p.options = append(p.options, row)
	}
	for _, r := range p.rules {
		on, of := make([]bool, len(p.Nodes)), make([]bool, len(p.kinds))
		for i := range p.Nodes {
			on[i] = r.allows(&p.Nodes[i])
		}
		for k := range p.kinds {
			of[k] = len(r.Models) == 0 || slices.Contains(r.Models, p.kinds[k].model)
		}
		p.allowed, p.models = append(p.allowed, on), append(p.models, of)
	}
}

func (r *rule) allows(n *Node) bool {
	for key, want := range r.Labels {
		if got, ok := n.Labels[key]; !ok || got != want {
			return false
		}
	}
	for _, t := range n.Taints {
		if !slices.Contains(r.Tolerates, t) {
			return false
		}
	}
	return true
}

// serve is how a kind of card serves a need.
func (k *kind) serve(n Need) option {
	switch {
	case n.GPUs > 0:
		return option{whole: int32(n.GPUs), size: unit * int32(n.GPUs)}
	case n.Milli > 0 && k.shared:
		return option{milli: int32(n.Milli), size: int32(n.Milli) * (unit / 1000)}
	case n.Bytes > 0 || n.Profile != "":
		o := k.instances(n)
		if len(o.profiles) == 0 && n.Bytes > 0 && k.bytes >= n.Bytes {
			return option{whole: 1, size: unit}
		}
		return o
	}
	return option{}
}

// instances are the profiles that serve a need, the smallest first.
func (k *kind) instances(n Need) (o option) {
	if k.geo == nil {
		return o
	}
	for i, p := range k.geo.profiles {
		if p.Name == n.Profile || n.Bytes > 0 && p.Bytes >= n.Bytes {
			o.profiles = append(o.profiles, int32(i))
		}
	}
	slices.SortFunc(o.profiles, func(a, b int32) int {
		x, y := k.geo.profiles[a], k.geo.profiles[b]
		return cmp.Or(cmp.Compare(k.geo.size[a], k.geo.size[b]), cmp.Compare(len(x.Name), len(y.Name)), cmp.Compare(x.Bytes, y.Bytes), strings.Compare(x.Name, y.Name))
	})
	if len(o.profiles) > 0 {
		o.size = k.units(o.profiles[0])
	}
	return o
}

// units is the size of an instance of a profile.
func (k *kind) units(profile int32) int32 {
	return unit * int32(k.geo.size[profile]) / int32(k.geo.slices)
}

// price is what going through a node is worth to the search: what it costs now.
// What is committed or not priced weighs as little as it can.
func (p *problem) price(n int32) money.Nano {
	node := &p.Nodes[n]
	switch {
	case node.Hour == nil:
		return 1
	case node.CommittedUntilMS > p.NowMS:
		return max(1, *node.Hour/1_000_000)
	}
	return max(1, *node.Hour)
}
