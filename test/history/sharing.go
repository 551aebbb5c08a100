// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"
)

// sharing is the a2-ultragpu: MIG on four GPUs, of which one is cut anew in the
// middle of the month, and time-slicing on the others. Its agent is down for five
// hours.
func sharing(s *script) {
	s.logger()
	s.cutCards()
	s.chat()
	s.sleeper()
	s.embedders()
	s.pages()
	s.finetunes()
	s.notebooks()
	s.embedDocs()
	s.downs = append(s.downs, span{s.on(downDay).at(1, 10), s.on(downDay).at(6, 10)})
}

// relayoutDay is when GPU 2 is cut anew, downDay when the agent is down.
const relayoutDay, downDay = 14, 21

// cutCards are the layouts.
func (s *script) cutCards() {
	ever := span{s.from.AddDate(-1, 0, 0), s.to.AddDate(1, 0, 0)}
	before, after := span{ever.from, s.on(relayoutDay).at(2, 0)}, span{s.on(relayoutDay).at(3, 50), ever.to}
	three, two := "3g.40gb", "2g.20gb"
	var ones []Instance
	for i := range uint32(7) {
		ones = append(ones, Instance{7 + i, i, "1g.10gb"})
	}
	s.layouts = []layout{
		// The last memory slice of GPU 0 is stranded, and so it is under seven 1g.
		{ever, 0, []Instance{{1, 0, three}, {5, 4, two}, {13, 6, "1g.10gb"}}},
		{ever, 1, []Instance{{1, 0, three}, {2, 4, three}}},
		{before, 2, ones},
		{after, 2, []Instance{{3, 0, two}, {4, 2, two}, {2, 4, three}}},
		{ever, 3, []Instance{{1, 0, "4g.40gb"}}},
	}
}

// Layout is how the GPUs of NodeGCP are cut at the end, by their index.
func Layout() map[int][]Instance {
	s := script{}
	s.cutCards()
	out := map[int][]Instance{}
	for _, l := range s.layouts { // the later one of a GPU counts
		out[l.gpu] = l.instances
	}
	return out
}

// chat serves day and night.
func (s *script) chat() {
	t := service("inference", owner("StatefulSet", "chat"), map[string]string{"team": "assistants", "project": "chat", "cost-center": "CC-3001"}, 12, 128*gib)
	s.run(t, "chat-0", s.from.AddDate(0, 0, -1), s.to.Add(time.Hour),
		s.slice(0, 1, "3g.40gb", "python3", size{base: 24 * gib, swing: 9 * gib, period: 24 * time.Hour}, 0.64))
}

// sleeper was given an instance and never used it.
func (s *script) sleeper() {
	t := service("research", owner("Deployment", "sleeper"), nil, 2, 8*gib)
	t.busy = 1
	u := s.slice(0, 5, "2g.20gb", "", size{}, 0)
	s.run(t, "sleeper-7d4b9c6f5-"+s.suffix(), s.on(3).at(9, 40), s.to.Add(time.Hour), u)
}

// embedders are two replicas, of which the second comes by day.
func (s *script) embedders() {
	t := service("inference", owner("Deployment", "embed-large"), map[string]string{"team": "search", "project": "retrieval", "cost-center": "CC-3002"}, 10, 112*gib)
	s.run(t, "embed-large-5f7d8c9b6-"+s.suffix(), s.from.AddDate(0, 0, -1), s.to.Add(time.Hour),
		s.slice(1, 1, "3g.40gb", "python3", size{base: 18 * gib, swing: 4 * gib, period: 24 * time.Hour}, 0.5))
	for _, d := range s.days() {
		if !d.weekend() {
			s.run(t, "embed-large-5f7d8c9b6-"+s.suffix(), d.at(6, 30), d.at(19, 45),
				s.slice(1, 2, "3g.40gb", "python3", size{base: 15 * gib, swing: 5 * gib, period: 6 * time.Hour}, 0.4))
		}
	}
}

// pages are small jobs: on seven small instances, and later on two larger ones.
func (s *script) pages() {
	t := job("batch", "ocr-pages", team("documents", "archive"), 3, 28*gib)
	for i, d := range s.days() {
		instances, profile, first := 7, "1g.10gb", 7
		if i >= relayoutDay {
			instances, profile, first = 2, "2g.20gb", 3
		}
		for n := range instances {
			if !s.chance(80) {
				continue
			}
			at := d.at(5, 0).Add(s.around(2*time.Hour, time.Hour))
			s.run(t, "ocr-pages-"+s.suffix(), at, at.Add(s.around(9*time.Hour, 4*time.Hour)),
				s.slice(2, uint32(first+n), profile, "python3", size{base: 5 * gib, swing: 2 * gib, period: 90 * time.Minute}, 0.7))
		}
	}
	t = service("inference", owner("StatefulSet", "summarize"), map[string]string{"team": "assistants", "project": "summaries"}, 10, 112*gib)
	s.run(t, "summarize-0", s.on(relayoutDay).at(8, 0), s.to.Add(time.Hour),
		s.slice(2, 2, "3g.40gb", "python3", size{base: 22 * gib, swing: 6 * gib, period: 12 * time.Hour}, 0.45))
}

// finetunes have the large instance of GPU 3, about every third day.
func (s *script) finetunes() {
	t := job("train", "finetune-legal", map[string]string{"team": "legal-ai", "project": "contracts", "cost-center": "CC-4004"}, 14, 176*gib)
	free := s.from.AddDate(0, 0, -7)
	for _, d := range s.days() {
		at := d.at(10, 0).Add(s.around(0, 5*time.Hour))
		if at.Before(free) || !s.chance(70) {
			continue
		}
		free = at.Add(s.around(16*time.Hour, 5*time.Hour))
		s.run(t, "finetune-legal-"+s.suffix(), at, free,
			s.slice(3, 1, "4g.40gb", "python3", size{base: 33 * gib, swing: 3 * gib, period: 2 * time.Hour}, 0.9))
	}
}

// people have notebooks. Some say no team; dave forgets his over weekends.
var people = []struct{ name, team string }{
	{"alice", "research"}, {"bob", "search"}, {"carol", "documents"}, {"dave", "research"}, {"erin", ""}, {"frank", "growth"}, {"grace", "assistants"}, {"heidi", ""},
}

// notebooks come and go by working hours, three to a GPU.
func (s *script) notebooks() {
	for _, d := range s.days() {
		for i, p := range people {
			if d.weekend() || !s.chance(85) {
				continue
			}
			t := service("notebooks", owner("StatefulSet", "jupyter-"+p.name), team(p.team, "exploration"), 4, 56*gib)
			t.busy = 25
			end := d.at(17, 0).Add(s.around(30*time.Minute, 90*time.Minute))
			if p.name == "dave" && d.Weekday() == time.Friday {
				end = day{d.AddDate(0, 0, 3)}.at(7, 50)
			}
			s.run(t, "jupyter-"+p.name, d.at(8, 0).Add(s.around(40*time.Minute, 35*time.Minute)), end,
				s.turn(4+i/3, i%3, "ipykernel", size{base: uint64(8+2*i) * gib, swing: 5 * gib, period: time.Duration(2+i) * time.Hour}, 0.1+float64(i)/50))
		}
	}
}

// embedDocs are jobs one after the other, on what notebooks leave: GPU 7 and the
// fourth replicas of the others.
func (s *script) embedDocs() {
	n := 0
	for lane, to := range []struct {
		gpu, replica int
		base         uint64
	}{{7, 0, 21}, {7, 1, 17}, {6, 3, 8}, {5, 3, 8}} {
		for at := s.on(-1).at(2*lane, 25); at.Before(s.to); {
			n++
			t := job("batch", "embed-docs", team("search", "index"), 4, 40*gib)
			end := at.Add(s.around(150*time.Minute, 80*time.Minute))
			s.run(t, fmt.Sprintf("embed-docs-%d", n), at, end,
				s.turn(to.gpu, to.replica, "python3", size{base: to.base * gib, swing: 5 * gib, period: time.Hour}, 0.35))
			at = end.Add(s.around(2*time.Hour, 90*time.Minute))
		}
	}
}
