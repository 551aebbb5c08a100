// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"cmp"
	"slices"
)

// Hour is a workload's time on a partition within one hour of the clock.
type Hour struct {
	// DurationMS is how long it had a grant or a process there: the whole hour,
	// or the part that it lived.
	DurationMS int64
	Windows    []Window
	// IdleMW is the idle power of the device, nil while not known.
	IdleMW *uint64
}

// minute is a window with what its rules say.
type minute struct {
	*Window
	readings
	rule Rule
}

// Classify gives the hour its class.
//
// Unused and empty are said of all of the time only. Otherwise waiting and
// working minutes are counted, by measured time; an hour that worked for more
// of it has the class of most of its working minutes. Minutes that no rule can
// tell count against whatever would win.
func Classify(h Hour) Verdict {
	windows := slices.Clone(h.Windows)
	slices.SortStableFunc(windows, func(a, b Window) int { return cmp.Compare(a.StartMS, b.StartMS) })
	good, lost := sift(windows)
	if reason := tooLittle(h.DurationMS, good, lost); reason != "" {
		return Verdict{Class: Unknown, Rule: RuleUnmeasured, Reason: reason, RulesVersion: RulesVersion,
			Inputs: []Input{{"measured_share", ratio(timeOf(good), h.DurationMS)}}}
	}
	minutes := read(good, h.IdleMW)
	v := judge(minutes)
	v.RulesVersion = RulesVersion
	v.Inputs = append([]Input{{"measured_share", ratio(timeOf(good), h.DurationMS)}}, inputs(minutes)...)
	v.WaitsForInput = v.Class == Waiting && waitsForInput(minutes)
	return v
}

// sift parts the windows that speak for the workload from the time that does not.
func sift(windows []Window) (good []*Window, lost map[Reason]int64) {
	lost = map[Reason]int64{}
	for i := range windows {
		w := &windows[i]
		reason := w.refusal()
		if reason == "" {
			good = append(good, w)
			lost[NotMeasured] += max(w.DurationMS-w.MeasuredMS, 0)
			continue
		}
		lost[reason] += w.DurationMS
	}
	return good, lost
}

// tooLittle is rule 0: the reason for most of the lost time, if that is too much.
func tooLittle(duration int64, good []*Window, lost map[Reason]int64) Reason {
	if duration > 0 && ratio(timeOf(good), duration) >= MinMeasured {
		return ""
	}
	lost[NotMeasured] = max(duration-timeOf(good)-lost[Indivisible]-lost[Skewed], 0)
	worst := NotMeasured
	for _, r := range []Reason{Indivisible, Skewed} {
		if lost[r] > lost[worst] {
			worst = r
		}
	}
	return worst
}

func timeOf(windows []*Window) (ms int64) {
	for _, w := range windows {
		ms += w.MeasuredMS
	}
	return ms
}

func ratio(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// read applies the rules of a minute, RuleUnmeasured where activity is not known.
func read(good []*Window, idleMW *uint64) []minute {
	out := make([]minute, len(good))
	for i, w := range good {
		m := minute{Window: w, readings: w.readings(idleMW)}
		switch {
		case !m.gr.ok:
			m.rule = RuleUnmeasured
		case m.gr.v < WaitingBelow:
			m.rule = RuleWaiting
		default:
			m.rule = m.working()
		}
		out[i] = m
	}
	return out
}

// judge applies rules 1 to 9 to the minutes of an hour.
func judge(minutes []minute) Verdict {
	running := func(m minute) bool { return m.Running || m.PeakBytes != nil && *m.PeakBytes > 0 }
	if !slices.ContainsFunc(minutes, running) {
		return Verdict{Class: Unused, Rule: RuleUnused}
	}
	if neverActive(minutes) {
		return Verdict{Class: Empty, Rule: RuleEmpty}
	}
	findStalls(minutes)
	return vote(minutes)
}

// neverActive is rule 2: memory is held, and no minute of the hour had a kernel.
// A mean of 0 is a maximum of 0.
func neverActive(minutes []minute) bool {
	held := false
	for _, m := range minutes {
		if !m.gr.ok || m.gr.v > 0 {
			return false
		}
		held = held || m.PeakBytes != nil && *m.PeakBytes > 0
	}
	return held
}
