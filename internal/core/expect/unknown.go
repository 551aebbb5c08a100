// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func (c *Checker) checkNull(n Null) []string {
	at := float64(n.At) / 1000
	known, seen := c.known(n)
	switch {
	case !seen:
		return failf("null: %s is not seen at %v", n.Subject, at)
	case known:
		return failf("null: the memory of %s is known at %v, expected unknown", n.Subject, at)
	}
	return nil
}

// known reports whether the memory of a subject is known at a moment, and
// whether the subject is seen at all.
func (c *Checker) known(n Null) (known, seen bool) {
	pid, isPID := strings.CutPrefix(n.Subject, "pid ")
	number, _ := strconv.Atoi(pid)
	for _, node := range slices.Sorted(maps.Keys(c.moments)) {
		m := c.moments[node][n.At]
		for _, p := range m.result.Partitions {
			if slices.Contains(namesOf(p), n.Subject) {
				return p.Used != nil, true
			}
			if k, s := podKnown(p, n.Subject); s {
				known, seen = known || k, true
			}
		}
		if isPID {
			k, s := pidKnown(m.sample, number)
			known, seen = known || k, seen || s
		}
	}
	return known, seen
}

// podKnown reports whether a partition says a size for a pod that holds it or
// was granted it. Where the partition's use is known, having no holding means
// holding nothing, which is a size too.
func podKnown(p attribution.Partition, pod string) (known, seen bool) {
	for _, h := range p.Holdings {
		if h.Holder.Kind == workload.KindPod && h.Holder.Account() == pod {
			seen = true
			known = known || h.Bytes != nil
		}
	}
	if seen {
		return known, true
	}
	for _, g := range p.Grants {
		if g.Holder.Account() == pod {
			return p.Used != nil, true
		}
	}
	return false, false
}

func pidKnown(s sample.Sample, pid int) (known, seen bool) {
	look := func(list []sample.Held) {
		for _, h := range list {
			if h.PID == pid {
				seen = true
				known = known || h.Bytes != nil
			}
		}
	}
	for _, d := range s.Devices {
		look(d.Processes)
		for _, i := range d.Instances {
			look(i.Processes)
		}
	}
	return known, seen
}

// noteGrades collects, for each pod, the grades of its memory: its holdings',
// or that of the partition it was granted and holds nothing of.
func (c *Checker) noteGrades(r attribution.Result) {
	for _, p := range r.Partitions {
		holding := map[string]bool{}
		for _, h := range p.Holdings {
			if h.Holder.Kind == workload.KindPod {
				holding[h.Holder.Account()] = true
				c.noteGrade(h.Holder.Account(), string(h.Grade))
			}
		}
		for _, g := range p.Grants {
			if pod := g.Holder.Account(); !holding[pod] {
				c.noteGrade(pod, string(p.Grade))
			}
		}
	}
}

func (c *Checker) noteGrade(pod, grade string) {
	if c.want.Grades[pod] == "" {
		return
	}
	if c.grades[pod] == nil {
		c.grades[pod] = map[string]bool{}
	}
	c.grades[pod][grade] = true
}

func (c *Checker) checkGrades() []string {
	var out []string
	for _, pod := range slices.Sorted(maps.Keys(c.want.Grades)) {
		got := slices.Sorted(maps.Keys(c.grades[pod]))
		if want := c.want.Grades[pod]; !slices.Equal(got, []string{want}) {
			out = append(out, failf("grade of %s is %v, expected %s", pod, got, want)...)
		}
	}
	return out
}

func (c *Checker) noteIdentities(r attribution.Result) {
	for pid, id := range r.Identities {
		switch id.Holder.Kind {
		case workload.KindPod:
			c.who[pid] = id.Holder.PodUID + "/" + id.ContainerID
		case workload.KindHost, workload.KindUnknown, workload.KindDaemon:
			c.who[pid] = string(id.Holder.Kind)
		}
	}
}

func (c *Checker) checkIdentities() []string {
	var out []string
	for _, pid := range slices.Sorted(maps.Keys(c.want.Identities)) {
		n, _ := strconv.Atoi(pid)
		if got := c.who[n]; got != c.want.Identities[pid] {
			out = append(out, failf("identity of pid %s is %q, expected %q", pid, got, c.want.Identities[pid])...)
		}
	}
	return out
}
