// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gputally/gputally/internal/app/agent"
)

// jitterShare is the agent's: each step between 0.8 and 1.2 intervals.
const jitterShare = agent.StepSpread

// plain is the error of the integrator over many nodes.
func plain(seeds int, interval int64, jitter float64) (byClass, error) {
	errs := newByClass()
	for seed := range uint64(seeds) {
		w := newWorld(seed)
		got, err := integrated(w, ticks(phase(seed), interval, jitter), interval, direct(w))
		if err != nil {
			return nil, err
		}
		errs.add(w, got)
	}
	return errs, nil
}

// phase draws when a node samples; equal for all variants of one node.
func phase(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }

func weighed(seeds int, interval int64, v variant) byClass {
	errs := newByClass()
	for seed := range uint64(seeds) {
		w := newWorld(seed)
		errs.add(w, measure(w, ticks(phase(seed), interval, jitterShare), v))
	}
	return errs
}

// report is the tables of docs/accuracy.md.
func report(seeds int) (string, error) {
	var s strings.Builder
	fmt.Fprintf(&s, "%d simulated nodes of 3 hours, %d pods on each.\n", seeds, len(newWorld(0).class))
	for _, r := range []struct {
		title    string
		interval int64
		jitter   float64
	}{
		{"Every 5 s, as the agent does it: each step between 4 and 6 s at random", 5 * second, jitterShare},
		{"Every 1 s, as the agent does it: each step between 0.8 and 1.2 s", second, jitterShare},
		{"Every 5 s to the millisecond, for comparison", 5 * second, 0},
	} {
		errs, err := plain(seeds, r.interval, r.jitter)
		if err != nil {
			return "", err
		}
		writeClasses(&s, r.title, errs)
	}
	writeVariants(&s, seeds)
	return s.String(), nil
}

func writeClasses(s *strings.Builder, title string, errs byClass) {
	fmt.Fprintf(s, "\n**%s**\n\n", title)
	s.WriteString("| pods | mean error | 95 % of pods below | largest | error of the class's bytes | bias |\n|---|---:|---:|---:|---:|---:|\n")
	for i := range errs {
		name := "all pods"
		if i < len(classes) {
			name = classes[i].name
		}
		x := errs[i].stats()
		fmt.Fprintf(s, "| %s | %.2f %% | %.2f %% | %.1f %% | %.3f %% | %+.3f %% |\n", name, x.mean, x.p95, x.max, x.weighted, x.bias)
	}
}

// writeVariants compares the rules at 5 s: error of the bytes, and bias.
func writeVariants(s *strings.Builder, seeds int) {
	s.WriteString("\n**Other rules, every 5 s** (error of the class's bytes, bias)\n\n| pods |")
	line := "\n|---|"
	var all []byClass
	for _, v := range variants {
		fmt.Fprintf(s, " %s |", v.name)
		line += "---:|"
		all = append(all, weighed(seeds, 5*second, v))
	}
	s.WriteString(line + "\n")
	for c := range len(classes) + 1 {
		name := "all pods"
		if c < len(classes) {
			name = classes[c].name
		}
		fmt.Fprintf(s, "| %s |", name)
		for _, errs := range all {
			x := errs[c].stats()
			fmt.Fprintf(s, " %.3f %%, %+.3f %% |", x.weighted, x.bias)
		}
		s.WriteString("\n")
	}
}
