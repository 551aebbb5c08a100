// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// reachCache holds what each container was found to reach.
type reachCache struct {
	pods    podFinder
	scanned time.Time
	by      map[string]reached // by container cgroup
	alive   watch              // of the processes through which they were looked at
	err     error
}

type reached struct {
	pid   int
	start uint64
	again time.Time // when to look again
	reach sample.Reach
}

// Reach lists which GPU device nodes the containers of pods can open, sorted by
// pod UID and container id. A container that was looked at and can open none
// is listed with none: that is known, where a missing one is not. It looks for
// new containers every ReachScan, and again at one whose first process ended,
// or after ReachRefresh; in between the last answer stands, as long as that
// process lives: what ended reaches nothing, and its grant is over. Containers
// that could be looked at come back beside the error for those that could not.
//
// In cgroup v1 a node counts when the container sees it in its /dev and its
// devices cgroup lets it be opened. v2 has no list of that kind: there a node
// counts when the container sees it, unless it was mounted from the host's
// /dev into a container without privilege, where the kernel refuses it.
func (r *Reader) Reach() ([]sample.Reach, error) {
	r.reachMu.Lock()
	defer r.reachMu.Unlock()
	now := r.opts.Now()
	c := &r.reach
	c.alive.sweep()
	if c.scanned.IsZero() || now.Sub(c.scanned) >= r.opts.ReachScan {
		c.scanned = now
		if c.err = r.scanReach(c, now); c.err != nil {
			c.err = fmt.Errorf("read device reach: %w", c.err)
		}
	}
	var out []sample.Reach
	for _, e := range c.by {
		if c.alive.has(e.pid) || r.lives(e) {
			out = append(out, e.reach)
		}
	}
	slices.SortFunc(out, func(a, b sample.Reach) int {
		return cmp.Or(cmp.Compare(a.PodUID, b.PodUID), cmp.Compare(a.ContainerID, b.ContainerID))
	})
	return out, c.err
}

// lives reports whether the process through which a container was looked at is still there.
func (r *Reader) lives(e reached) bool {
	s, ok := r.livingStat(e.pid)
	return ok && s.start == e.start
}

// livingStat reads the stat of a process that has not ended.
func (r *Reader) livingStat(pid int) (stat, bool) {
	text, err := readInto(r.path(pid, "stat"), make([]byte, surelyWhole), maxFile)
	if err != nil {
		return stat{}, false
	}
	s, err := parseStat(text)
	return s, err == nil && !s.ended()
}

// scanReach brings the cache up to date.
func (r *Reader) scanReach(c *reachCache, now time.Time) error {
	tree, err := findLayout(r.opts.Cgroup)
	if err != nil {
		return err
	}
	pods, err := c.pods.find(tree.containers(), now)
	if err != nil {
		return err
	}
	major := r.major()
	fresh := make(map[string]reached, len(c.by))
	var problems []error
	for _, p := range pods {
		for _, rel := range c.containersOf(tree.containers(), p.rel) {
			e, err := r.reachOf(tree, rel, major, c.by[rel], now)
			if err != nil {
				problems = append(problems, err)
			}
			if e.pid > 0 {
				fresh[rel] = e
			}
		}
	}
	c.by = fresh
	r.watchReached(c)
	if len(problems) > 0 {
		return fmt.Errorf("%d containers: %w", len(problems), errors.Join(problems[:min(3, len(problems))]...))
	}
	return nil
}

// watchReached watches the processes through which containers were looked at,
// and no others.
func (r *Reader) watchReached(c *reachCache) {
	wanted := make(map[int]bool, len(c.by))
	for _, e := range c.by {
		wanted[e.pid] = true
		if c.alive.has(e.pid) {
			continue
		}
		if s, ok := r.livingStat(e.pid); ok && s.start == e.start {
			c.alive.add(r.opts.Proc, e.pid, s)
		}
		if !r.lives(e) {
			c.alive.drop(e.pid)
		}
	}
	c.alive.keep(wanted)
}

func (r *Reader) major() int {
	text, err := readInto(r.opts.Proc+"/devices", nil, maxFile)
	if err != nil {
		return defaultMajor
	}
	return majorOf(text)
}

// reachOf looks at one container, or keeps the last answer where it is still
// good. The result has no pid where the container has no process.
func (r *Reader) reachOf(tree layout, rel string, major int, last reached, now time.Time) (reached, error) {
	if r.reach.alive.has(last.pid) && now.Before(last.again) {
		return last, nil
	}
	pid, start, ok := r.firstProcess(tree.containers()+rel, 2)
	if !ok {
		return reached{}, nil
	}
	if last.pid == pid && last.start == start && now.Before(last.again) {
		return last, nil
	}
	reach, err := r.probe(tree, rel, pid, major)
	if err != nil {
		if vanished(err) {
			err = nil
		}
		return reached{}, err
	}
	wait := r.opts.ReachRefresh
	if last.pid == 0 {
		wait = turn(pid, wait)
	}
	return reached{pid: pid, start: start, again: now.Add(wait), reach: reach}, nil
}

// probe reads what a container can open, through one process of it.
func (r *Reader) probe(tree layout, rel string, pid, major int) (sample.Reach, error) {
	owner := workload.ParseCgroup("0::" + rel)
	out := sample.Reach{PodUID: owner.PodUID, ContainerID: owner.ContainerID, Minors: []int{}}
	seen, err := r.visibleNodes(r.path(pid, "root/dev"), major)
	if err != nil {
		return out, err
	}
	looked := []string{"device-nodes"}
	switch {
	case len(seen.minors) == 0:
	case tree.unified:
		out.Minors, looked = r.openable(pid, seen, looked)
	default:
		text, err := readInto(tree.devices+rel+"/devices.list", nil, maxFile)
		if err != nil {
			return out, err
		}
		list := parseDevicesList(text, major)
		out.Minors = slices.DeleteFunc(seen.minors, func(m int) bool { return !list.open(m) })
		looked = append([]string{"devices-cgroup"}, looked...)
	}
	if len(seen.caps) > 0 {
		looked = append(looked, "nvidia-caps "+strings.Trim(fmt.Sprint(seen.caps), "[]"))
	}
	out.Evidence = strings.Join(looked, ", ")
	return out, nil
}

// openable are the visible nodes that a container in cgroup v2 can open.
func (r *Reader) openable(pid int, seen visible, looked []string) ([]int, []string) {
	if status, err := readInto(r.path(pid, "status"), nil, maxFile); err == nil && privileged(status) {
		return seen.minors, append(looked, "privileged")
	}
	return slices.DeleteFunc(seen.minors, func(m int) bool { return seen.fromHost[m] }), looked
}

// containersOf lists the cgroups of a pod's containers. A path does not come to
// mean another container.
func (c *reachCache) containersOf(root, pod string) []string {
	names, err := subdirectories(root + pod)
	if err != nil {
		return nil // the pod ended
	}
	var out []string
	for _, name := range names {
		rel := pod + "/" + name
		if _, known := c.by[rel]; !known {
			if owner := workload.ParseCgroup("0::" + rel); owner.ContainerID == "" || owner.Monitor {
				continue
			}
		}
		out = append(out, rel)
	}
	return out
}

// firstProcess is a living process of a cgroup, or of one up to depth levels
// below it: where containers nest cgroups of their own, only leaves have any.
func (r *Reader) firstProcess(dir string, depth int) (pid int, start uint64, ok bool) {
	text, err := readInto(dir+"/cgroup.procs", nil, maxFile)
	if err != nil {
		return 0, 0, false
	}
	for line := range bytes.Lines(text) {
		pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
		if err != nil || pid == 0 { // 0: a process outside our pid namespace
			continue
		}
		if s, ok := r.livingStat(pid); ok {
			return pid, s.start, true
		}
	}
	if depth == 0 {
		return 0, 0, false
	}
	names, _ := subdirectories(dir)
	for _, name := range names {
		if pid, start, ok := r.firstProcess(dir+"/"+name, depth-1); ok {
			return pid, start, true
		}
	}
	return 0, 0, false
}
