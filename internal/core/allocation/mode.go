// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// modeClock follows how a partition is shared, piece after piece.
type modeClock struct {
	known []gpu.Mode
	at    int   // of those known, the mode of the piece
	ms    int64 // length of the piece
	piece int   // counts pieces
	all   []int64
}

// modeTimes is for how long a line stood in each mode, and the last piece that
// was counted.
type modeTimes struct {
	ms    []int64
	piece int
}

// begin is the next piece: ms milliseconds of a record.
func (m *modeClock) begin(rec *usage.PartitionRecord, ms int64) {
	mode := rec.Mode
	if rec.MIGParent {
		mode = gpu.ModeMIG
	}
	if m.at >= len(m.known) || m.known[m.at] != mode {
		if m.at = slices.Index(m.known, mode); m.at < 0 {
			m.at = len(m.known)
			m.known, m.all = append(m.known, mode), append(m.all, 0)
		}
	}
	m.ms = ms
	m.piece++
	m.all[m.at] += ms
}

// stands counts the piece for a line, once.
func (c *cell) stands() {
	m := &c.book.modes
	if c.modes.piece == m.piece {
		return
	}
	c.modes.piece = m.piece
	for len(c.modes.ms) <= m.at {
		c.modes.ms = append(c.modes.ms, 0)
	}
	c.modes.ms[m.at] += m.ms
}

// mode is the one in which a line stood longest. A line that had no part in any
// piece has the partition's.
func (c *cell) mode() gpu.Mode {
	ms := c.modes.ms
	if len(ms) == 0 {
		ms = c.book.modes.all
	}
	var longest gpu.Mode
	most := int64(0)
	for i, n := range ms {
		if mode := c.book.modes.known[i]; n > most || n == most && n > 0 && mode < longest {
			longest, most = mode, n
		}
	}
	return longest
}
