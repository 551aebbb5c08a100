// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Machine is a node of the cluster trace.
type Machine struct {
	Name      string
	CPUMilli  int64
	MemoryMiB int64
	GPUs      int
	Model     string // as the trace calls it
}

// Ask is a pod of the cluster trace. A pod of one GPU may ask for a part of it.
type Ask struct {
	Name      string
	CPUMilli  int64
	MemoryMiB int64
	GPUs      int
	GPUMilli  int // of each GPU
	QoS       string
	CreatedS  int64
}

// ReadMachines reads the nodes of the trace.
func ReadMachines(r io.Reader) (out []Machine, err error) {
	err = eachRecord(r, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, func(text func(string) string, n func(string) int64) error {
		out = append(out, Machine{text("sn"), n("cpu_milli"), n("memory_mib"), int(n("gpu")), text("model")})
		return nil
	})
	return out, err
}

// ReadAsks reads the pods of the trace, in the order of their creation.
func ReadAsks(r io.Reader) (out []Ask, err error) {
	columns := []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time"}
	err = eachRecord(r, columns, func(text func(string) string, n func(string) int64) error {
		out = append(out, Ask{text("name"), n("cpu_milli"), n("memory_mib"), int(n("num_gpu")), int(n("gpu_milli")), text("qos"), n("creation_time")})
		return nil
	})
	slices.SortFunc(out, func(a, b Ask) int {
		return cmp.Or(cmp.Compare(a.CreatedS, b.CreatedS), strings.Compare(a.Name, b.Name))
	})
	return out, err
}

// eachRecord hands out the rows of a CSV that has these columns, with functions
// that read a column's text or whole number.
func eachRecord(r io.Reader, columns []string, do func(text func(string) string, n func(string) int64) error) error {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil || len(rows) == 0 {
		return fmt.Errorf("read trace: %d rows: %w", len(rows), err)
	}
	for _, c := range columns {
		if !slices.Contains(rows[0], c) {
			return fmt.Errorf("read trace: there is no column %s among %q", c, rows[0])
		}
	}
	for _, row := range rows[1:] {
		var bad error
		text := func(c string) string { return row[slices.Index(rows[0], c)] }
		number := func(c string) int64 {
			n, err := strconv.ParseInt(text(c), 10, 64)
			if err != nil {
				bad = fmt.Errorf("read trace: %s: %w", c, err)
			}
			return n
		}
		if err := cmp.Or(do(text, number), bad); err != nil {
			return err
		}
	}
	return nil
}

// Placed is a pod on a machine, and the cards it has there.
type Placed struct {
	Ask
	Machine int
	Cards   []int
}

// Place puts all pods into the cluster at once, one after the other: the trace is
// meant to fill it. A part of a card goes where it fills a card best, so that
// cards stay whole for those who need them whole; whole cards go where the fewest
// are left. This is no part of gputally, which takes pods as they are.
func Place(machines []Machine, asks []Ask) (placed []Placed, left []Ask) {
	type room struct {
		cpu, memory int64
		cards       []int // thousandths that are free
	}
	rooms := make([]room, len(machines))
	for i, m := range machines {
		rooms[i] = room{m.CPUMilli, m.MemoryMiB, slices.Repeat([]int{1000}, m.GPUs)}
	}
	for _, a := range asks {
		best, bestRank := -1, [3]int64{}
		for i := range rooms {
			r := &rooms[i]
			if r.cpu < a.CPUMilli || r.memory < a.MemoryMiB {
				continue
			}
			fit, tightest, free := 0, 1000, 0
			for _, c := range r.cards {
				free += c
				if c >= a.GPUMilli {
					fit++
					tightest = min(tightest, c)
				}
			}
			if a.GPUs > fit {
				continue
			}
			rank := [3]int64{0, int64(free), r.cpu - a.CPUMilli}
			if a.GPUs == 1 {
				rank[0] = int64(tightest - a.GPUMilli)
			}
			if best < 0 || slices.Compare(rank[:], bestRank[:]) < 0 {
				best, bestRank = i, rank
			}
		}
		if best < 0 {
			left = append(left, a)
			continue
		}
		r := &rooms[best]
		r.cpu, r.memory = r.cpu-a.CPUMilli, r.memory-a.MemoryMiB
		p := Placed{Ask: a, Machine: best}
		for range a.GPUs {
			at := -1
			for c, free := range r.cards {
				if free >= a.GPUMilli && !slices.Contains(p.Cards, c) && (at < 0 || free < r.cards[at]) {
					at = c
				}
			}
			r.cards[at] -= a.GPUMilli
			p.Cards = append(p.Cards, at)
		}
		placed = append(placed, p)
	}
	return placed, left
}

// cards are what NVML calls the trace's models, with the memory they have. G2 and
// G3 are names without a card: 32 GiB stand in.
var cards = map[string]Card{
	"P100":    {Model: "Tesla P100-PCIE-16GB", Total: 16_384 * mib, Reserved: 270 * mib},
	"T4":      {Model: "Tesla T4", Total: 15_360 * mib, Reserved: 450 * mib},
	"V100M16": {Model: "Tesla V100-SXM2-16GB", Total: 16_384 * mib, Reserved: 224 * mib},
	"V100M32": {Model: "Tesla V100-SXM2-32GB", Total: 32_768 * mib, Reserved: 267 * mib},
	"A10":     {Model: "NVIDIA A10", Total: 23_028 * mib, Reserved: 512 * mib},
	"G2":      {Model: "G2", Total: 32_768 * mib, Reserved: 512 * mib},
	"G3":      {Model: "G3", Total: 32_768 * mib, Reserved: 512 * mib},
}

// clusterHour is the hour that the pods run in, sampled every five minutes.
var (
	clusterHour     = time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	clusterInterval = 5 * time.Minute
)

// WatchCluster is an hour of the cluster with the pods in their places. A part of a
// card is a share of its memory, as HAMi gives it; the trace does not tell how much
// of that was held, so each pod holds the fraction that holding says.
func WatchCluster(machines []Machine, placed []Placed, holding func(pod int) float64) []Watch {
	on := make([][]Pod, len(machines))
	nodes := make([]*Node, len(machines))
	serial := 0
	for i, m := range machines {
		n := &Node{Cluster: "openb", Name: m.Name, CPUMilli: m.CPUMilli, MemoryBytes: uint64(m.MemoryMiB) * mib, Labels: map[string]string{"example.com/gpu-model": m.Model}}
		for range m.GPUs {
			of := cards[m.Model]
			n.Cards = append(n.Cards, CardOf(serial, of.Model, of.Total, of.Reserved))
			serial++
		}
		nodes[i] = n
	}
	for k := range placed {
		p := &placed[k]
		on[p.Machine] = append(on[p.Machine], p.pod(k, nodes[p.Machine], holding(k)))
	}
	var out []Watch
	for i := range machines {
		out = append(out, Watch{Cluster: "openb", Node: machines[i].Name, Samples: func(yield func(sample.Sample) bool) {
			for at := time.Duration(0); at <= time.Hour; at += clusterInterval {
				if !yield(nodes[i].At(clusterHour.Add(at), at.Milliseconds(), on[i], nil, nil)) {
					return
				}
			}
		}})
	}
	return out
}

// ShareOf is the memory that the pod keeps from others on a card, in whole MiB as
// HAMi's annotation has it; all of it for a whole card.
func (p *Placed) ShareOf(c Card) uint64 {
	if p.GPUMilli >= 1000 {
		return c.Total
	}
	return c.Total / mib * uint64(p.GPUMilli) / 1000 * mib
}

func (p *Placed) pod(number int, n *Node, fraction float64) Pod {
	out := NewPod(number, strings.ToLower(p.QoS), p.Name)
	out.Containers[0].CPUMilli, out.Containers[0].MemoryBytes = p.CPUMilli, p.MemoryMiB*int64(mib)
	if len(p.Cards) == 0 {
		return out
	}
	var ids, shares []string
	for _, c := range p.Cards {
		card := n.Cards[c]
		keeps := p.ShareOf(card)
		id := string(card.UUID)
		if p.GPUMilli < 1000 {
			id += fmt.Sprintf("-%d", number%10)
			shares = append(shares, fmt.Sprintf("%s,NVIDIA,%d,%d:", card.UUID, keeps/mib, p.GPUMilli/10))
		}
		ids = append(ids, id)
		// The driver's reserve is of the whole card: nobody can hold it.
		most := float64(keeps) * float64(card.Total-card.Reserved) / float64(card.Total)
		if held := uint64(most * fraction); held > 0 {
			out.Holds = append(out.Holds, Hold{c, -1, held})
		}
	}
	out.Devices = []workload.ResourceDevices{{Resource: workload.ResourceGPU, IDs: ids}}
	if len(shares) > 0 {
		out.Annotations = map[string]string{workload.AnnotationHAMiAllocated: strings.Join(shares, "") + ";", "hami.io/vgpu-node": n.Name, "hami.io/bind-phase": "success"}
	}
	return out
}
