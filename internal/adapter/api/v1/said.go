// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"

	"github.com/gputally/gputally/internal/core/advice"
)

// Sentence is what a sentence says.
type Sentence struct {
	Code   string            `json:"code"`
	Values map[string]string `json:"values,omitempty" doc:"What stands in its gaps."`
}

// Said are the sentences of an answer by their English: those of it that are known.
type Said map[string]Sentence

// add reads texts. What is nobody's sentence, such as an identifier, stays out.
func (s Said) add(texts ...string) {
	for _, text := range texts {
		if _, there := s[text]; there {
			continue
		}
		if said, ok := advice.Wording.Understand(text); ok {
			s[text] = Sentence(said)
		}
	}
}

func (s Said) recommendations(all []Recommendation) Said {
	for i := range all {
		s.recommendation(&all[i])
	}
	return s
}

func (s Said) recommendation(r *Recommendation) {
	for _, e := range r.Evidence {
		s.add(e.Metric, e.Statistic)
	}
	for _, t := range r.Tests {
		s.add(t.Of, t.Name, t.Sum)
	}
	for _, f := range r.Refusals {
		s.add(f.Missing, f.HowToGet)
	}
	if r.Money != nil {
		s.add(r.Money.ChargeNote)
	}
	s.add(r.Risk.Isolation)
	s.add(r.Risk.Notes...)
	s.comments(r.Apply)
	if r.Decision != nil {
		s.add(r.Decision.Expired...)
	}
}

// comments are the sentences beside what is to be changed.
func (s Said) comments(lines []string) {
	for _, line := range lines {
		if i := strings.Index(line, "# "); i >= 0 {
			s.add(line[i:])
		}
	}
}

func (s Said) plan(c *ClusterPlan) {
	s.recommendation(&c.Recommendation)
	for _, k := range c.Kept {
		s.add(k.Why)
	}
	for _, step := range c.Steps {
		for _, m := range step.Moves {
			s.add(m.Pod)
		}
	}
}
