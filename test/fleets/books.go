// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// Watch is the samples of one node, in order.
type Watch struct {
	Cluster, Node string
	Samples       iter.Seq[sample.Sample]
}

// Rhythm is how a fleet is sampled, and for how long.
type Rhythm struct {
	Interval time.Duration
	Window   time.Duration
}

// Records is what the agents of all nodes would have written, node by node.
func Records(watches []Watch, r Rhythm) ([][]usage.Batch, error) {
	out := make([][]usage.Batch, len(watches))
	err := each(len(watches), func(i int) error {
		var err error
		out[i], err = record(watches[i], r)
		return err
	})
	return out, err
}

// each does n things on all cores; the first error is returned.
func each(n int, do func(int) error) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return first
}

func record(w Watch, r Rhythm) ([]usage.Batch, error) {
	attributor := attribution.New(attribution.Policy{Daemons: attribution.DefaultDaemons()})
	in := usage.New(usage.Config{
		Cluster: w.Cluster, Node: w.Node, Agent: "fleets/" + w.Node, Boot: "1", IntervalMS: r.Interval.Milliseconds(), WindowMS: r.Window.Milliseconds(),
	})
	var out []usage.Batch
	var last attribution.Result
	for s := range w.Samples {
		last = attributor.Attribute(s)
		out = append(out, in.Add(last)...)
	}
	out = append(out, in.Close(last.MonoMS, last.At)...)
	for i := range out {
		if err := out[i].Check(); err != nil {
			return nil, fmt.Errorf("records of node %s: %w", w.Node, err)
		}
	}
	return out, nil
}

// Books is what records come to under one policy and prices.
type Books struct {
	Lines   []ledger.Line
	Entries []allocation.Entry
	Costs   []pricing.NodeCost
	Pods    map[string]report.PodDimensions
	// RateTime is how long rating took, all cores together.
	RateTime time.Duration
}

// Rate rates every hour of every node and books it. It fails where an hour's
// entries are not its cost, to the last billionth.
func Rate(records [][]usage.Batch, prices *pricing.Prices, policy allocation.Policy) (*Books, error) {
	parts := make([]*Books, len(records))
	began := time.Now()
	err := each(len(records), func(i int) error {
		var err error
		parts[i], err = rateNode(records[i], prices, policy)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Books{Pods: map[string]report.PodDimensions{}, RateTime: time.Since(began)}
	for _, p := range parts {
		out.Lines = append(out.Lines, p.Lines...)
		out.Entries = append(out.Entries, p.Entries...)
		out.Costs = append(out.Costs, p.Costs...)
		for uid, d := range p.Pods {
			out.Pods[uid] = d
		}
	}
	return out, nil
}

// rateNode rates one node. Its machine is paid for while it was sampled, and no
// longer.
func rateNode(batches []usage.Batch, prices *pricing.Prices, policy allocation.Policy) (*Books, error) {
	out := &Books{Pods: map[string]report.PodDimensions{}}
	machines := rating.MachinesOf(batches)
	for i := range machines {
		machines[i].IntervalMS = 0
	}
	for len(batches) > 0 {
		at := batches[0].StartMS - batches[0].StartMS%hourMS
		to := slices.IndexFunc(batches, func(b usage.Batch) bool { return b.StartMS >= at+hourMS })
		if to < 0 {
			to = len(batches)
		}
		h := ledger.NodeHour{Cluster: batches[0].Cluster, Node: batches[0].Node, HourMS: at}
		o, err := rating.Rate(rating.Input{NodeHour: h, Machines: machines, Batches: batches[:to], Prices: prices, Policy: policy})
		if err != nil {
			return nil, err
		}
		b, err := o.Book(nil, ledger.Revision{}, ledger.Periods{})
		if err != nil {
			return nil, err
		}
		if err := conserved(&o); err != nil {
			return nil, err
		}
		out.Lines, out.Entries, out.Costs = append(out.Lines, b.Lines...), append(out.Entries, o.Entries...), append(out.Costs, o.Costs...)
		for uid, d := range o.Pods {
			out.Pods[uid] = d
		}
		batches = batches[to:]
	}
	return out, nil
}

// conserved says whether the entries of each slot, of CPU and of memory, sum to
// what they cost, and whether any is below 0.
func conserved(o *rating.Outcome) error {
	type pot struct {
		start    int64
		resource allocation.Resource
		slot     string
	}
	left := map[pot]money.Nano{}
	for _, c := range o.Costs {
		left[pot{c.StartMS, allocation.ResourceCPU, ""}] += c.CPU
		left[pot{c.StartMS, allocation.ResourceMemory, ""}] += c.Memory
		for _, s := range c.Slots {
			left[pot{c.StartMS, allocation.ResourceGPU, s.Slot}] += s.Cost
		}
	}
	for i := range o.Entries {
		e := &o.Entries[i]
		if e.Amount == nil {
			continue
		}
		if *e.Amount < 0 {
			return fmt.Errorf("%s: account %s has %s", o.NodeHour, e.Account, e.Amount)
		}
		left[pot{e.StartMS, e.Resource, e.Slot}] -= *e.Amount
	}
	for p, n := range left {
		if n != 0 {
			return fmt.Errorf("%s: %s of slot %q: cost − entries is %s", o.NodeHour, p.resource, p.slot, n)
		}
	}
	return nil
}

// Report makes a report of the books.
func (b *Books) Report(by ...report.Dimension) (report.Report, error) {
	spec := report.Spec{By: by, FromMS: 0, ToMS: 1 << 45}
	spec.ToMS -= spec.ToMS % hourMS
	in := report.Input{
		Lines: func(yield func(*ledger.Line, error) bool) {
			for i := range b.Lines {
				if !yield(&b.Lines[i], nil) {
					return
				}
			}
		},
		Costs: func(yield func(*pricing.NodeCost, error) bool) {
			for i := range b.Costs {
				if !yield(&b.Costs[i], nil) {
					return
				}
			}
		},
		Pods: func(uid string, _ int64) (*report.PodDimensions, bool) { d, ok := b.Pods[uid]; return &d, ok },
	}
	return report.Run(spec, in)
}

// Sum adds entries up: money, and time of GPUs.
type Sum struct {
	Money money.Sum
	GPUMS int64
}

// Of sums the entries that are chosen.
func (b *Books) Of(choose func(*allocation.Entry) bool) (s Sum) {
	for i := range b.Entries {
		e := &b.Entries[i]
		if !choose(e) {
			continue
		}
		if e.Amount != nil {
			s.Money.Add(*e.Amount)
		}
		if e.Resource == allocation.ResourceGPU {
			s.GPUMS += e.ShareMS
		}
	}
	return s
}

// Cost is what all nodes cost.
func (b *Books) Cost() (s money.Sum) {
	for i := range b.Costs {
		s.Add(b.Costs[i].Total)
	}
	return s
}
