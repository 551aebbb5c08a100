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
		name := orNone(Plain(c.Cluster))
		if c.Cash == nil {
			fmt.Fprintf(&b, "Cluster %s, %s: no plan\n", name, count(int64(c.Nodes), "node", "nodes"))
			fmt.Fprintf(&b, "  an hour costs %s; no packing of its pods costs less than %s\n", amount(nano(c.Before), 2), amount(nano(c.Bound), 2))
			for _, f := range c.Recommendation.Refusals {
				fmt.Fprintf(&b, "  %s: missing is %s\n", f.Code, Plain(f.Missing))
			}
			keptText(&b, c.Kept)
			continue
		}
		currency := ""
		if m := c.Recommendation.Money; m != nil {
			currency = " " + Plain(m.Currency)
		}
		fmt.Fprintf(&b, "Cluster %s: %d of %s can go, %s%s a month less\n", name, len(c.Returns), count(int64(c.Nodes), "node", "nodes"), amount(nano(*c.Cash), 2), currency)
		fmt.Fprintf(&b, "An hour costs %s now, %s then, and no packing of these pods less than %s. %s.\n", amount(nano(c.Before), 2), amount(nano(c.After), 2), amount(nano(c.Bound), 2), count(int64(len(c.Restarts)), "pod restarts", "pods restart"))
		if len(c.Members) > 0 {
			fmt.Fprintf(&b, "It takes that these are followed first: %s\n", strings.Join(c.Members, ", "))
		}
		for _, n := range c.Recommendation.Risk.Notes {
			fmt.Fprintf(&b, "  risk  %s\n", Plain(n))
		}
		keptText(&b, c.Kept)
		b.WriteString("\n")
		for j := range c.Steps {
			fmt.Fprintf(&b, "%4d. %s\n", j+1, stepText(&c.Steps[j]))
		}
	}
	if len(a.Clusters) == 0 {
		return "There is no cluster with rated hours on that day.\n"
	}
	return b.String()
}

// keptText names the first of the nodes that stay.
func keptText(b *strings.Builder, kept []string) {
	const most = 10
	for i, k := range kept {
		if i == most {
			fmt.Fprintf(b, "  and %d more stay: -o json has all\n", len(kept)-most)
			return
		}
		fmt.Fprintf(b, "  stays  %s\n", Plain(k))
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
