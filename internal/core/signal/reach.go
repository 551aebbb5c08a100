// SPDX-License-Identifier: Apache-2.0

package signal

// Sight is which signals of a partition can be read at all: what its generation,
// its driver and the tools on the node allow. Ask the driver for each, never the
// name of the model.
type Sight struct {
	Activity, SM, DRAM, Tensor, FP bool
	// Power: the device's power and limit are read, its idle power is known.
	Power bool
}

// Reach lists the classes that an hour can have under a sight, in the order of
// Classes. What is not in it cannot be known there and is unknown or busy
// instead.
func Reach(s Sight) []Class {
	detail := s.Activity && s.SM && s.DRAM
	can := map[Class]bool{
		Unknown: true, Unused: true,
		Empty: s.Activity, Waiting: s.Activity, Busy: s.Activity,
		LaunchBound: detail, Mixed: detail,
		ComputeBound: detail && (s.Tensor || s.FP),
		MemoryBound:  detail && s.Tensor && s.FP,
		SuspectStall: detail && s.Tensor && s.Power,
	}
	var out []Class
	for _, c := range Classes() {
		if can[c] {
			out = append(out, c)
		}
	}
	return out
}
