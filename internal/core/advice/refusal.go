// SPDX-License-Identifier: Apache-2.0

package advice

import "slices"

// Code names why there is no advice, or what limits it.
type Code string

// The codes.
const (
	NotEnoughHistory    Code = "not_enough_history"
	Coverage            Code = "coverage"
	Indivisible         Code = "indivisible"
	Skewed              Code = "skewed"
	NoSignal            Code = "no_signal"
	PreallocatedUnknown Code = "preallocated_unknown"
	PrefixCache         Code = "prefix_cache"
	Saturated           Code = "saturated"
	SuspectStall        Code = "suspect_stall"
	MultiGPU            Code = "multi_gpu"
	Graphics            Code = "graphics"
	MIGUnsupported      Code = "mig_unsupported"
	ArchUnsupported     Code = "arch_unsupported"
	LatencyUnknown      Code = "latency_unknown"
	ChangedWorkload     Code = "changed_workload"
	LeakPresent         Code = "leak_present"
	NoCapacityEffect    Code = "no_capacity_effect"
	Committed           Code = "committed"
	NoPrice             Code = "no_price"
	OptedOut            Code = "opted_out"
	// NoFit: nothing smaller holds what is needed; the tests say by how much.
	NoFit Code = "no_fit"
	// TrustDomain: the tenants do not trust each other.
	TrustDomain Code = "trust_domain"
)

// beside are the codes that limit advice and do not prevent it.
var beside = []Code{LatencyUnknown, LeakPresent, NoCapacityEffect, Committed, NoPrice}

// Refusal is a code, what is missing, and how to get it, in sentences of Wording.
type Refusal struct {
	Code     Code   `json:"code"`
	Missing  string `json:"missing"`
	HowToGet string `json:"how_to_get"`
	// Of is the one of several workloads that it is of, "" where there is one.
	Of string `json:"of,omitempty"`
}

func lack(c Code, missing, how string) Refusal {
	return Refusal{Code: c, Missing: missing, HowToGet: how}
}

// Blocks reports whether there is no advice because of it.
func (r Refusal) Blocks() bool { return !slices.Contains(beside, r.Code) }

func blocked(refusals []Refusal) bool { return slices.ContainsFunc(refusals, Refusal.Blocks) }
