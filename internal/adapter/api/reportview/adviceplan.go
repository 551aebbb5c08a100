// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// AdvicePlans is which nodes of each cluster could go, and how.
func AdvicePlans(a *v1.AdvicePlans) string {
	var b strings.Builder
	for i := range a.Clusters {
		c := &a.Clusters[i]
		if i > 0 {
			b.WriteString("\n")
		}
		if c.Cash == nil {
			noPlanText(&b, c)
		} else {
			planText(&b, c)
		}
	}
	if len(a.Clusters) == 0 {
		return "There is no cluster with rated hours on that day.\n"
	}
	return b.String()
}

func noPlanText(b *strings.Builder, c *v1.ClusterPlan) {
	fmt.Fprintf(b, "Cluster %s, %s: no plan\n", orNone(Plain(c.Cluster)), count(int64(c.Nodes), "node", "nodes"))
	if c.Currency == "" {
		b.WriteString("  what an hour costs is unknown: no node has a price (gputally price check)\n")
	} else {
		fmt.Fprintf(b, "  an hour costs %s %s; no packing of its pods costs less than %s\n", amount(nano(c.Before), 2), Plain(c.Currency), amount(nano(c.Bound), 2))
	}
	unpricedText(b, c)
	for _, f := range c.Recommendation.Refusals {
		fmt.Fprintf(b, "  %s: missing is %s\n", f.Code, Plain(missing(&f)))
	}
	keptText(b, c.Kept)
}

func planText(b *strings.Builder, c *v1.ClusterPlan) {
	saves := "what that saves is unknown, since no node has a price"
	if c.Currency != "" {
		saves = fmt.Sprintf("%s %s a month less\nAn hour costs %s now, %s then, and no packing of these pods less than %s.",
			amount(nano(*c.Cash), 2), Plain(c.Currency), amount(nano(c.Before), 2), amount(nano(c.After), 2), amount(nano(c.Bound), 2))
	}
	fmt.Fprintf(b, "Cluster %s: %d of %s can go, %s\n%s.\n", orNone(Plain(c.Cluster)), len(c.Returns), count(int64(c.Nodes), "node", "nodes"), saves,
		count(int64(len(c.Restarts)), "pod restarts", "pods restart"))
	unpricedText(b, c)
	if len(c.Members) > 0 {
		fmt.Fprintf(b, "It takes that these are followed first: %s\n", strings.Join(c.Members, ", "))
	}
	for _, n := range c.Recommendation.Risk.Notes {
		fmt.Fprintf(b, "  risk  %s\n", Plain(n))
	}
	keptText(b, c.Kept)
	b.WriteString("\n")
	for j := range c.Steps {
		fmt.Fprintf(b, "%4d. %s\n", j+1, stepText(&c.Steps[j]))
	}
}

// unpricedText says how many nodes are in no amount, where others are.
func unpricedText(b *strings.Builder, c *v1.ClusterPlan) {
	if c.Unpriced > 0 && c.Currency != "" {
		fmt.Fprintf(b, "  %s in no amount here: no price is known (gputally price check)\n", count(int64(c.Unpriced), "node is", "nodes are"))
	}
}

// keptText names the first of the nodes that stay.
func keptText(b *strings.Builder, kept []v1.KeptNode) {
	const most = 10
	for i, k := range kept {
		if i == most {
			fmt.Fprintf(b, "  and %d more stay: -o json has all\n", len(kept)-most)
			return
		}
		fmt.Fprintf(b, "  stays  %s: %s\n", Plain(k.Node), Plain(k.Why))
	}
}

func stepText(s *v1.PlanStep) string {
	switch s.Action {
	case "layout":
		var list []string
		for _, i := range s.Instances {
			list = append(list, fmt.Sprintf("%s at slice %d", i.Profile, i.Start))
		}
		if len(list) == 0 {
			list = []string{"MIG off"}
		}
		return Plain(fmt.Sprintf("lay out %s of %s: %s", s.GPU, s.Node, strings.Join(list, ", ")))
	case "move":
		var list []string
		for _, m := range s.Moves {
			to := m.Node
			if m.Instance != nil {
				to += ", " + m.Instance.Profile
			}
			list = append(list, m.Pod+" to "+to)
		}
		return Plain("move " + strings.Join(list, "; "))
	case "return":
		return Plain("give back " + s.Node)
	}
	return Plain(s.Action + " " + s.Node)
}
