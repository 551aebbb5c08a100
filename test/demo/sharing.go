// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// tenants are the pods that have MIG instances, by card and instance. An instance
// without one is idle, a pod without a process holds nothing.
var tenants = map[[2]int]struct {
	spec  stage.PodSpec
	bytes uint64
}{
	{0, 1}: {stage.PodSpec{Namespace: "inference", Name: "chat-0", Owner: stage.Owner{Kind: "StatefulSet", Name: "chat"}, Labels: team("assistants", "chat", "CC-3001")}, 27 * gib},
	{0, 5}: {stage.PodSpec{Namespace: "research", Name: "sleeper-7d4b9c6f5-4hvtz", Owner: stage.Owner{Kind: "Deployment", Name: "sleeper"}}, 0},
	{1, 1}: {stage.PodSpec{Namespace: "inference", Name: "embed-large-5f7d8c9b6-8wq2n", Owner: stage.Owner{Kind: "Deployment", Name: "embed-large"}, Labels: team("search", "retrieval", "CC-3002")}, 20 * gib},
	{1, 2}: {stage.PodSpec{Namespace: "inference", Name: "embed-large-5f7d8c9b6-c6xrm", Owner: stage.Owner{Kind: "Deployment", Name: "embed-large"}, Labels: team("search", "retrieval", "CC-3002")}, 17 * gib},
	{2, 2}: {stage.PodSpec{Namespace: "inference", Name: "summarize-0", Owner: stage.Owner{Kind: "StatefulSet", Name: "summarize"}, Labels: team("assistants", "summaries", "")}, 24 * gib},
}

// instances are the layouts that the month ended with.
func (n *node) instances() error {
	for card, l := range history.Layout() {
		n.look(card, "power", "160W", "temp", 44)
		for _, in := range l {
			mig := n.stage.NVML.MIG(n.cards[card], in.Profile, int(in.GI), 0, "start="+strconv.Itoa(int(in.Start)))
			resource := "nvidia.com/mig-" + in.Profile
			n.stage.Kubelet.Offer(resource, mig.Get("uuid"))
			t, taken := tenants[[2]int{card, int(in.GI)}]
			if !taken {
				continue
			}
			t.spec.Resource, t.spec.Devices = resource, []string{mig.Get("uuid")}
			p, err := n.run(t.spec)
			if err != nil {
				return err
			}
			if t.bytes == 0 {
				continue
			}
			line, err := n.hold(p, card, "python3", t.bytes, "gi="+mig.Get("gi"), "ci=0", "sm=64")
			if err != nil {
				return err
			}
			n.breathe(line, t.bytes, gib, 17+card)
		}
	}
	return nil
}

func (n *node) notebooks() error {
	for i, who := range []struct{ name, team string }{{"alice", "research"}, {"bob", "search"}, {"carol", "documents"}, {"dave", "research"}, {"erin", ""}, {"frank", "growth"}} {
		spec := stage.PodSpec{Namespace: "notebooks", Name: "jupyter-" + who.name, Owner: stage.Owner{Kind: "StatefulSet", Name: "jupyter-" + who.name}}
		if who.team != "" {
			spec.Labels = map[string]string{"team": who.team, "project": "exploration"}
		}
		base, card := uint64(6+3*i)*gib, 4+i/3
		line, err := n.alone(spec, card, i%3, "ipykernel", base, fmt.Sprintf("sm=%d", 12+3*i))
		if err != nil {
			return err
		}
		n.look(card, "power", "182W", "temp", 49)
		n.moves = append(n.moves, func(tick int) error {
			line.Set("mem", base+wave(tick+11*i, 24+5*i)*4*gib/100)
			line.Set("sm", 5+wave(tick+5*i, 11)/5)
			return nil
		})
	}
	return nil
}

// batch runs jobs one after the other on one replica.
func (n *node) batch() error {
	const card, life, pause = 7, 24, 6 // ticks
	var line *mocknvml.Line
	start := func() (err error) {
		n.jobs++
		spec := stage.PodSpec{Namespace: "batch", Name: fmt.Sprintf("embed-docs-live-%d", n.jobs), Owner: stage.Owner{Kind: "Job", Name: "embed-docs"}, Labels: map[string]string{"team": "search", "project": "index"}}
		line, err = n.alone(spec, card, 0, "python3", 2*gib, "sm=35")
		if err == nil {
			n.job = n.pods[len(n.pods)-1]
		}
		return err
	}
	n.moves = append(n.moves, func(tick int) error {
		switch at := tick % (life + pause); {
		case n.job == nil && at == 0:
			return start()
		case n.job != nil && at == life:
			line.Remove()
			pod := n.job
			n.job = nil
			n.pods = slices.DeleteFunc(n.pods, func(p *stage.Pod) bool { return p == pod })
			return pod.Remove()
		case n.job != nil:
			line.Set("mem", (2+uint64(at)/2)*gib)
		}
		return nil
	})
	return start()
}
