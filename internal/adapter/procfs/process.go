// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

// known is what was last read of a process.
type known struct {
	process sample.Process
	program program   // the one that ran when it was read
	envOf   program   // the one whose environment was read
	readAt  time.Time // when all its files were read
	askedAt time.Time // when a caller last named its PID
	goneAt  time.Time // when it was first missing, zero while it lives
	// settled: two full reads agreed. Before that a runtime may still be
	// moving the process to its cgroup, or about to run the real program.
	settled bool
	// refreshAt is when its files are to be read again although nothing tells
	// of a change.
	refreshAt time.Time
}

// Processes reads the processes of the given PIDs. One whose PID is missing
// from /proc comes back as it was last seen, with Gone set, until the grace
// time is over; one never seen has nothing but Gone. A process that exists but
// was not read yet, because it cannot be or the budget is used up, is left out.
//
// Nobody may change the answer: where nothing has changed the next call gives
// the same map again.
func (r *Reader) Processes(pids []int) map[int]sample.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := round{Reader: r, now: r.opts.Now()}
	r.alive.sweep()
	for _, pid := range pids {
		if pid > 0 {
			c.look(pid)
		}
	}
	c.refresh()
	out := c.answer(pids)
	r.forget(c.now)
	return out
}

// lastAnswer is what Processes said, and was asked, when something had changed.
type lastAnswer struct {
	pids, missing []int
	out           map[int]sample.Process
}

// answer is what is known of the processes asked for.
func (c *round) answer(pids []int) map[int]sample.Process {
	last := &c.last
	if last.out != nil && !c.changed && slices.Equal(pids, last.pids) && slices.Equal(c.missing, last.missing) {
		return last.out
	}
	out := make(map[int]sample.Process, len(pids))
	for _, pid := range pids {
		if k := c.known[pid]; k != nil {
			out[pid] = k.process
		}
	}
	for _, pid := range c.missing {
		out[pid] = sample.Process{Gone: true}
	}
	*last = lastAnswer{pids: slices.Clone(pids), missing: c.missing, out: out}
	return out
}

// readStat reads the stat of the process that has a PID now.
func (r *Reader) readStat(pid int) (stat, error) {
	text, err := readInto(r.path(pid, "stat"), r.buf, maxFile)
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// readAll reads every file of the process that has this stat into k. What
// cannot be read keeps its former value, which for a new process is none. When
// it is done the process may have ended, and the files may have been those of
// another one under the same PID: who calls must ask whether it still lives.
func (r *Reader) readAll(pid int, k *known, s stat, now time.Time) {
	p, envOf := k.process, k.envOf
	p.StartTicks, p.Comm, p.Gone = s.start, string(s.comm), false
	if text, err := readInto(r.path(pid, "cgroup"), r.buf, maxFile); err == nil && p.Cgroup != string(bytes.TrimSpace(text)) {
		p.Cgroup = string(bytes.TrimSpace(text))
	}
	if text, err := readInto(r.path(pid, "status"), r.buf, maxFile); err == nil {
		if uid, ok := keyed(text, "Uid:"); ok {
			p.UID = int(uid)
			p.User = r.users.name(int(uid), now)
		}
	}
	if s.program != envOf || !s.program.told() {
		if env, ok := readEnviron(r.path(pid, "environ")); ok {
			p.Env, envOf = env, s.program
		}
	}
	settled := !k.readAt.IsZero() && k.process.Cgroup == p.Cgroup && k.process.Comm == p.Comm && k.program == s.program
	wait := r.opts.Refresh
	if settled && !k.settled {
		wait = turn(pid, wait)
	}
	k.process, k.program, k.envOf, k.settled, k.readAt, k.goneAt = p, s.program, envOf, settled, now, time.Time{}
	k.refreshAt = now.Add(wait)
}

// turn spreads those whose first turn falls at once over a period: it is some
// share of the period, which a PID always has and its neighbours do not.
func turn(pid int, period time.Duration) time.Duration {
	const goldenRatio = 2654435769 // of 2^32
	return time.Duration(float64(uint32(pid)*goldenRatio) / (1 << 32) * float64(period))
}

func (r *Reader) path(pid int, file string) string {
	return r.opts.Proc + "/" + strconv.Itoa(pid) + "/" + file
}

// forget drops processes that are gone or were not asked for since the grace
// time, and the longest unasked ones above MaxKept. One that was not asked for
// now is remembered, and no longer watched.
func (r *Reader) forget(now time.Time) {
	for pid, k := range r.known {
		if k.askedAt.Before(now) {
			r.alive.drop(pid)
		}
		if over(k.goneAt, now, r.opts.Grace) || over(k.askedAt, now, r.opts.Grace) {
			r.drop(pid)
		}
	}
	excess := len(r.known) - r.opts.MaxKept
	if excess <= 0 {
		return
	}
	pids := make([]int, 0, len(r.known))
	for pid := range r.known {
		pids = append(pids, pid)
	}
	slices.SortFunc(pids, func(a, b int) int {
		if c := r.known[a].askedAt.Compare(r.known[b].askedAt); c != 0 {
			return c
		}
		return a - b
	})
	for _, pid := range pids[:excess] {
		r.drop(pid)
	}
}

func (r *Reader) drop(pid int) {
	r.alive.drop(pid)
	if r.known[pid] != nil {
		delete(r.known, pid)
		r.last.out = nil // it speaks of that process
	}
}

// Close closes what is held open. The reader stays usable.
func (r *Reader) Close() {
	r.mu.Lock()
	r.alive.close()
	r.mu.Unlock()
	r.usageMu.Lock()
	for _, f := range r.files {
		f.release(&r.holder)
	}
	r.usageMu.Unlock()
	r.reachMu.Lock()
	r.reach.alive.close()
	r.reachMu.Unlock()
}

func over(since, now time.Time, span time.Duration) bool {
	return !since.IsZero() && now.Sub(since) >= span
}
