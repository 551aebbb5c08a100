// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Reading is what was measured of one serving pod at one time.
type Reading struct {
	AtMS  int64
	Bytes uint64
	Busy  *float64 // 0..1; nil: not measured
}

// Server is one pod of the serving trace, its readings in order.
type Server struct {
	Name     string
	Readings []Reading
}

// ReadServing reads the two files of the trace: value, time and pod, gzipped. Pods
// of which only the duty cycle is known are left out: nobody measured their memory.
// Memory is rounded to whole bytes.
func ReadServing(memory, duty io.Reader) ([]Server, error) {
	at := map[string]map[int64]*Reading{}
	err := eachRow(memory, func(pod string, ms int64, value float64) error {
		if at[pod] == nil {
			at[pod] = map[int64]*Reading{}
		}
		if at[pod][ms] != nil {
			return fmt.Errorf("pod %s has two readings at %d", pod, ms)
		}
		at[pod][ms] = &Reading{AtMS: ms, Bytes: uint64(math.Round(value))}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read memory: %w", err)
	}
	err = eachRow(duty, func(pod string, ms int64, value float64) error {
		if r := at[pod][ms]; r != nil {
			r.Busy = new(value / 100)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read duty cycle: %w", err)
	}
	var out []Server
	for name, readings := range at {
		s := Server{Name: name}
		for _, r := range readings {
			s.Readings = append(s.Readings, *r)
		}
		slices.SortFunc(s.Readings, func(a, b Reading) int { return int(a.AtMS - b.AtMS) })
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// eachRow hands out the rows of a gzipped CSV, whose columns may come in any order.
func eachRow(r io.Reader, do func(pod string, ms int64, value float64) error) error {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	in := csv.NewReader(plain)
	head, err := in.Read()
	if err != nil {
		return err
	}
	head = slices.Clone(head)
	value, at, pod := slices.Index(head, "value"), slices.Index(head, "timestamp_anon"), slices.Index(head, "container_ip")
	if value < 0 || at < 0 || pod < 0 {
		return fmt.Errorf("the columns are %q", head)
	}
	in.ReuseRecord = true
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v, errV := strconv.ParseFloat(row[value], 64)
		s, errS := strconv.ParseFloat(row[at], 64)
		if errV != nil || errS != nil || v < 0 {
			return fmt.Errorf("row %q is no reading", row)
		}
		if err := do(row[pod], int64(s*1000), v); err != nil {
			return err
		}
	}
}

// ServingInterval is how far the trace's readings lie apart.
const ServingInterval = 57 * time.Second

// awayMS is how long a pod may be without a reading and still be there: three
// intervals, as an agent has it. Longer, and it was away.
const awayMS = 3 * 57_000

// stretch is a time in which a pod was there: [from, to).
type stretch struct{ from, to int64 }

// Stretches are the times in which the pod was there. A reading holds until the
// next; the last one of a stretch for one interval.
func (s *Server) Stretches() (out []stretch) {
	for i, r := range s.Readings {
		if i == 0 || r.AtMS-s.Readings[i-1].AtMS > awayMS {
			out = append(out, stretch{from: r.AtMS})
		}
		out[len(out)-1].to = r.AtMS + ServingInterval.Milliseconds()
	}
	return out
}

// at is the reading that holds at a moment, nil where the pod was away.
func (s *Server) at(ms int64) *Reading {
	i := sort.Search(len(s.Readings), func(i int) bool { return s.Readings[i].AtMS > ms }) - 1
	if i < 0 {
		return nil
	}
	r := &s.Readings[i]
	until := r.AtMS + ServingInterval.Milliseconds()
	if i+1 < len(s.Readings) && s.Readings[i+1].AtMS-r.AtMS <= awayMS {
		until = s.Readings[i+1].AtMS
	}
	if ms >= until {
		return nil
	}
	return r
}

// What the trace does not tell: which cards, and how many to a node. Its largest
// pod holds 47.3 GiB.
const (
	servingModel    = "NVIDIA RTX A6000"
	servingTotal    = 49_140 * mib
	servingReserved = 456 * mib
	cardsOfServer   = 8
)

// WatchServing places the pods on nodes of eight cards, one to a card, in the order
// of their names, and samples each node at every time at which the trace has
// readings, and once at the end.
func WatchServing(servers []Server) []Watch {
	from, to := int64(math.MaxInt64), int64(0)
	for _, s := range servers {
		from, to = min(from, s.Readings[0].AtMS), max(to, s.Readings[len(s.Readings)-1].AtMS)
	}
	var out []Watch
	for len(servers) > 0 {
		k := min(cardsOfServer, len(servers))
		out = append(out, watchServer(len(out), servers[:k], from, to))
		servers = servers[k:]
	}
	return out
}

func watchServer(number int, servers []Server, from, to int64) Watch {
	n := &Node{Cluster: "serving", Name: fmt.Sprintf("serving-%02d", number), CPUMilli: 128_000, MemoryBytes: 1024 << 30}
	var pods []Pod
	for i, s := range servers {
		n.Cards = append(n.Cards, CardOf(number*cardsOfServer+i, servingModel, servingTotal, servingReserved))
		p := NewPod(number*cardsOfServer+i, "serving", s.Name)
		p.Devices = []workload.ResourceDevices{{Resource: workload.ResourceGPU, IDs: []string{string(n.Cards[i].UUID)}}}
		pods = append(pods, p)
	}
	for len(n.Cards) < cardsOfServer { // a node is bought whole
		n.Cards = append(n.Cards, CardOf(number*cardsOfServer+len(n.Cards), servingModel, servingTotal, servingReserved))
	}
	return Watch{Cluster: n.Cluster, Node: n.Name, Samples: func(yield func(sample.Sample) bool) {
		step := ServingInterval.Milliseconds()
		for ms := from; ms <= to+step; ms += step {
			var here []Pod
			busy := make([]float64, len(n.Cards))
			for i := range servers {
				r := servers[i].at(ms)
				if r == nil {
					continue
				}
				p := pods[i]
				if r.Bytes > 0 {
					p.Holds = []Hold{{i, -1, r.Bytes}}
				}
				if r.Busy != nil {
					busy[i] = *r.Busy
				}
				here = append(here, p)
			}
			if !yield(n.At(time.UnixMilli(ms).UTC(), ms-from, here, nil, busy)) {
				return
			}
		}
	}}
}
