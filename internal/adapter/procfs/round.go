// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

// round is one call of Processes: it finds out what has changed since the last.
type round struct {
	*Reader
	now time.Time
	// stale are processes that are to be read whole once more.
	stale []stale
	// missing are PIDs without a process, of which nothing is remembered.
	missing []int
	// changed: some process is no longer what the last answer says.
	changed bool
}

type stale struct {
	pid int
	*known
}

// look finds out whether the process that has a PID is the one that is known,
// and reads it whole where it is not.
func (c *round) look(pid int) {
	k := c.known[pid]
	switch {
	case k == nil && c.spent():
		return
	case k != nil:
		k.askedAt = c.now
		if c.alive.has(pid) {
			if !k.settled || !c.now.Before(k.refreshAt) {
				c.stale = append(c.stale, stale{pid, k})
			}
			return // it lives, and there is nothing else to ask
		}
	}
	s, err := c.readStat(pid)
	switch {
	case err != nil && vanished(err):
		c.gone(pid, k)
	case err != nil:
		// What was read before stands, if anything was.
	case k == nil || k.process.StartTicks != s.start:
		c.meet(pid, k, s)
	case s.ended():
		// Nothing more can be read of it, and nothing changes.
	case k.differs(s) || !c.now.Before(k.refreshAt):
		c.stale = append(c.stale, stale{pid, k})
	}
}

// differs reports whether a process is not, or not surely, what was read of it.
func (k *known) differs(s stat) bool {
	return !k.settled || !k.goneAt.IsZero() || string(s.comm) != k.process.Comm || s.program != k.program
}

// spent reports whether the time for reading whole is used up.
func (c *round) spent() bool {
	return c.opts.Budget > 0 && c.opts.Now().Sub(c.now) >= c.opts.Budget
}

// meet reads a process for the first time. old is one that had its PID before,
// which is over.
func (c *round) meet(pid int, old *known, s stat) {
	c.alive.drop(pid)
	if c.spent() {
		c.drop(pid)
		return
	}
	k := &known{askedAt: c.now}
	c.readAll(pid, k, s, c.now)
	if !c.confirm(pid, s) {
		c.gone(pid, old)
		return
	}
	c.known[pid], c.changed = k, true
}

// confirm reports whether the process that has a PID is the one whose stat was
// read, and watches it from now on.
func (c *round) confirm(pid int, s stat) bool {
	c.alive.add(c.opts.Proc, pid, s)
	again, err := c.readStat(pid)
	if err != nil || again.start != s.start {
		c.alive.drop(pid)
		return false
	}
	return true
}

// gone notes that no process has a PID. k is the last that had it, if known: it
// is remembered until the grace time is over. A new process has another start
// time, and ends the memory of the old one.
func (c *round) gone(pid int, k *known) {
	if k == nil || over(k.goneAt, c.now, c.opts.Grace) {
		c.drop(pid)
		c.missing = append(c.missing, pid)
		return
	}
	c.alive.drop(pid)
	if k.goneAt.IsZero() {
		k.goneAt, k.process.Gone = c.now, true
		c.changed = true
	}
}

// leastRefreshed is how many processes a call reads whole once more, whatever
// the budget: so that each has its turn at last.
const leastRefreshed = 16

// refresh reads whole what has to be, the longest unread first, as far as the
// budget goes.
func (c *round) refresh() {
	slices.SortFunc(c.stale, func(a, b stale) int { return cmp.Or(a.readAt.Compare(b.readAt), a.pid-b.pid) })
	var done []refreshed
	for i, k := range c.stale {
		if i >= leastRefreshed && c.spent() {
			break
		}
		if s, err := c.readStat(k.pid); err == nil && s.start == k.process.StartTicks && !s.ended() {
			done = append(done, refreshed{stale: k, stat: s, before: *k.known})
			c.readAll(k.pid, k.known, s, c.now)
		}
	}
	c.alive.sweep()
	for _, k := range done {
		c.settle(k)
	}
}

// refreshed is a process that was read whole once more.
type refreshed struct {
	stale
	stat   stat // under which it was read
	before known
}

// settle takes over what was read of a process, if it still lives: else the
// files may have been another's. That it ended is found by the next call, and
// until then the reading before stands.
func (c *round) settle(k refreshed) {
	if !c.alive.has(k.pid) && !c.confirm(k.pid, k.stat) {
		*k.known = k.before
	}
	c.changed = c.changed || !same(k.before.process, k.process)
}

func same(a, b sample.Process) bool {
	return a.StartTicks == b.StartTicks && a.Cgroup == b.Cgroup && a.Comm == b.Comm && a.UID == b.UID && a.User == b.User &&
		a.Gone == b.Gone && maps.Equal(a.Env, b.Env)
}
