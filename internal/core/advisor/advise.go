// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/signal"
)

// Fleet is what advice needs to know beside a workload's own hours.
type Fleet struct {
	// Price is what a device on a node costs, nil where that is not known.
	Price func(cluster, node string) *advice.Price
	// Alone: nobody but this workload has GPUs of the node.
	Alone func(cluster, node, namespace, owner string) bool
	// Shapes are nodes with one GPU that could be had in the place of a node, for
	// somebody who needs so much of the host.
	Shapes func(cluster, node string, h Host) []advice.Shape
	// Reprice is what a machine of a type would cost in the place of a node, in whole
	// hours; nil where that is not known.
	Reprice func(cluster, node, machine string) func(*pricing.NodeCost) (pricing.NodeCost, bool)
	// Node is what is known of a node, nil where nothing is.
	Node func(cluster, node string) *Node
	// Card is a model as its driver describes it, nil where no driver has: it does so
	// only while MIG is on.
	Card func(model string) *attribution.Card
}

// Host is what a workload needs of a node beside GPUs.
type Host struct {
	CPUMilli    int64
	MemoryBytes uint64
}

// waits are the idle times that are tried before a stop, proposed the one of them
// that is proposed. A node that is empty goes after scaleDownMS, which is what the
// cluster autoscaler waits by default.
var waits = []int64{30 * 60_000, hourMS, 2 * hourMS, 4 * hourMS}

const (
	proposed    = 2 * hourMS
	scaleDownMS = 10 * 60_000
)

// Advise tries every kind of change that concerns the workload alone. Each answer is
// advice or a refusal with its reasons.
func (c *Case) Advise(f *Fleet) ([]advice.Recommendation, error) {
	if f.Card != nil {
		c.learn(f.Card(c.Device.Model))
	}
	kinds := []func(*Fleet) (advice.Recommendation, error){c.profile, c.reclaim}
	if c.Subject.Engine != "" {
		kinds = append(kinds, c.smallerPool)
	}
	if c.GPUs > 1 || c.unused() {
		kinds = append(kinds, c.fewer)
	}
	if c.Profile == "" && c.ownNode(f) {
		kinds = append(kinds, c.shapeOf)
	}
	if _, asks := c.hosts(f); asks {
		kinds = append(kinds, c.hostRequest)
	}
	var out []advice.Recommendation
	for _, try := range kinds {
		r, err := try(f)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", c.Target.Namespace, c.Target.Owner, err)
		}
		out = append(out, r)
	}
	stood := c.Standing(f)
	for i := range out {
		out[i].Stood = stood
	}
	slices.SortStableFunc(out, func(a, b advice.Recommendation) int { return cmp.Compare(order(&a), order(&b)) })
	return out, nil
}

// order: what is advised stands before what is refused.
func order(r *advice.Recommendation) int {
	if r.State == advice.Advised {
		return 0
	}
	return 1
}

func (c *Case) profile(f *Fleet) (advice.Recommendation, error) {
	return c.forAll(f, len(c.now), func(s advice.Subject) (advice.Recommendation, error) { return advice.SmallerProfile(s, c.profiles()) })
}

func (c *Case) smallerPool(f *Fleet) (advice.Recommendation, error) {
	return c.forAll(f, len(c.now), func(s advice.Subject) (advice.Recommendation, error) {
		if s.Pool != nil && s.Current.Fraction == "" {
			s.Pool = nil // there is nothing to lower
		}
		return advice.SmallerPool(s)
	})
}

// reclaim replays stops. A node that goes is paid once, however many of its
// partitions the workload has.
func (c *Case) reclaim(f *Fleet) (advice.Recommendation, error) {
	minutes := c.minutes()
	own := c.ownNode(f)
	paid := map[[2]string]bool{}
	at := 0
	return c.forAll(f, len(c.now), func(s advice.Subject) (advice.Recommendation, error) {
		node := [2]string{c.now[at].cluster, c.now[at].node}
		how := advice.Reclaim{StopAfterMS: waits, Propose: proposed, NodeGoes: own && !paid[node], ScaleDownMS: scaleDownMS}
		paid[node] = true
		at++
		return advice.IdleReclaim(s, minutes, how)
	})
}

// together adds what options of another place would have saved: hours and stops are
// those of all places at once.
func together(to, more []advice.Option) {
	for i := range min(len(to), len(more)) {
		for _, f := range []struct{ to, more **money.Nano }{{&to[i].CashLow, &more[i].CashLow}, {&to[i].CashMean, &more[i].CashMean}} {
			if *f.to == nil || *f.more == nil {
				*f.to = nil
				continue
			}
			sum := **f.to + **f.more
			*f.to = &sum
		}
	}
}

func (c *Case) shapeOf(f *Fleet) (advice.Recommendation, error) {
	first := c.now[0]
	var shapes []advice.Shape
	if f.Shapes != nil {
		shapes = f.Shapes(first.cluster, first.node, c.host())
	}
	return c.forAll(f, len(c.now), func(s advice.Subject) (advice.Recommendation, error) {
		return advice.OtherShape(s, shapes, formats(s.Device.Capability))
	})
}

// fp8 is the compute capability, times ten, from which a card computes in 8 bits.
const fp8 = 89

// formats is the capability that knows every number format that the card knows, and
// nothing tells which of them a program uses.
func formats(capability int) int { return min(capability, fp8) }

// host is what the workload needs of a node: what it asks for, and what it uses.
func (c *Case) host() (h Host) {
	for _, x := range c.hours {
		h.CPUMilli, h.MemoryBytes = max(h.CPUMilli, x.CPURequestMilli), max(h.MemoryBytes, x.HostBytes())
	}
	return h
}

// unused: in no hour was there a process on its GPUs.
func (c *Case) unused() bool {
	return len(c.Classes) == 1 && c.Classes[0].Class == signal.Unused
}

// fewer looks at the partitions that the pods have now.
func (c *Case) fewer(f *Fleet) (advice.Recommendation, error) {
	uses := map[gpu.PartitionID]*advice.PartitionUse{}
	for _, p := range c.now {
		uses[p.partition] = &advice.PartitionUse{Partition: p.partition.String(), PeakBytes: new(uint64), BusyMost: new(float64)}
	}
	for _, h := range c.hours {
		u := uses[h.Partition]
		if u == nil {
			continue
		}
		u.Holders = max(u.Holders, h.Holders)
		if h.PeakBytes == nil {
			u.PeakBytes = nil
		} else if u.PeakBytes != nil {
			*u.PeakBytes = max(*u.PeakBytes, *h.PeakBytes)
		}
		most, read := h.Active.Quantile(1000)
		if h.Verdict.Class == signal.Unused { // no process, so no kernel, whatever the device can tell
			most, read = 0, true
		}
		if !read {
			u.BusyMost = nil
		} else if u.BusyMost != nil {
			*u.BusyMost = max(*u.BusyMost, most)
		}
	}
	var list []advice.PartitionUse
	for _, p := range c.now {
		list = append(list, *uses[p.partition])
	}
	slices.SortFunc(list, func(a, b advice.PartitionUse) int { return cmp.Compare(a.Partition, b.Partition) })
	return c.forAll(f, 1, func(s advice.Subject) (advice.Recommendation, error) { return advice.FewerGPUs(s, list) })
}

// ownNode: every node that the workload is on has nobody else on its GPUs.
func (c *Case) ownNode(f *Fleet) bool {
	if f.Alone == nil {
		return false
	}
	for _, p := range c.now {
		if !f.Alone(p.cluster, p.node, c.Target.Namespace, c.Target.Owner) {
			return false
		}
	}
	return len(c.now) > 0
}

// forAll makes one recommendation for so many places of the workload: the change is
// the same, the money is of each by what its node costs.
func (c *Case) forAll(f *Fleet, places int, try func(advice.Subject) (advice.Recommendation, error)) (out advice.Recommendation, err error) {
	var sum *advice.Money
	var unpriced, mixed int
	for i, p := range c.now[:min(places, len(c.now))] {
		s := c.Subject
		if f.Price != nil {
			s.Price = f.Price(p.cluster, p.node)
		}
		r, err := try(s)
		if err != nil {
			return r, err
		}
		if i == 0 {
			out = r
		}
		switch {
		case r.State != advice.Advised:
			return r, nil
		case r.Money == nil:
			unpriced++
		case sum != nil && sum.Currency != r.Money.Currency:
			mixed++
		default:
			if sum, err = sum.Plus(r.Money); err != nil {
				return r, err
			}
			if i > 0 {
				together(out.Options, r.Options)
			}
		}
	}
	out.Money = sum
	if sum != nil && unpriced+mixed > 0 {
		out.Refusals = append(out.Refusals, advice.Refusal{Code: advice.NoPrice, Missing: advice.Say("price_places", unpriced+mixed, places, sum.Currency), HowToGet: advice.Say("add_rows")})
	}
	return out, nil
}
