// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// batch is the part of a usage batch that scenarios look at.
type batch struct {
	Boot       string `json:"boot"`
	Seq        uint64 `json:"seq"`
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

// recordedAll checks the records: bytes balance, no batch is there twice, and everything
// the agent was seen to say was written down.
func (a *agent) recordedAll(t *testing.T) {
	t.Helper()
	batches := a.records(t)
	balanced(t, batches)
	names := map[partitionID]string{}
	held, leaks, granted, found := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, b := range batches {
		for _, p := range b.Partitions {
			names[p.Partition] = p.Partition.Device
			if len(p.Names) > 0 {
				names[p.Partition] = p.Names[0]
			}
		}
		for _, h := range b.Holders {
			line := holding{who: h.Holder.who(), partition: names[h.Partition], bytes: h.PeakBytes}.line()
			held[line] = true
			leaks[line] = h.Leak
		}
		for _, g := range b.Grants {
			granted[g.Grant.line(names[g.Partition])] = g.GrantedMS > 0
		}
		for _, f := range b.Findings {
			found[findingLine(f.Kind, f.Holder.Pod)] = true
		}
	}
	for _, said := range a.said {
		for _, h := range said.holdings {
			if !held[h.line()] {
				t.Errorf("no record says that %s; there are %v", h.line(), keys(held))
			} else if leaks[h.line()] != h.leak {
				t.Errorf("the record of %s says leak: %v", h.line(), !h.leak)
			}
		}
		for _, g := range said.grants {
			if !granted[g.line()] {
				t.Errorf("no record says that %s; there are %v", g.line(), keys(granted))
			}
		}
		for _, f := range said.findings {
			if !found[findingLine(f.kind, f.pod)] {
				t.Errorf("no record has the %s; there are %v", findingLine(f.kind, f.pod), keys(found))
			}
		}
	}
}

func keys(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return sorted(out)
}

// balanced checks, without the agent's help, that in every partition record the parts sum
// to the whole, and that no batch is there twice.
func balanced(t *testing.T, batches []batch) {
	t.Helper()
	type piece struct {
		partition partitionID
		start     int64
	}
	seen := map[string]bool{}
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
			sum := p.ReservedByteMS + p.UnattributedByteMS + p.FreeByteMS + holders[piece{p.Partition, p.StartMS}]
			if sum != p.CapacityByteMS {
				t.Errorf("batch %s, partition %+v: the parts sum to %d of %d byte-milliseconds", id, p.Partition, sum, p.CapacityByteMS)
			}
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
