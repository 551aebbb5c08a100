// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"slices"
	"strings"
)

// Basis is the rule by which a partition is divided among its holders.
type Basis string

// The rules of accounting.md §4.2. Under all of them a leak pays first, for
// what it occupies, and nobody pays for what a neighbour occupies.
const (
	// Held: what a holder uses, then what its grant keeps from others unused.
	Held Basis = "held"
	// Memory: what a holder uses, and nothing else.
	Memory Basis = "memory"
	// Reserved: what a grant keeps from others, used or not; a replica under
	// time-slicing counts as its part of the replicas.
	Reserved Basis = "reserved"
)

// Policy is what an operator decides about the division of cost. The zero value
// is the default: held, with every platform account apart.
type Policy struct {
	// ID names the policy on every entry. Empty: a text made from its rules.
	ID    string `json:"id,omitempty"`
	Basis Basis  `json:"basis,omitempty"`
	// TurnsReserve makes a replica under time-slicing keep replicas held / N of
	// the partition, where the default is nothing: a replica is a turn.
	TurnsReserve bool `json:"turns_reserve,omitempty"`
	// Distribute says which platform accounts are passed on, and how. An
	// account that is not named stays apart.
	Distribute []Distribution `json:"distribute,omitempty"`
	// Scope is whose workloads an account is passed on to: those of the node
	// (the default), or of all entries that are given to Distribute.
	Scope Scope `json:"scope,omitempty"`
}

// Scope is how far the cost of a platform account is passed on.
type Scope string

// The scopes: Allocate itself distributes within a node; ScopeGiven leaves it
// to the caller, who gives Distribute the entries of a whole cluster's hour.
const (
	ScopeNode  Scope = "node"
	ScopeGiven Scope = "given"
)

// How is how the cost of a platform account is passed on.
type How string

// The ways: in proportion to the workloads' own charges for the same resource,
// in equal parts to each workload, by given shares to named owners, or whole to
// one named owner.
const (
	Proportional How = "proportional"
	Even         How = "even"
	Fixed        How = "fixed"
	Owner        How = "owner"
)

// Distribution passes one platform account on.
type Distribution struct {
	Account string  `json:"account"`
	How     How     `json:"how"`
	Shares  []Share `json:"shares,omitempty"`
}

// Share is a named owner's part: Weight of the sum of all weights.
type Share struct {
	To     string `json:"to"`
	Weight uint64 `json:"weight"`
}

func (p Policy) basis() Basis {
	if p.Basis == "" {
		return Held
	}
	return p.Basis
}

// Name is the policy's id, or a text that says its rules.
func (p Policy) Name() string {
	if p.ID != "" {
		return p.ID
	}
	words := []string{string(p.basis())}
	if p.TurnsReserve {
		words = append(words, "turns")
	}
	for _, d := range p.sorted() {
		words = append(words, d.String())
	}
	if p.Scope == ScopeGiven && len(p.Distribute) > 0 {
		words = append(words, "scope "+string(p.Scope))
	}
	return strings.Join(words, ", ")
}

// String is the distribution in a few words.
func (d Distribution) String() string {
	text := d.Account + " " + string(d.How)
	for _, s := range d.Shares {
		text += fmt.Sprintf(" %s:%d", s.To, s.Weight)
	}
	return text
}

// sorted is the distributions in order of their accounts.
func (p Policy) sorted() []Distribution {
	out := slices.Clone(p.Distribute)
	slices.SortFunc(out, func(a, b Distribution) int { return strings.Compare(a.Account, b.Account) })
	return out
}

// Check returns an error that names the first setting that cannot be.
func (p Policy) Check() error {
	if !slices.Contains([]Basis{Held, Memory, Reserved}, p.basis()) {
		return fmt.Errorf("policy %q: basis is %q; write held, memory or reserved", p.ID, p.Basis)
	}
	if !slices.Contains([]Scope{"", ScopeNode, ScopeGiven}, p.Scope) {
		return fmt.Errorf("policy %q: scope is %q; write node or given", p.ID, p.Scope)
	}
	seen := map[string]bool{}
	for _, d := range p.Distribute {
		if err := d.check(); err != nil {
			return fmt.Errorf("policy %q: distribute %q: %w", p.ID, d.Account, err)
		}
		if seen[d.Account] {
			return fmt.Errorf("policy %q: distribute names %q twice; keep one", p.ID, d.Account)
		}
		seen[d.Account] = true
	}
	return nil
}

func (d Distribution) check() error {
	if !slices.Contains(PlatformAccounts(), d.Account) {
		return fmt.Errorf("no such platform account; write one of %s", strings.Join(PlatformAccounts(), ", "))
	}
	sum, named := uint64(0), map[string]bool{}
	for _, s := range d.Shares {
		switch {
		case s.To == "" || s.Weight == 0 || s.Weight > 1<<32:
			return fmt.Errorf("share %q has weight %d; name an owner and a weight from 1 to 2^32", s.To, s.Weight)
		case slices.Contains(PlatformAccounts(), s.To):
			return fmt.Errorf("share to %q, which is a platform account itself: nothing is passed on twice; name an owner", s.To)
		case named[s.To]:
			return fmt.Errorf("share to %q is there twice; add the weights up", s.To)
		}
		named[s.To] = true
		sum += s.Weight
	}
	switch d.How {
	case Proportional, Even:
		if sum > 0 {
			return fmt.Errorf("%s takes no shares; write fixed, or leave the shares out", d.How)
		}
	case Fixed:
		if sum == 0 {
			return fmt.Errorf("fixed without shares; name owners and weights")
		}
	case Owner:
		if len(d.Shares) != 1 {
			return fmt.Errorf("owner with %d shares; name one owner", len(d.Shares))
		}
	default:
		return fmt.Errorf("how is %q; write proportional, even, fixed or owner", d.How)
	}
	return nil
}
