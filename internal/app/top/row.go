// SPDX-License-Identifier: Apache-2.0

package top

import (
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// Kind is what a row is. Rows of a partition stand in this order; holders are
// sorted among themselves.
type Kind int

// The kinds of row.
const (
	KindHolder Kind = iota
	KindOthers      // holders that the filter hides, together
	KindHost
	KindDaemon
	KindReserve
	KindUnattributed
	KindFree
)

// Row is one line of a partition's table: a holder or a platform account.
type Row struct {
	Kind Kind
	Mark rune
	// Owner has the colour; empty for platform rows.
	Owner     string
	Name      string
	Container string
	// Bytes is nil when not known.
	Bytes *uint64
	Grade gpu.Grade
	// Reserved is what the grant keeps for the holder, nil where it has no
	// grant or the share is not known; Granted tells the two apart.
	Reserved *uint64
	Granted  bool
	// Together: the grant is a claim that several pods share, so what it keeps
	// is no single pod's.
	Together bool
	SM       *float64
	SMGrade  gpu.Grade
	Leak     bool
	Notes    []string
	PIDs     []int
	// Source is where the grant comes from: kubelet, dra, hami …
	Source string
	// keep is the part of a grant that nobody uses, as drawn behind this row.
	keep uint64
}

// rows are the holders and platform accounts of a partition, in no order yet.
func rows(p attribution.Partition, r *attribution.Result) []Row {
	var out []Row
	for _, h := range p.Holdings {
		out = append(out, holdingRow(h, r.Standalone))
	}
	out = withGrants(out, p)
	words := findingWords(p, r.Findings)
	for i := range out {
		out[i].note(words[out[i].Owner])
	}
	return append(out, platformRows(p)...)
}

func holdingRow(h attribution.Holding, standalone bool) Row {
	row := Row{
		Owner: ownerOf(h.Holder), Name: nameOf(h.Holder), Container: clean(h.Holder.Container),
		Bytes: h.Bytes, Grade: h.Grade, SM: h.SM, SMGrade: h.SMGrade, Leak: h.Leak, PIDs: h.PIDs,
	}
	switch h.Holder.Kind {
	case workload.KindHost:
		if !standalone {
			row.Kind = KindHost
		}
	case workload.KindDaemon:
		row.Kind, row.Owner = KindDaemon, ""
	case workload.KindUnknown:
		row.Kind, row.Owner = KindUnattributed, ""
	}
	return row
}

// ownerOf is whom a bill would name, and so who has a colour.
func ownerOf(h workload.Holder) string {
	if h.Kind == workload.KindHost {
		return "host " + h.Unit
	}
	return h.Account()
}

func nameOf(h workload.Holder) string {
	name := h.Account()
	switch h.Kind {
	case workload.KindHost:
		name = "host " + orUnknown(h.Unit)
	case workload.KindDaemon:
		name = "daemon " + orUnknown(h.Unit)
		if h.Pod != "" {
			name = "daemon " + h.Namespace + "/" + h.Pod
		}
	case workload.KindUnknown:
		name = "process without an owner"
	}
	return clean(name)
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}

// withGrants puts each grant behind its pod's rows. A pod with a grant and no
// process holds nothing, where that could be read.
func withGrants(rows []Row, p attribution.Partition) []Row {
	for _, g := range p.Grants {
		owner := ownerOf(g.Holder)
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Owner == owner })
		if i < 0 {
			row := Row{Owner: owner, Name: nameOf(g.Holder), Grade: gpu.Unmeasured}
			if p.Capacity != nil {
				row.Bytes, row.Grade = new(uint64), gpu.Measured
				row.Notes = []string{"no process"}
			}
			i = len(rows)
			rows = append(rows, row)
		}
		rows[i].Granted, rows[i].Reserved, rows[i].Source = true, g.ReservedBytes, g.Source
		rows[i].Together = g.Mode == gpu.ModeSharedClaim
		if g.Admin {
			rows[i].Notes = append(rows[i].Notes, "admin access")
		}
	}
	return rows
}

// findingWords is what findings say of the owners on a partition, in a word
// or two.
func findingWords(p attribution.Partition, findings []attribution.Finding) map[string][]string {
	out := map[string][]string{}
	for _, f := range findings {
		word := shortFinding[f.Kind]
		if word != "" && f.Holder.Kind != "" && concerns(f, p) {
			out[ownerOf(f.Holder)] = append(out[ownerOf(f.Holder)], word)
		}
	}
	return out
}

// note puts words beside a row, each once and a leak first.
func (r *Row) note(words []string) {
	if r.Leak {
		r.Notes = append([]string{"LEAK"}, r.Notes...)
	}
	for _, w := range words {
		if !slices.Contains(r.Notes, w) {
			r.Notes = append(r.Notes, w)
		}
	}
}

// shortFinding are the findings about a holder in the width of a column. A
// leak is marked by its row; the others stand in the list of findings.
var shortFinding = map[attribution.FindingKind]string{
	attribution.OverLimit:           "over limit",
	attribution.ExternalProcess:     "external",
	attribution.Exposure:            "exposed",
	attribution.DoubleOwner:         "two owners",
	attribution.AllocatedNotVisible: "not visible",
	attribution.OrphanedMemory:      "orphaned",
}

func concerns(f attribution.Finding, p attribution.Partition) bool {
	key := p.ID.String()
	switch {
	case f.Partition != "":
		return f.Partition == key
	case len(f.Partitions) > 0:
		return slices.Contains(f.Partitions, key)
	}
	return f.Device != "" && f.Device == p.ID.Device
}

func platformRows(p attribution.Partition) []Row {
	if p.MIGParent || p.State != gpu.StateOK {
		return nil
	}
	unattributed := gpu.Measured
	if p.Grade == gpu.Skewed {
		unattributed = gpu.Skewed
	}
	reserve := Row{Kind: KindReserve, Name: "driver reserve", Bytes: p.Reserved, Grade: gpu.Measured}
	if p.ReserveUnknown {
		reserve.Bytes, reserve.Grade = nil, gpu.Unmeasured
	}
	return []Row{
		reserve,
		{Kind: KindUnattributed, Name: "unattributed", Bytes: p.Unattributed, Grade: unattributed},
		{Kind: KindFree, Name: "free", Bytes: p.Free, Grade: unattributed},
	}
}
