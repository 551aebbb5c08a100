// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

// ActivityHours is what a workload did, hour by hour.
func ActivityHours(a *v1.ActivityHours) string {
	if len(a.Hours) == 0 {
		return "No hour of it is known in that time: had it a GPU, and are its hours rated (gputally status)?\n"
	}
	g := newGrid(left("HOUR"), left("POD"), left("GPU"), left("CLASS"), right("RULE"), left("WHY NOT FINER"), right("SEEN MIN"), right("PEAK"), left("WHAT THE RULES SAW"))
	for i := range a.Hours {
		h := &a.Hours[i]
		peak := unknown
		if h.PeakBytes != nil {
			peak = bytes(int64(*h.PeakBytes))
		}
		why := h.Reason
		if len(h.Missing) > 0 {
			why += " (" + strings.Join(h.Missing, ", ") + ")"
		}
		var saw []string
		for _, in := range h.Inputs {
			saw = append(saw, fmt.Sprintf("%s %.3g", in.Name, in.Value))
		}
		g.add(h.Start.UTC().Format("2006-01-02 15:04"), Plain(h.Pod), Plain(h.GPU), h.Class, whole(int64(h.Rule)), orDash(Plain(why)), whole(h.MeasuredMS/60_000), peak, Plain(strings.Join(saw, ", ")))
	}
	var b strings.Builder
	g.text(&b)
	return b.String()
}

// AdviceDecisions is what was said to advice.
func AdviceDecisions(d *v1.AdviceDecisions) string {
	if len(d.Decisions) == 0 {
		return "Nothing was said to advice yet: gputally advise accept ID, or dismiss ID --reason TEXT.\n"
	}
	g := newGrid(left("SAID"), left("STATE"), left("WORKLOAD"), left("KIND"), left("UNTIL"), left("APPLIED"), left("BY"), left("REASON"), left("ID"))
	for i := range d.Decisions {
		x := &d.Decisions[i]
		until, applied := "-", "-"
		if !x.Until.IsZero() {
			until = day(x.Until)
		}
		if !x.Applied.IsZero() {
			applied = clock(x.Applied)
		}
		g.add(day(x.At), x.State, workloadName(&x.Target), x.Kind, until, applied, orDash(Plain(x.By)), orDash(Plain(x.Reason)), x.ID)
	}
	var b strings.Builder
	g.text(&b)
	for i := range d.Decisions {
		if x := &d.Decisions[i]; len(x.Expired) > 0 {
			fmt.Fprintf(&b, "%s is expired: %s\n", x.ID, Plain(strings.Join(x.Expired, "; ")))
		}
	}
	return b.String()
}

// AdviceVerdict compares before and after.
func AdviceVerdict(v *v1.AdviceVerdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, applied %s: %s\n\n", v.Decision.Kind, workloadName(&v.Decision.Target), clock(v.Decision.Applied), strings.ToUpper(v.State))
	if !v.Before.From.IsZero() && v.Before.From.Year() > 1970 {
		g := newGrid(left(""), right("BEFORE"), right("AFTER"), right("LESS"))
		of := func(n *money.Nano) string {
			if n == nil {
				return unknown
			}
			return amount(nano(*n), 2)
		}
		g.add("from", day(v.Before.From), day(v.After.From), "")
		g.add("nodes of the cluster, "+orDash(v.After.Currency), of(v.Before.Nodes), of(v.After.Nodes), of(v.Cash))
		g.add("idle and stranded", of(v.Before.Idle), of(v.After.Idle), of(v.Idle))
		g.add("charge of the workload", of(v.Before.Charge), of(v.After.Charge), of(v.Charge))
		g.add("hours with kernels", active(v.Before.ActiveMS), active(v.After.ActiveMS), "")
		g.add("different pods", whole(int64(v.Before.Pods)), whole(int64(v.After.Pods)), "")
		g.text(&b)
		b.WriteString("\n")
	}
	for _, n := range v.Guards {
		fmt.Fprintf(&b, "WORSE: %s\n", Plain(n))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(&b, "%s\n", Plain(n))
	}
	for _, line := range v.Back {
		fmt.Fprintf(&b, "  back  %s\n", Plain(line))
	}
	return b.String()
}

func active(ms *int64) string {
	if ms == nil {
		return unknown
	}
	return hours(*ms)
}
