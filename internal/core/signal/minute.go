// SPDX-License-Identifier: Apache-2.0

package signal

// stall is rule 5 for one window. It takes StallMS of them to make a stall.
func (r *readings) stall() tri {
	return all(r.gr.atLeast(StallActive), r.sm.below(StallWork), r.tensor.below(StallWork/TensorPeak),
		r.dram.below(StallWork/DRAMPeak), r.lowPower)
}

// working applies rules 4 and 6 to 9 to a window in which kernels ran. As soon as a
// rule cannot be told, the window is busy.
func (r *readings) working() Rule {
	if !r.sm.ok || !r.dram.ok {
		return RuleNoDetail
	}
	rules := [...]struct {
		rule  Rule
		holds tri
	}{
		{RuleMemory, all(r.dram.atLeast(MemoryFrom), r.dram.atLeastThat(r.tensor), r.dram.atLeastThat(r.fp))},
		{RuleCompute, all(either(r.tensor.atLeast(ComputeFrom), r.fp.atLeast(ComputeFrom)), r.sm.atLeast(ComputeSM))},
		{RuleLaunch, all(r.gr.atLeast(LaunchActive), r.sm.below(LaunchSM))},
	}
	for _, rule := range rules {
		switch rule.holds {
		case yes:
			return rule.rule
		case maybe:
			return RuleNoDetail
		}
	}
	return RuleMixed
}

// missing names what a finer class needs and is not there.
func (r *readings) missing() []string {
	var out []string
	for _, in := range [...]struct {
		name string
		have bool
	}{{"sm_active", r.sm.ok}, {"dram_active", r.dram.ok}, {"tensor_active", r.tensor.ok}, {"fp_active", r.fp.ok}} {
		if !in.have {
			out = append(out, in.name)
		}
	}
	if r.lowPower == maybe {
		if s := *r; s.stallBut() == yes {
			out = append(out, "power_and_idle_power")
		}
	}
	return out
}

// stallBut is rule 5 without its power.
func (r readings) stallBut() tri {
	r.lowPower = yes
	return r.stall()
}
