// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// width is how many columns a table may take.
const width = 80

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	}
}

// WriteTable prints a report for people: the split at the moment, the usage
// over the window, what it cost, and the findings, in at most 80 columns.
func WriteTable(w io.Writer, r Report) error {
	p := &printer{w: w}
	p.line("NODE %s: %s, %s", r.Node, count(r.Samples, "sample"), count(len(r.Batches), "window"))
	p.moment(r)
	p.usage(r)
	p.bill(r)
	p.findings(r)
	return p.err
}

func (p *printer) moment(r Report) {
	p.line("")
	if r.Moment == nil {
		p.line("MEMORY: nothing was sampled up to that moment")
		return
	}
	p.line("MEMORY at %s (+%s), in MiB", r.Moment.At.Format(time.RFC3339Nano), span(r.OffsetMS))
	if !r.Moment.NVML.OK {
		p.wrapped("  NVML is not available: ", r.Moment.NVML.Error)
	}
	for _, part := range r.Moment.Partitions {
		p.partition(part)
	}
	if len(r.Moment.Partitions) == 0 {
		p.line("  no GPU")
	}
}

// partition prints one partition: who holds what, then the platform accounts,
// then the total beside the capacity.
func (p *printer) partition(part attribution.Partition) {
	p.line("")
	p.line("%s", title(part))
	if part.State != gpu.StateOK {
		p.wrapped("  "+account(part.State)+": ", cmpOr(part.Reason, string(part.State)))
		p.grants(part.Grants)
		return
	}
	if part.MIGParent {
		p.line("  MIG: %d of %d memory slices can hold no further instance", part.StrandedSlices, part.DeviceSlices)
	}
	rows := rowsOf(part)
	if part.Capacity == nil && len(rows) == 0 && !part.MIGParent {
		p.line("  memory unknown")
	}
	for _, row := range rows {
		p.row(row.name, row.bytes, part.Capacity, string(row.grade))
	}
	if part.Capacity != nil {
		p.row("driver reserve", reserveOf(part), part.Capacity, "")
		p.row("unattributed", part.Unattributed, part.Capacity, "")
		p.row("free", part.Free, part.Capacity, "")
		p.total(part)
	}
	p.grants(part.Grants)
}

// reserveOf is the driver's reserve, nil where the driver does not tell it: the
// reserve is unattributed then, or with a holder without a size.
func reserveOf(part attribution.Partition) *uint64 {
	if part.ReserveUnknown {
		return nil
	}
	return part.Reserved
}

type row struct {
	name  string
	bytes *uint64
	grade gpu.Grade
}

// rowsOf lists the holdings, pods first and leaks marked.
func rowsOf(part attribution.Partition) []row {
	hold := map[holderKey]row{}
	for _, h := range part.Holdings {
		k := holderKey{h.Holder, h.Leak}
		hold[k] = row{name: holderName(k), bytes: h.Bytes, grade: h.Grade}
	}
	var out []row
	for _, k := range byKey(hold) {
		out = append(out, hold[k])
	}
	return out
}

func holderName(k holderKey) string {
	h := k.holder
	name := h.Account()
	switch h.Kind {
	case workload.KindPod:
		if h.Container != "" {
			name += "/" + h.Container
		}
	case workload.KindDaemon:
		name = "daemon " + cmpOr(strings.Trim(h.Namespace+"/"+h.Pod, "/"), h.Unit)
	case workload.KindHost:
		name = "host " + h.Unit
	case workload.KindUnknown:
		name = "unknown owner"
	}
	if k.leak {
		name += " LEAK"
	}
	return name
}

func (p *printer) row(name string, bytes, capacity *uint64, note string) {
	p.line("  %-40s %13s %7s  %s", shorten(name, 40), mib(bytes), percent(bytes, capacity), note)
}

func (p *printer) total(part attribution.Partition) {
	sum, known := *part.Reserved+*part.Unattributed+*part.Free, true
	for _, h := range part.Holdings {
		if h.Bytes == nil {
			known = false
			continue
		}
		sum += *h.Bytes
	}
	mark := "✓ = capacity"
	if sum != *part.Capacity {
		mark = "✗ capacity is " + mib(part.Capacity)
	} else if !known {
		mark = "✓ = capacity; a size is unknown"
	}
	p.line("  %-40s %13s          %s", "total", mib(&sum), mark)
}

func (p *printer) grants(grants []attribution.Grant) {
	for _, g := range grants {
		what := fmt.Sprintf("granted to %s: %s", g.Holder.Account(), g.Mode)
		if g.ReservedBytes != nil && *g.ReservedBytes > 0 {
			what += ", keeps " + mib(g.ReservedBytes) + " MiB"
		}
		if g.Admin {
			what += ", admin access"
		}
		p.line("  %s", shorten(what, width-2))
	}
}

func title(part attribution.Partition) string {
	name := part.ID.String()
	if part.ID.IsInstance() && len(part.Names) > 0 {
		name = string(part.Names[0]) + " " + part.Profile
	}
	line := name + "  " + string(part.Mode)
	if part.Model != "" && len(line)+len(part.Model)+2 <= width {
		line += "  " + part.Model
	}
	return line
}

func account(s gpu.State) string {
	if s == gpu.StateLost {
		return "unavailable"
	}
	return "unmeasured"
}

// usage prints what each partition's holders had over the window.
func (p *printer) usage(r Report) {
	totals := sumUp(r.Batches)
	if len(totals) == 0 {
		return
	}
	p.line("")
	p.line("USAGE over the window; mean and peak in MiB")
	for _, id := range slices.SortedFunc(maps.Keys(totals), gpu.PartitionID.Compare) {
		p.partitionUsage(id, totals[id])
	}
}

func (p *printer) partitionUsage(id gpu.PartitionID, t *partitionTotal) {
	p.line("")
	p.line("%s", usageTitle(id, t))
	p.line(usageRow, "", "GiB·h", "mean", "peak", "for", "grade")
	knownMS := t.measuredMS - t.noMemoryMS
	for _, k := range byKey(t.holders) {
		h := t.holders[k]
		name := shorten(holderName(k), 27)
		if h.knownMS == 0 {
			p.line(usageRow, name, "unknown", "unknown", "unknown", span(h.presentMS), grades(h.grades))
			continue
		}
		over := knownMS
		if over == 0 { // unified memory: only the holders' sizes are known
			over = h.knownMS
		}
		p.line(usageRow, name, gibHours(h.bytes), mean(h.bytes, over), mib(&h.peak), span(h.presentMS), grades(h.grades))
	}
	if knownMS > 0 {
		p.platform(t, knownMS)
	}
	for _, k := range byKey(t.grants) {
		g := t.grants[k]
		p.line("  %s", shorten(fmt.Sprintf("granted to %s for %s: %s", g.last.Holder.Account(), span(g.grantedMS), g.last.Mode), width-2))
	}
	p.times(t)
}

// usageRow is a line of the usage table. The mean is over the time in which
// the partition was measured, so that the column sums to the capacity; without
// a capacity, over the time in which the holder's size was known.
const usageRow = "  %-27s %9s %11s %9s %7s  %s"

func (p *printer) platform(t *partitionTotal, knownMS int64) {
	line := func(name string, sum usage.Total, note string) {
		p.line(usageRow, name, gibHours(sum), mean(sum, knownMS), "", "", note)
	}
	if known := knownMS - t.noReserveMS; known > 0 || t.noReserveMS == 0 {
		line("driver reserve", t.reserved, "")
	} else {
		p.line(usageRow, "driver reserve", "unknown", "unknown", "", "", "")
	}
	line("unattributed", t.unattributed, "")
	line("free", t.free, "")
	if t.balances() {
		line("capacity", t.capacity, "✓ = sum")
	} else {
		line("capacity", t.capacity, "✗ not the sum")
	}
}

func (p *printer) times(t *partitionTotal) {
	parts := []string{"measured " + span(t.measuredMS)}
	if t.noReserveMS > 0 {
		parts = append(parts, "driver reserve unknown "+span(t.noReserveMS))
	}
	if t.noMemoryMS > 0 {
		parts = append(parts, "memory unknown "+span(t.noMemoryMS))
	}
	if t.unavailableMS > 0 {
		parts = append(parts, "unavailable "+span(t.unavailableMS))
	}
	if t.unmeasuredMS > 0 {
		parts = append(parts, "unmeasured "+span(t.unmeasuredMS))
	}
	p.line("  %s", strings.Join(parts, ", "))
	for _, reason := range sortedKeys(t.reasons) {
		p.wrapped("    because ", reason)
	}
}

func usageTitle(id gpu.PartitionID, t *partitionTotal) string {
	if id.IsInstance() && len(t.last.Names) > 0 {
		return string(t.last.Names[0]) + " " + t.last.Profile
	}
	return id.String()
}

func (p *printer) findings(r Report) {
	list := sumFindings(r.Batches)
	p.line("")
	if len(list) == 0 {
		p.line("FINDINGS: none")
		return
	}
	p.line("FINDINGS")
	for _, f := range list {
		p.wrapped(fmt.Sprintf("  %-8s ", f.severity), f.text+" (for "+span(f.forMS)+")")
	}
}

// findingText is a finding in words, without its evidence.
func findingText(f attribution.Finding) string {
	text := string(f.Kind)
	if f.Holder.Kind != "" {
		text += " " + holderName(holderKey{holder: f.Holder})
	}
	if f.PID != 0 {
		text += fmt.Sprintf(" pid %d", f.PID)
	}
	if f.Resource != "" {
		text += " " + f.Resource
	}
	if on := cmpOr(f.Partition, string(f.Device)); on != "" {
		text += " on " + on
	}
	text += ": " + f.Detail
	if len(f.Victims) > 0 {
		text += ", at the cost of " + strings.Join(f.Victims, ", ")
	}
	return text
}
