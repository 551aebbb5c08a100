// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// batch is the part of a usage batch that scenarios look at.
type batch struct {
	Agent      string `json:"agent"`
	Boot       string `json:"boot"`
	Seq        uint64 `json:"seq"`
	StartMS    int64  `json:"start_ms"`
	DurationMS int64  `json:"duration_ms"`
	Partitions []struct {
		Partition          partitionID `json:"partition"`
		Names              []string    `json:"names"`
		MIGParent          bool        `json:"mig_parent"`
		StartMS            int64       `json:"start_ms"`
		DurationMS         int64       `json:"duration_ms"`
		CapacityByteMS     uint64      `json:"capacity_byte_ms"`
		ReservedByteMS     uint64      `json:"reserved_byte_ms"`
		UnattributedByteMS uint64      `json:"unattributed_byte_ms"`
		FreeByteMS         uint64      `json:"free_byte_ms"`
	} `json:"partitions"`
	Holders []struct {
		Partition partitionID `json:"partition"`
		StartMS   int64       `json:"start_ms"`
		Holder    holder      `json:"holder"`
		Leak      bool        `json:"leak"`
		ByteMS    uint64      `json:"byte_ms"`
		PeakBytes uint64      `json:"peak_bytes"`
	} `json:"holders"`
	Grants []struct {
		Partition partitionID `json:"partition"`
		Grant     grantSeen   `json:"grant"`
		GrantedMS int64       `json:"granted_ms"`
	} `json:"grants"`
	Findings []struct {
		Kind   string `json:"kind"`
		Holder holder `json:"holder"`
	} `json:"findings"`
	Gap *struct {
		Reason string `json:"reason"`
	} `json:"gap"`
}

// records reads the agent's spool with the agent's own tools, which also check it.
func (a *agent) records(t *testing.T) []batch {
	t.Helper()
	if out, err := output("gputally-agent", "spool", "verify", a.spool); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	lines, err := output("gputally-agent", "spool", "cat", a.spool)
	if err != nil {
		t.Fatal(err)
	}
	var all []batch
	for line := range bytes.Lines(lines) {
		var b batch
		if err := json.Unmarshal(line, &b); err != nil {
			t.Fatalf("read batch: %v\n%s", err, line)
		}
		all = append(all, b)
	}
	return all
}

// recordedAll checks the records: bytes balance, no batch is there twice, and they hold
// what the agent was seen to say and nothing else. So a finding or a leak that came and
// went between two looks fails the test too.
func (a *agent) recordedAll(t *testing.T) {
	t.Helper()
	batches := a.records(t)
	balanced(t, batches)
	if diff := cmp.Diff(saidLines(a.said), recordLines(batches)); diff != "" {
		t.Errorf("records (-said +recorded):\n%s", diff)
	}
}

// peaks are the largest holdings of each holder and partition: a record keeps the peak of
// its minute.
type peaks map[string]holding

func (p peaks) add(h holding) {
	key := fmt.Sprint(h.who, h.partition, h.leak)
	if h.bytes >= p[key].bytes {
		p[key] = h
	}
}

func (p peaks) lines() []string {
	var lines []string
	for _, h := range p {
		line := h.line()
		if h.leak {
			line += " as a leak"
		}
		lines = append(lines, line)
	}
	return lines
}

func saidLines(said []truth) []string {
	held, lines := peaks{}, []string{}
	for _, moment := range said {
		for _, h := range moment.holdings {
			held.add(h)
		}
		for _, g := range moment.grants {
			lines = append(lines, g.line())
		}
		for _, f := range moment.findings {
			lines = append(lines, findingLine(f.kind, f.pod))
		}
	}
	return slices.Compact(sorted(append(lines, held.lines()...)))
}

func recordLines(batches []batch) []string {
	names := map[partitionID]string{}
	held, lines := peaks{}, []string{}
	for _, b := range batches {
		for _, p := range b.Partitions {
			names[p.Partition] = p.Partition.Device
			if len(p.Names) > 0 {
				names[p.Partition] = p.Names[0]
			}
		}
		for _, h := range b.Holders {
			held.add(holding{who: h.Holder.who(), partition: names[h.Partition], bytes: h.PeakBytes, leak: h.Leak})
		}
		for _, g := range b.Grants {
			if g.GrantedMS > 0 {
				lines = append(lines, g.Grant.line(names[g.Partition]))
			}
		}
		for _, f := range b.Findings {
			lines = append(lines, findingLine(f.Kind, f.Holder.Pod))
		}
	}
	return slices.Compact(sorted(append(lines, held.lines()...)))
}

const clockDriftMS = 100

// balanced checks, without the agent's help, that in every partition record the parts sum
// to the whole, that no batch is there twice and no time is counted twice.
func balanced(t *testing.T, batches []batch) {
	t.Helper()
	type piece struct {
		partition partitionID
		start     int64
	}
	seen := map[string]bool{}
	began, ended, measured := map[partitionID]int64{}, map[partitionID]int64{}, map[partitionID]int64{}
	for _, b := range batches {
		id := fmt.Sprintf("%s/%d", b.Boot, b.Seq)
		if seen[id] {
			t.Errorf("batch %s is there twice", id)
		}
		seen[id] = true
		holders := map[piece]uint64{}
		for _, h := range b.Holders {
			holders[piece{h.Partition, h.StartMS}] += h.ByteMS
		}
		for _, p := range b.Partitions {
			if first, ok := began[p.Partition]; !ok || p.StartMS < first {
				began[p.Partition] = p.StartMS
			}
			ended[p.Partition] = max(ended[p.Partition], p.StartMS+p.DurationMS)
			measured[p.Partition] += p.DurationMS
			sum := p.ReservedByteMS + p.UnattributedByteMS + p.FreeByteMS + holders[piece{p.Partition, p.StartMS}]
			if sum != p.CapacityByteMS {
				t.Errorf("batch %s, partition %+v: the parts sum to %d of %d byte-milliseconds", id, p.Partition, sum, p.CapacityByteMS)
			}
		}
	}
	for partition, ms := range measured {
		// Pieces are measured by one clock and labelled by another: allow for their drift.
		if there := ended[partition] - began[partition]; ms > there+clockDriftMS {
			t.Errorf("partition %+v: %d ms are recorded of %d", partition, ms, there)
		}
	}
}

// recorded checks that a pod, by its UID, has a record with this peak.
func (a *agent) recorded(t *testing.T, podUID string, peakBytes uint64) {
	t.Helper()
	var peaks []uint64
	for _, b := range a.records(t) {
		for _, h := range b.Holders {
			if h.Holder.PodUID == podUID {
				peaks = append(peaks, h.PeakBytes)
				if h.PeakBytes == peakBytes {
					return
				}
			}
		}
	}
	t.Errorf("pod %s has no record with a peak of %d bytes, only %v", podUID, peakBytes, peaks)
}

// gaps lists the reasons of the gaps in the records.
func (a *agent) gaps(t *testing.T) []string {
	t.Helper()
	var reasons []string
	for _, b := range a.records(t) {
		if b.Gap != nil {
			reasons = append(reasons, b.Gap.Reason)
		}
	}
	return reasons
}
