// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/money"
)

// Advice is what is advised, and for whom there is none and why.
func Advice(a *v1.Advice, markdown bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seen from %s to %s.\n", count(int64(len(a.Workloads)), "workload", "workloads"), day(a.From), day(a.To))
	if a.Behind > 0 {
		fmt.Fprintf(&b, "%s rated and not yet looked at: this is advice on the way.\n", count(int64(a.Behind), "hour of a node is", "hours of nodes are"))
	}
	if len(a.Workloads) == 0 {
		b.WriteString("\nNothing to advise: nobody had a GPU on that day, or its hours are not rated yet (gputally status).\n")
		return b.String()
	}
	advised, refused := adviceGrids(a)
	write := func(g *grid) {
		b.WriteString("\n")
		if markdown {
			g.markdown(&b)
		} else {
			g.text(&b)
		}
	}
	if len(advised.rows) > 0 {
		write(advised)
		b.WriteString("\nAmounts are for a month of 730 hours. CHARGE is by how much the tenant pays less, FREED what can be handed out again:\nan invoice falls by CASH alone.\n")
	}
	for _, c := range a.Cash {
		fmt.Fprintf(&b, "All of these together: %s %s a month less on invoices.\n", amount(c.Amount, 2), Plain(c.Currency))
	}
	if len(refused.rows) > 0 {
		b.WriteString("\nNo advice:\n")
		write(refused)
	}
	b.WriteString("\ngputally advise NAMESPACE/KIND/NAME shows evidence, tests and what is missing.\n")
	return b.String()
}

func adviceGrids(a *v1.Advice) (advised, refused *grid) {
	advised = newGrid(left("WORKLOAD"), left("HAS"), left("MOSTLY"), left("CHANGE"), right("CHARGE"), right("FREED"), right("CASH"), left("SURE"), left("STATE"), left("ID"))
	refused = newGrid(left("WORKLOAD"), left("HAS"), left("MOSTLY"), left("WHY NOT"))
	for i := range a.Workloads {
		w := &a.Workloads[i]
		n := 0
		for j := range w.Recommendations {
			if r := &w.Recommendations[j]; r.Proposed != nil {
				n++
				advised.add(append([]string{workloadName(&w.Target), has(w), mostly(w.Classes), changeText(r)}, append(moneyCells(r.Money), orDash(r.Confidence), stateText(r), r.ID)...)...)
			}
		}
		if n == 0 {
			refused.add(workloadName(&w.Target), has(w), mostly(w.Classes), strings.Join(whyNot(w), ", "))
		}
	}
	for i := range a.Shared {
		r := &a.Shared[i]
		names := Plain(strings.Join(r.Current.With, " + "))
		model := "1 × " + Plain(strings.TrimPrefix(r.Current.Model, "NVIDIA "))
		if r.Proposed == nil {
			refused.add(names, model+" each", "-", "share: "+strings.Join(blocking(r), ", "))
			continue
		}
		advised.add(append([]string{names, model + " each", "-", "share one by " + Plain(r.Proposed.Resource)}, append(moneyCells(r.Money), orDash(r.Confidence), stateText(r), r.ID)...)...)
	}
	return advised, refused
}

// blocking are the codes that keep one from being advised, each once.
func blocking(r *v1.Recommendation) (out []string) {
	for _, f := range r.Refusals {
		if f.Blocks && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	return out
}

func stateText(r *v1.Recommendation) string {
	if d := r.Decision; d != nil && !d.Until.IsZero() {
		return r.State + " until " + day(d.Until)
	}
	return r.State
}

func workloadName(t *v1.AdviceTarget) string { return Plain(t.Namespace + "/" + t.Owner) }

// has is what a workload has now.
func has(w *v1.AdvisedWorkload) string {
	what := w.Model
	if w.Profile != "" {
		what = w.Profile
	}
	return fmt.Sprintf("%d × %s", w.Partitions, Plain(strings.TrimPrefix(what, "NVIDIA ")))
}

// mostly is the class of most of the time, with its share.
func mostly(classes []v1.ClassTime) string {
	var all int64
	for _, c := range classes {
		all += c.MS
	}
	if all == 0 {
		return unknown
	}
	top := slices.MaxFunc(classes, func(a, b v1.ClassTime) int { return int(min(max(a.MS-b.MS, -1), 1)) })
	return fmt.Sprintf("%s %.0f %%", top.Class, 100*float64(top.MS)/float64(all))
}

func changeText(r *v1.Recommendation) string {
	p := r.Proposed
	switch {
	case p.Profile != "":
		return "to MIG " + Plain(p.Profile)
	case p.Fraction != "":
		return "memory fraction " + Plain(r.Current.Fraction) + " to " + Plain(p.Fraction)
	case p.StopAfterIdle != "":
		return "stop after " + Plain(p.StopAfterIdle) + " idle"
	case p.Model != "":
		return "to " + Plain(p.Model)
	case p.CPUMilli > 0 || p.HostBytes > 0:
		return "ask for " + hostText(p) + " instead of " + hostText(asked(r))
	case r.Kind == "fewer-gpus":
		return count(int64(len(p.With)), "GPU", "GPUs") + " never used"
	case len(p.With) > 0:
		return Plain(p.Resource + " with " + strings.Join(p.With, ", "))
	}
	return Plain(r.Kind)
}

// asked is what is asked for now of what is to be lowered.
func asked(r *v1.Recommendation) *v1.AdviceChange {
	out := v1.AdviceChange{}
	if r.Proposed.CPUMilli > 0 {
		out.CPUMilli = r.Current.CPUMilli
	}
	if r.Proposed.HostBytes > 0 {
		out.HostBytes = r.Current.HostBytes
	}
	return &out
}

func hostText(c *v1.AdviceChange) string {
	var parts []string
	if c.CPUMilli > 0 {
		parts = append(parts, decimals(float64(c.CPUMilli)/1000, -1)+" CPUs")
	}
	if c.HostBytes > 0 {
		parts = append(parts, bytes(int64(min(c.HostBytes, math.MaxInt64))))
	}
	return strings.Join(parts, " and ")
}

func moneyCells(m *v1.AdviceMoney) []string {
	if m == nil {
		return []string{unknown, unknown, unknown}
	}
	charge := unknown
	if m.ChargeDelta != nil {
		charge = amount(nano(*m.ChargeDelta), 2)
	}
	var freed money.Sum
	freed.Add(m.FreedIdle)
	freed.Add(max(m.FreedStranded, 0)) // what is no longer stranded is idle: it is there already
	return []string{charge, amount(freed, 2), amount(nano(m.CashMean), 2) + " " + Plain(m.Currency)}
}

// whyNot are the codes that keep a workload from advice, each once.
func whyNot(w *v1.AdvisedWorkload) (out []string) {
	for i := range w.Recommendations {
		for _, code := range blocking(&w.Recommendations[i]) {
			if !slices.Contains(out, code) {
				out = append(out, code)
			}
		}
	}
	return out
}

// AdviceDetails is all of it, workload by workload.
func AdviceDetails(a *v1.Advice) string {
	var b strings.Builder
	for i := range a.Workloads {
		w := &a.Workloads[i]
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: %s in %s, taken for %s\n", workloadName(&w.Target), has(w), count(int64(w.Pods), "pod", "pods"), w.Work)
		var classes []string
		for _, c := range w.Classes {
			classes = append(classes, fmt.Sprintf("%s %s h", c.Class, hours(c.MS)))
		}
		fmt.Fprintf(&b, "Seen from %s to %s: %s\n", day(a.From), day(a.To), strings.Join(classes, ", "))
		for j := range w.Recommendations {
			recommendationText(&b, &w.Recommendations[j])
		}
	}
	for i := range a.Shared {
		fmt.Fprintf(&b, "\n%s\n", Plain(strings.Join(a.Shared[i].Current.With, " + ")))
		recommendationText(&b, &a.Shared[i])
	}
	if len(a.Workloads) == 0 {
		return Advice(a, false)
	}
	return b.String()
}

func recommendationText(b *strings.Builder, r *v1.Recommendation) {
	fmt.Fprintf(b, "\n%s  %s, %s", r.ID, r.Kind, stateText(r))
	if r.Proposed != nil {
		fmt.Fprintf(b, ": %s, confidence %s", changeText(r), r.Confidence)
	}
	b.WriteString("\n")
	if m := r.Money; m != nil {
		c := moneyCells(m)
		fmt.Fprintf(b, "  money       charge %s, freed %s, cash %s in a month (%s)", c[0], c[1], c[2], m.Class)
		if m.Price != "" {
			fmt.Fprintf(b, "; price: %s", Plain(m.Price))
		}
		b.WriteString("\n")
		if m.Avoidable != 0 {
			fmt.Fprintf(b, "  money       pods waited for such GPUs: %s %s a month need not be bought\n", amount(nano(m.Avoidable), 2), Plain(m.Currency))
		}
		if m.ChargeNote != "" {
			fmt.Fprintf(b, "  charge      %s\n", Plain(m.ChargeNote))
		}
	}
	for _, e := range r.Evidence {
		fmt.Fprintf(b, "  evidence    %s, %s: %s (%s)\n", Plain(e.Metric), Plain(e.Statistic), figure(e.Value, e.Unit), e.Grade)
	}
	for _, t := range r.Tests {
		mark, word := "ok ", "at most"
		if !t.Holds {
			mark, word = "NO ", "more than"
		}
		fmt.Fprintf(b, "  test     %s %s, %s: %s = %s, %s %s\n", mark, Plain(t.Of), Plain(t.Name), Plain(t.Sum), figure(t.Value, t.Unit), word, figure(t.Limit, t.Unit))
	}
	for _, o := range r.Options {
		cash := unknown
		if o.CashMean != nil {
			cash = amount(nano(*o.CashMean), 2)
		}
		fmt.Fprintf(b, "  option      stop after %s min: %s h saved, %s, cash %s\n", whole(o.StopAfterMS/60_000), hours(o.StoppedMS), count(int64(o.Stops), "stop", "stops"), cash)
	}
	if r.Proposed != nil && r.Risk.SlowdownBound > 1 {
		fmt.Fprintf(b, "  risk        a kernel may take up to %.1f times as long\n", r.Risk.SlowdownBound)
	}
	for _, n := range r.Risk.Notes {
		fmt.Fprintf(b, "  risk        %s\n", Plain(n))
	}
	for _, f := range r.Refusals {
		word := "note"
		if f.Blocks {
			word = "refused"
		}
		fmt.Fprintf(b, "  %-11s %s: missing is %s; %s\n", word, f.Code, Plain(missing(&f)), Plain(f.HowToGet))
	}
	if d := r.Decision; d != nil {
		fmt.Fprintf(b, "  said        %s by %s on %s: %s\n", d.State, orDash(Plain(d.By)), day(d.At), orDash(Plain(d.Reason)))
	}
	for _, line := range r.Apply {
		fmt.Fprintf(b, "  apply       %s\n", Plain(line))
	}
}

// missing is what is, and of whom.
func missing(f *v1.AdviceRefusal) string {
	if f.Of == "" {
		return f.Missing
	}
	return f.Of + ": " + f.Missing
}

// figure is a value with its unit.
func figure(v float64, unit string) string {
	switch unit {
	case "bytes":
		return bytes(int64(v))
	case "ratio", "":
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.3f %s", v, Plain(unit))
}
