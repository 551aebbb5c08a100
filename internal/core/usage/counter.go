// SPDX-License-Identifier: Apache-2.0

package usage

import "math/bits"

// counter follows a counter that only grows, and starts again at 0 when what
// keeps it does (a driver reload, a new cgroup). What it grew by between two
// samples is spread evenly over the time between them.
type counter struct {
	known, growing bool
	last           uint64
	delta, given   uint64
	from, to       int64
}

// observe takes the value read at a time, for the time since the last sample.
// After a reset the growth is what it counted since: what it had counted
// between the last reading and the reset is lost. A nil value is not read;
// the growth then comes with the next reading.
func (c *counter) observe(v *uint64, from, to int64) {
	if v == nil || (c.known && from == to) {
		return
	}
	if c.known {
		c.growing, c.from, c.to, c.given = true, from, to, 0
		c.delta = *v
		if *v >= c.last {
			c.delta = *v - c.last
		}
	}
	c.known, c.last = true, *v
}

// take is the part of the growth that falls before a time and was not taken
// yet; false when nothing is known of the time.
func (c *counter) take(until int64) (uint64, bool) {
	if !c.growing {
		return 0, false
	}
	hi, lo := bits.Mul64(c.delta, uint64(until-c.from))
	upTo, _ := bits.Div64(hi, lo, uint64(c.to-c.from))
	part := upTo - c.given
	c.given = upTo
	return part, true
}

func (c *counter) clear() { c.growing = false }

// addUint adds, and stays at the largest number instead of wrapping.
func addUint(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry != 0 {
		return ^uint64(0)
	}
	return sum
}

// mulUint multiplies, and stays at the largest number instead of wrapping.
func mulUint(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi != 0 {
		return ^uint64(0)
	}
	return lo
}
