// SPDX-License-Identifier: Apache-2.0

package signal

// Class is what an hour of one workload on one partition was like.
type Class string

// The classes. Busy says that kernels ran and nothing finer is known.
const (
	Unknown      Class = "unknown"
	Unused       Class = "unused"
	Empty        Class = "empty"
	Waiting      Class = "waiting"
	Busy         Class = "busy"
	SuspectStall Class = "suspect-stall"
	MemoryBound  Class = "memory-bound"
	ComputeBound Class = "compute-bound"
	LaunchBound  Class = "launch-bound"
	Mixed        Class = "mixed"
)

// Rule is the number of the rule that gave a class, as documents print it.
type Rule int

// The rules, tried in this order. Those from RuleWaiting on look at windows of
// a minute, the ones before at the hour.
const (
	RuleUnmeasured Rule = iota
	RuleUnused
	RuleEmpty
	RuleWaiting
	RuleNoDetail
	RuleStall
	RuleMemory
	RuleCompute
	RuleLaunch
	RuleMixed
)

// active are the classes of time in which kernels ran, by rule.
var active = [...]struct {
	rule  Rule
	class Class
}{{RuleStall, SuspectStall}, {RuleMemory, MemoryBound}, {RuleCompute, ComputeBound}, {RuleLaunch, LaunchBound}, {RuleMixed, Mixed}}

// Classes lists the classes, the coarsest first, then in the order of rules.
func Classes() []Class {
	return []Class{Unknown, Unused, Empty, Waiting, Busy, SuspectStall, MemoryBound, ComputeBound, LaunchBound, Mixed}
}

// Refines reports whether c is coarse itself or one of the classes that coarse
// leaves open: everything refines unknown, empty refines waiting, and the
// classes of working time refine busy.
func (c Class) Refines(coarse Class) bool {
	switch {
	case c == coarse, coarse == Unknown:
		return true
	case coarse == Waiting:
		return c == Empty
	case coarse != Busy:
		return false
	}
	for _, a := range active {
		if a.class == c {
			return true
		}
	}
	return false
}

// Reason says why an hour is unknown, or why it is only busy.
type Reason string

// The reasons. The first three are refusals of advice by the same name.
const (
	// NotMeasured: less than MinMeasured of the time was read.
	NotMeasured Reason = "coverage"
	// Indivisible: several holders on the partition; a device's signal is none
	// of a pod's.
	Indivisible Reason = "indivisible"
	// Skewed: the reads of the time disagree.
	Skewed Reason = "skewed"
	// NoActivity: no reading says whether kernels ran, as on a MIG instance of
	// an A100 without DCGM.
	NoActivity Reason = "no_activity_signal"
	// Undecided: waiting and working time are so near each other that the time
	// without a reading decides.
	Undecided Reason = "undecided"
	// NoDetail: a signal that the next rule needs is missing.
	NoDetail Reason = "no_detail_signal"
	// NoMajority: no class of working time has more of it than another and the
	// time that no rule could tell together.
	NoMajority Reason = "no_majority"
)

// Input is one figure that a rule looked at: a time-weighted mean over the hour
// unless its name says otherwise.
type Input struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Verdict is a class with what gave it.
type Verdict struct {
	Class  Class  `json:"class"`
	Rule   Rule   `json:"rule"`
	Reason Reason `json:"reason,omitempty"`
	// Missing are the inputs without which no finer class can be told.
	Missing []string `json:"missing,omitempty"`
	Inputs  []Input  `json:"inputs,omitempty"`
	// WaitsForInput: while it waited, much data came over PCIe.
	WaitsForInput bool `json:"waits_for_input,omitempty"`
	// RulesVersion names the table of thresholds.
	RulesVersion string `json:"rules_version"`
}
