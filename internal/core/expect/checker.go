// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
)

// Checker compares a run with what is expected of it. Show it every sample
// and its result, node by node and in the order of time, and the windows that
// closed; then ask Failures.
type Checker struct {
	want  *Expect
	start time.Time

	// pending are the questions about a moment, answered by the last sample
	// at or before it; by node.
	moments  map[string]map[Offset]shown
	findings []found
	grades   map[string]map[string]bool
	who      map[int]string
}

type shown struct {
	sample sample.Sample
	result attribution.Result
}

// found is a finding that occurred, with the names of its partitions.
type found struct {
	attribution.Finding
	node  string
	names map[string][]string
}

// NewChecker checks a run whose window began at start.
func NewChecker(want *Expect, start time.Time) *Checker {
	return &Checker{
		want: want, start: start, moments: map[string]map[Offset]shown{},
		grades: map[string]map[string]bool{}, who: map[int]string{},
	}
}

// Show takes in one sample and what was made of it. offset is milliseconds
// from the start of the window.
func (c *Checker) Show(offset int64, s sample.Sample, r attribution.Result) {
	if c.moments[s.Node] == nil {
		c.moments[s.Node] = map[Offset]shown{}
	}
	for _, at := range c.asked() {
		if offset <= int64(at) {
			c.moments[s.Node][at] = shown{s, r}
		}
	}
	c.noteFindings(s.Node, r)
	c.noteGrades(r)
	c.noteIdentities(r)
}

// asked lists the moments that questions are about.
func (c *Checker) asked() []Offset {
	set := map[Offset]bool{}
	for _, s := range c.want.Splits {
		set[s.At] = true
	}
	for _, n := range c.want.Nulls {
		set[n.At] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Failures lists, in words, everything that is not as expected; empty when
// all is.
func (c *Checker) Failures() []string {
	var out []string
	for _, s := range c.want.Splits {
		out = append(out, c.checkSplit(s)...)
	}
	out = append(out, c.checkFindings()...)
	for _, n := range c.want.Nulls {
		out = append(out, c.checkNull(n)...)
	}
	out = append(out, c.checkGrades()...)
	return append(out, c.checkIdentities()...)
}

// partition finds a partition by name at a moment, on whatever node.
func (c *Checker) partition(name string, at Offset) (attribution.Partition, bool) {
	for _, node := range slices.Sorted(maps.Keys(c.moments)) {
		for _, p := range c.moments[node][at].result.Partitions {
			if slices.Contains(namesOf(p), name) {
				return p, true
			}
		}
	}
	return attribution.Partition{}, false
}

func namesOf(p attribution.Partition) []string {
	out := []string{p.ID.String()}
	for _, n := range p.Names {
		out = append(out, string(n))
	}
	return out
}

func failf(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }
