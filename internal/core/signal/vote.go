// SPDX-License-Identifier: Apache-2.0

package signal

import "slices"

// findStalls applies rule 5. Minutes that may belong to a stall, had more been
// read, become busy: they must not be called launch-bound. A gap ends a stall,
// and one is looked for within the hour alone.
func findStalls(minutes []minute) {
	for len(minutes) > 0 {
		n := runOf(minutes, func(m *minute) bool { return m.stall() != no })
		if run := minutes[:n]; length(run) >= StallMS {
			markStall(run)
		}
		minutes = minutes[max(n, 1):]
	}
}

// markStall marks what surely is a stall in a run of minutes that may be one.
func markStall(run []minute) {
	for len(run) > 0 {
		n := max(runOf(run, func(m *minute) bool { return m.stall() == yes }), 1)
		rule := RuleNoDetail
		if run[0].stall() == yes && length(run[:n]) >= StallMS {
			rule = RuleStall
		}
		for i := range run[:n] {
			if run[i].rule > RuleWaiting {
				run[i].rule = rule
			}
		}
		run = run[n:]
	}
}

// runOf is how many minutes from the first on adjoin each other and all hold.
func runOf(minutes []minute, holds func(*minute) bool) int {
	n := 0
	for n < len(minutes) && holds(&minutes[n]) && (n == 0 || adjoin(minutes[n-1], minutes[n])) {
		n++
	}
	return n
}

func adjoin(a, b minute) bool { return a.StartMS+a.DurationMS == b.StartMS }

func length(run []minute) (ms int64) {
	for _, m := range run {
		ms += m.DurationMS
	}
	return ms
}

// tally is measured time by rule.
type tally [RuleMixed + 1]int64

func (t *tally) working() int64 {
	return t[RuleNoDetail] + t[RuleStall] + t[RuleMemory] + t[RuleCompute] + t[RuleLaunch] + t[RuleMixed]
}

// vote applies rules 3 to 9: first waiting against working, then what the
// working time was like.
func vote(minutes []minute) Verdict {
	var t tally
	for _, m := range minutes {
		t[m.rule] += m.MeasuredMS
	}
	dark, waiting, working := t[RuleUnmeasured], t[RuleWaiting], t.working()
	switch {
	case waiting == 0 && working == 0:
		return Verdict{Class: Unknown, Rule: RuleUnmeasured, Reason: NoActivity, Missing: []string{"busy"}}
	case dark == 0 && waiting >= working, waiting > working+dark:
		return Verdict{Class: Waiting, Rule: RuleWaiting}
	case working <= waiting+dark:
		return Verdict{Class: Unknown, Rule: RuleUnmeasured, Reason: Undecided, Missing: []string{"busy"}}
	}
	return t.workingClass(minutes)
}

// workingClass is the class with most of the working time, if it would still be
// that had the time without a class been another's.
func (t *tally) workingClass(minutes []minute) Verdict {
	open := t[RuleUnmeasured] + t[RuleNoDetail]
	for _, a := range active {
		if t.leads(a.rule, open) {
			return Verdict{Class: a.class, Rule: a.rule}
		}
	}
	v := Verdict{Class: Busy, Rule: RuleNoDetail, Reason: NoMajority}
	if open > 0 {
		v.Missing = missing(minutes)
	}
	if t[RuleNoDetail] > 0 {
		v.Reason = NoDetail
	}
	return v
}

// leads reports whether rule r has more time than each other and the open time
// together. Between equals without open time the earlier rule has it.
func (t *tally) leads(r Rule, open int64) bool {
	if t[r] == 0 {
		return false
	}
	for _, a := range active {
		other := t[a.rule] + open
		if a.rule != r && (t[r] < other || t[r] == other && (open > 0 || a.rule < r)) {
			return false
		}
	}
	return true
}

// missing are the names of what any minute without a class lacked, in order.
func missing(minutes []minute) []string {
	var out []string
	for _, m := range minutes {
		if m.rule != RuleNoDetail && m.rule != RuleUnmeasured {
			continue
		}
		for _, name := range m.missing() {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}
