// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// computeShares is how the compute instances of a MIG instance divide it: each
// has its compute slices by the instance's (accounting.md §1), the only one
// too. What they leave of the instance is nobody's. All shares of an instance
// have one denominator, so that they can be added.
type computeShares struct {
	// slices are the instance's, 0 where the shares are not known.
	slices uint64
	// made are the slices of the compute instances together.
	made uint64
	// only: there is one compute instance at most.
	only bool
}

// sharesOf takes NVML's slices. Slices that are not known, or that are more
// than the instance has, make the shares of all its compute instances unknown.
func sharesOf(inst *sample.Instance) computeShares {
	c := computeShares{slices: uint64(inst.ComputeSlices), only: len(inst.Compute) <= 1}
	for _, ci := range inst.Compute {
		if ci.Slices == 0 {
			return computeShares{only: c.only}
		}
		c.made += uint64(ci.Slices)
	}
	if c.made > c.slices {
		return computeShares{only: c.only}
	}
	return c
}

// known: what share each compute instance has can be told.
func (c computeShares) known() bool { return c.slices > 0 || c.only }

// of is the share of one compute instance, 0 of 1 where it is not known. The
// only one is then taken for the whole: nobody else can be on the instance,
// and that is how instances are made unless somebody asks for less.
func (c computeShares) of(ci sample.ComputeInstance) gpu.Ratio {
	switch {
	case c.slices > 0:
		return gpu.Ratio{Num: uint64(ci.Slices), Den: c.slices}
	case c.only:
		return c.whole()
	}
	return gpu.Ratio{Den: 1}
}

// whole is all of the instance.
func (c computeShares) whole() gpu.Ratio {
	if c.slices == 0 {
		return gpu.One
	}
	return gpu.Ratio{Num: c.slices, Den: c.slices}
}
