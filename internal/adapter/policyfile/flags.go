// SPDX-License-Identifier: Apache-2.0

package policyfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Flags are a policy as it is written on a command line. What is empty leaves
// the file's.
type Flags struct {
	Basis        string   // --policy
	TurnsReserve bool     // --turns-reserve
	Distribute   []string // --distribute, each ACCOUNT=HOW
	Scope        string   // --distribute-scope
	Split        string   // --split
}

// The help texts of the flags, the same for every program.
const (
	BasisUsage        = "how a GPU is divided: held (what is used, then what grants keep unused), memory (what is used alone) or reserved (what grants keep alone)"
	TurnsReserveUsage = "let a replica under time-slicing keep its part of the replicas; without it a replica is a turn and keeps nothing"
	DistributeUsage   = "pass a platform account on, as ACCOUNT=HOW: idle=proportional, overhead=even, host=owner:infra, idle=fixed:research=3,platform=1 (repeatable)"
	ScopeUsage        = "whose workloads an account is passed on to: node (of the same node) or given (of the whole cluster's hour)"
	SplitUsage        = "how a node's price is split into GPUs, CPU and memory: aws-scad, opencost, residual, fixed-ratio, gpu-rate or all-gpu"
)

// Given says whether any flag is.
func (f *Flags) Given() bool {
	return f.Basis != "" || f.TurnsReserve || len(f.Distribute) > 0 || f.Scope != "" || f.Split != ""
}

// Over is the policy of a file with what the flags say in place of what it says.
// A distribution replaces the file's for that account. A policy that the flags
// change loses the file's id: it is another one.
func (f *Flags) Over(file File) (File, error) {
	out := file
	p := &out.Policy
	p.Distribute = slices.Clone(p.Distribute)
	if f.Basis != "" {
		p.Basis = allocation.Basis(f.Basis)
	}
	p.TurnsReserve = p.TurnsReserve || f.TurnsReserve
	if f.Scope != "" {
		p.Scope = allocation.Scope(f.Scope)
	}
	var given []allocation.Distribution
	for _, text := range f.Distribute {
		d, err := ParseDistribution(text)
		if err != nil {
			return file, fmt.Errorf("--distribute %q: %w", text, err)
		}
		p.Distribute = slices.DeleteFunc(p.Distribute, func(o allocation.Distribution) bool { return o.Account == d.Account })
		given = append(given, d)
	}
	p.Distribute = append(p.Distribute, given...)
	if f.Basis != "" || f.TurnsReserve || f.Scope != "" || len(given) > 0 {
		p.ID = ""
	}
	if f.Split != "" {
		out.Split = pricing.Rule(f.Split)
		if err := checkRule(out.Split); err != nil {
			return file, fmt.Errorf("--split: %w", err)
		}
	}
	if err := p.Check(); err != nil {
		return file, err
	}
	return out, nil
}

// ParseDistribution reads ACCOUNT=HOW: HOW is proportional, even, owner:NAME, or
// fixed:NAME=WEIGHT,NAME=WEIGHT.
func ParseDistribution(text string) (allocation.Distribution, error) {
	account, how, ok := strings.Cut(text, "=")
	if !ok {
		return allocation.Distribution{}, fmt.Errorf("write ACCOUNT=HOW, such as idle=proportional")
	}
	how, rest, _ := strings.Cut(how, ":")
	d := allocation.Distribution{Account: account, How: allocation.How(how)}
	switch d.How {
	case allocation.Owner:
		if rest != "" {
			d.Shares = []allocation.Share{{To: rest, Weight: 1}}
		}
	case allocation.Fixed:
		for _, part := range strings.Split(rest, ",") {
			share, err := parseShare(part)
			if err != nil {
				return d, err
			}
			d.Shares = append(d.Shares, share)
		}
	default:
		if rest != "" {
			return d, fmt.Errorf("%s takes no names; write owner:NAME or fixed:NAME=WEIGHT,…", how)
		}
	}
	one := allocation.Policy{Distribute: []allocation.Distribution{d}}
	return d, one.Check()
}

// parseShare reads NAME=WEIGHT. A name may hold "=", a weight cannot.
func parseShare(text string) (allocation.Share, error) {
	at := strings.LastIndex(text, "=")
	if at < 0 {
		return allocation.Share{}, fmt.Errorf("%q is no share; write NAME=WEIGHT, such as research=3", text)
	}
	weight, err := strconv.ParseUint(text[at+1:], 10, 33)
	if err != nil {
		return allocation.Share{}, fmt.Errorf("%q is no share; the weight is a whole number from 1 to 2^32", text)
	}
	return allocation.Share{To: text[:at], Weight: weight}, nil
}
