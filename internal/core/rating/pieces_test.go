// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/usage"
)

const (
	minute = int64(60_000)
	hour   = int64(hourMS)
	// noon is an hour of UTC.
	noon = 1_764_590_400_000
)

func at(h int64) ledger.NodeHour {
	return ledger.NodeHour{Cluster: "c", Node: "n", HourMS: noon + h*hour}
}

func shape(fromMS int64, kind string, cpu int64, slots ...string) ShapeAt {
	s := ShapeAt{FromMS: fromMS, NodeShape: usage.NodeShape{CPUMilli: cpu}}
	if kind != "" {
		s.Labels = map[string]string{"node.kubernetes.io/instance-type": kind}
	}
	for _, slot := range slots {
		s.Slots = append(s.Slots, usage.NodeSlot{Slot: slot, Model: "NVIDIA H100"})
	}
	return s
}

func machine(id string, first, last int64, shapes ...ShapeAt) Machine {
	m := Machine{Cluster: "c", Node: "n", ProviderID: id, FirstMS: first, LastMS: last, IntervalMS: 5000, Shapes: shapes}
	for _, s := range shapes {
		m.CreatedMS = earlier(m.CreatedMS, s.CreatedMS)
	}
	return m
}

func batch(id string, startMS int64, slots ...string) usage.Batch {
	b := usage.Batch{Cluster: "c", Node: "n", ProviderID: id, StartMS: startMS, DurationMS: minute}
	for i, s := range slots {
		uuid := gpu.UUID(fmt.Sprintf("GPU-%d", i))
		b.Partitions = append(b.Partitions, usage.PartitionRecord{Partition: gpu.Whole(uuid), Slot: s, Model: "NVIDIA H100"})
	}
	return b
}

// say is pieces in a few words: minutes from noon, machine, type, slots.
func say(ps []Piece) string {
	var out []string
	for _, p := range ps {
		var slots []string
		for _, s := range p.Node.Slots {
			slots = append(slots, s.Name)
		}
		out = append(out, fmt.Sprintf("%g-%g %s %s %dm [%s]", float64(p.FromMS-noon)/float64(minute), float64(p.ToMS-noon)/float64(minute),
			p.Node.ProviderID, p.Node.InstanceType, p.Node.CPUMilli, strings.Join(slots, " ")))
	}
	return strings.Join(out, "; ")
}

func TestPieces(t *testing.T) {
	always := shape(noon-10*hour, "p5", 8, "00:1", "00:2")
	long := machine("aws:///a/i-1", noon-10*hour, noon+10*hour, always)
	for name, c := range map[string]struct {
		hour     int64
		machines []Machine
		batches  []usage.Batch
		want     string
	}{
		"nothing known": {},
		"a whole hour":  {machines: []Machine{long}, batches: []usage.Batch{batch("aws:///a/i-1", noon, "00:1", "00:2")}, want: "0-60 aws:///a/i-1 p5 8m [00:1 00:2]"},
		"an hour without records is paid for, by the slots known before": {
			machines: []Machine{long}, want: "0-60 aws:///a/i-1 p5 8m [00:1 00:2]",
		},
		"records go before what was known": {
			machines: []Machine{long}, batches: []usage.Batch{batch("aws:///a/i-1", noon, "00:1"), batch("aws:///a/i-1", noon+minute, "00:3")}, want: "0-60 aws:///a/i-1 p5 8m [00:1 00:3]",
		},
		"a device without an address takes a place of its own": {
			machines: []Machine{long}, batches: []usage.Batch{batch("aws:///a/i-1", noon, "", ""), batch("aws:///a/i-1", noon+minute, "")}, want: "0-60 aws:///a/i-1 p5 8m [gpu0 gpu1]",
		},
		"before the first window": {hour: -11, machines: []Machine{long}},
		"the first hour":          {machines: []Machine{machine("x", noon+20*minute, noon+hour, shape(noon+20*minute, "a", 4))}, want: "20-60 x a 4m []"},
		"the last hour, and an interval": {
			machines: []Machine{machine("x", noon-hour, noon+30*minute, shape(noon-hour, "a", 4))}, want: "0-30.083333333333332 x a 4m []",
		},
		"another machine takes the name": {
			machines: []Machine{machine("y", noon+40*minute, noon+9*hour, shape(noon+40*minute, "b", 2)), machine("x", noon-hour, noon+30*minute, shape(noon-hour, "a", 4))},
			want:     "0-30.083333333333332 x a 4m []; 40-60 y b 2m []",
		},
		"two machines at once are paid one after the other": {
			machines: []Machine{machine("x", noon-hour, noon+50*minute, shape(noon-hour, "a", 4)), machine("y", noon+40*minute, noon+9*hour, shape(noon+40*minute, "b", 2))},
			want:     "0-40 x a 4m []; 40-60 y b 2m []",
		},
		"who was not named at first is the machine that is named next": {
			machines: []Machine{machine("", noon+5*minute, noon+10*minute, shape(noon+5*minute, "", 4)), machine("x", noon+10*minute, noon+9*hour, shape(noon+10*minute, "a", 4))},
			want:     "5-10 x  4m []; 10-60 x a 4m []",
		},
		"a host without Kubernetes has no name for its machine": {
			machines: []Machine{machine("", noon-hour, noon+9*hour, shape(noon-hour, "", 4))}, want: "0-60   4m []",
		},
		"a changed shape cuts": {
			machines: []Machine{machine("x", noon-hour, noon+9*hour, shape(noon-hour, "a", 4), shape(noon, "a", 4), shape(noon+15*minute, "a", 6), shape(noon+30*minute, "a", 6))},
			want:     "0-15 x a 4m []; 15-60 x a 6m []",
		},
		"it boots": {
			hour: -1, machines: []Machine{machine("x", noon+4*minute, noon+9*hour, created(noon-6*minute, shape(noon+4*minute, "a", 4)))}, want: "-6-0 x a 4m []",
		},
		"an old machine is metered from its first window": {
			machines: []Machine{machine("x", noon+4*minute, noon+9*hour, created(noon-100*hour, shape(noon+4*minute, "a", 4)))}, want: "4-60 x a 4m []",
		},
	} {
		if got := say(Pieces(at(c.hour), c.machines, c.batches)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func created(ms int64, s ShapeAt) ShapeAt {
	s.CreatedMS = ms
	return s
}

func TestBoot(t *testing.T) {
	m := machine("x", noon+4*minute, noon+hour, created(noon-6*minute, shape(noon+4*minute, "a", 4)))
	if got := m.Boot(); len(got) != 1 || got[0] != at(-1) {
		t.Errorf("boot hours %v", got)
	}
	m.CreatedMS = noon + minute
	if got := m.Boot(); len(got) != 0 {
		t.Errorf("boot hours %v of a machine that booted in its first hour", got)
	}
}
