// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

// known is what was last read of a process.
type known struct {
	process sample.Process
	readAt  time.Time // when all its files were read
	askedAt time.Time // when a caller last named its PID
	goneAt  time.Time // when it was first missing, zero while it lives
	// settled: two full reads agreed. Before that a runtime may still be
	// moving the process to its cgroup, or about to run the real program.
	settled bool
	stat    held
}

// Processes reads the processes of the given PIDs. One whose PID is missing
// from /proc comes back as it was last seen, with Gone set, until the grace
// time is over; one never seen has nothing but Gone. A process that exists but
// cannot be read, and was not read before, is left out.
func (r *Reader) Processes(pids []int) map[int]sample.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Now()
	out := make(map[int]sample.Process, len(pids))
	for _, pid := range pids {
		if _, twice := out[pid]; twice || pid <= 0 {
			continue
		}
		if p, ok := r.process(pid, now); ok {
			out[pid] = p
		}
	}
	r.forget(now)
	return out
}

func (r *Reader) process(pid int, now time.Time) (sample.Process, bool) {
	k := r.known[pid]
	if k != nil {
		k.askedAt = now
	}
	s, err := r.readStat(pid, k)
	switch {
	case err != nil && vanished(err):
		return r.gone(k, now), true
	case err != nil:
		if k == nil {
			return sample.Process{}, false
		}
		return k.process, true
	case k == nil || k.process.StartTicks != s.start:
		fresh := &known{askedAt: now}
		if !r.readAll(pid, fresh, s, now) {
			return r.gone(k, now), true
		}
		r.drop(pid)
		k, r.known[pid] = fresh, fresh
	case s.ended():
		// Nothing more can be read of it, and nothing changes.
	case !k.settled || string(s.comm) != k.process.Comm || now.Sub(k.readAt) >= r.opts.Refresh:
		if !r.readAll(pid, k, s, now) {
			return r.gone(k, now), true
		}
	}
	return k.process, true
}

// gone is the answer for a missing process. A new process under the same PID
// has another start time and ends the memory of the old one (process).
func (r *Reader) gone(k *known, now time.Time) sample.Process {
	if k == nil {
		return sample.Process{Gone: true}
	}
	if k.goneAt.IsZero() {
		k.goneAt = now
		k.process.Gone = true
	}
	if now.Sub(k.goneAt) >= r.opts.Grace {
		return sample.Process{Gone: true}
	}
	return k.process
}

// readStat reads the stat of a process: of the very one that k is, where its
// file is held, or else of the one that has the PID now.
func (r *Reader) readStat(pid int, k *known) (stat, error) {
	if k != nil && k.stat.fd != 0 {
		text, err := k.stat.read(r.buf[:cap(r.buf)])
		if err == nil {
			return parseStat(text)
		}
		r.holder.release(&k.stat)
	}
	text, err := readInto(r.path(pid, "stat"), r.buf, maxFile)
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// readAll reads every file of a process into k. What cannot be read keeps its
// former value, which for a new process is none. It reports false, and leaves
// k alone, where the process ended meanwhile: the files may then be those of
// another one under the same PID.
func (r *Reader) readAll(pid int, k *known, s stat, now time.Time) bool {
	p := k.process
	p.StartTicks, p.Comm, p.Gone = s.start, string(s.comm), false
	if text, err := readInto(r.path(pid, "cgroup"), r.buf, maxFile); err == nil {
		p.Cgroup = strings.TrimSpace(string(text))
	}
	if text, err := readInto(r.path(pid, "status"), r.buf, maxFile); err == nil {
		if uid, ok := keyed(text, "Uid:"); ok {
			p.UID = int(uid)
			p.User = r.users.name(int(uid), now)
		}
	}
	if env, ok := readEnviron(r.path(pid, "environ")); ok {
		p.Env = env
	}
	r.holder.hold(&k.stat, r.path(pid, "stat"))
	if again, err := r.readStat(pid, k); err != nil || again.start != s.start {
		r.holder.release(&k.stat)
		return false
	}
	k.settled = !k.readAt.IsZero() && k.process.Cgroup == p.Cgroup && k.process.Comm == p.Comm
	k.process, k.readAt, k.goneAt = p, now, time.Time{}
	return true
}

func (r *Reader) path(pid int, file string) string {
	return r.opts.Proc + "/" + strconv.Itoa(pid) + "/" + file
}

// forget drops processes that are gone or were not asked for since the grace
// time, and the longest unasked ones above MaxKept. Of one that was not asked
// for now, only the memory stays: the kernel need not keep an open file for it.
func (r *Reader) forget(now time.Time) {
	for pid, k := range r.known {
		if k.askedAt.Before(now) {
			r.holder.release(&k.stat)
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
	if k := r.known[pid]; k != nil {
		r.holder.release(&k.stat)
		delete(r.known, pid)
	}
}

// Close closes the files that are held open. The reader stays usable.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.known {
		r.holder.release(&k.stat)
	}
}

func over(since, now time.Time, span time.Duration) bool {
	return !since.IsZero() && now.Sub(since) >= span
}
