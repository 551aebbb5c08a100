// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// Node is what a node can give, and who has it, in the last hour that is known of it.
type Node struct {
	// Allocatable is what pods may have, zero where it is not known; Others what pods
	// without a GPU ask for, nil where it is not known.
	Allocatable advice.HostShare
	Others      *attribution.OtherPods
	// Labels and Taints are the node's (workload.Node); Labels nil: nothing is known.
	Labels map[string]string
	Taints []string
	// GPUs is how many places for GPUs it has.
	GPUs   int
	hourMS int64
	cards  map[gpu.UUID]bool
	pods   map[string]*nodePod
}

// nodePod is a pod with GPUs on a node.
type nodePod struct {
	workload string
	asks     advice.HostShare
	cards    map[gpu.UUID]bool
}

// Add adds what a pod did in an hour. Only the newest hour counts.
func (n *Node) Add(h *activity.Hour) {
	if h.HourMS > n.hourMS {
		n.hourMS, n.cards, n.pods = h.HourMS, nil, nil
	}
	if h.HourMS < n.hourMS {
		return
	}
	if n.pods == nil {
		n.cards, n.pods = map[gpu.UUID]bool{}, map[string]*nodePod{}
	}
	p := n.pods[h.Holder.PodKey()]
	if p == nil {
		p = &nodePod{workload: workloadName(h), cards: map[gpu.UUID]bool{}}
		n.pods[h.Holder.PodKey()] = p
	}
	p.asks.CPUMilli, p.asks.MemoryBytes = max(p.asks.CPUMilli, h.CPURequestMilli), max(p.asks.MemoryBytes, h.MemoryRequestBytes)
	p.cards[h.Partition.Device], n.cards[h.Partition.Device] = true, true
}

func workloadName(h *activity.Hour) string {
	o := ownerOf(h.Owner, h.Holder)
	return h.Holder.Namespace + "/" + o.Kind + "/" + o.Name
}

// known: what the node may give and what is taken of it is told.
func (n *Node) known() bool { return n.Others != nil && n.Allocatable.CPUMilli > 0 }

// free is how many of its cards nobody has.
func (n *Node) free() int { return max(n.GPUs-len(n.cards), 0) }

// host is the node as it limits a workload.
func (n *Node) host(name, workload string, price *advice.Price) advice.Host {
	h := advice.Host{Name: name, Allocatable: n.Allocatable, GPUs: n.GPUs, UsedGPUs: len(n.cards), Price: price,
		Other: advice.HostShare{CPUMilli: n.Others.CPUMilli, MemoryBytes: n.Others.MemoryBytes}}
	for _, p := range n.pods {
		if p.workload == workload {
			h.Replicas++
			h.Each = max(h.Each, len(p.cards))
			continue
		}
		h.Other.CPUMilli += p.asks.CPUMilli
		h.Other.MemoryBytes += p.asks.MemoryBytes
	}
	return h
}

// hosts are the workload's nodes as they limit it. asks: one of them has cards that
// nobody has, so that the question is worth asking; known: it can be answered for it.
func (c *Case) hosts(f *Fleet) (out []advice.Host, asks bool) {
	if f.Node == nil || c.Profile != "" || len(c.now) == 0 {
		return nil, false
	}
	for _, name := range nodesOf(c.now) {
		n := f.Node(c.Target.Cluster, name)
		if n == nil || n.free() == 0 {
			continue
		}
		asks = true
		if !n.known() {
			continue
		}
		var price *advice.Price
		if f.Price != nil {
			price = f.Price(c.Target.Cluster, name)
		}
		out = append(out, n.host(name, c.Target.Namespace+"/"+c.Target.Owner, price))
	}
	return out, asks
}

// hostRequest asks whether a smaller request would free cards.
func (c *Case) hostRequest(f *Fleet) (advice.Recommendation, error) {
	hosts, _ := c.hosts(f)
	return advice.HostRequest(c.Subject, c.hostUse(), hosts...)
}

// hostUse is what a pod of the workload asks for and uses.
func (c *Case) hostUse() (u advice.HostUse) {
	var cpu signal.Spread
	unread := 0
	last := c.hours[len(c.hours)-1].HourMS
	most := new(uint64)
	for _, h := range c.hours {
		if h.HourMS == last {
			u.Request.CPUMilli, u.Request.MemoryBytes = max(u.Request.CPUMilli, h.CPURequestMilli), max(u.Request.MemoryBytes, h.MemoryRequestBytes)
		}
		cpu.Merge(h.CPU)
		if h.MemoryBytes == nil {
			unread++
		} else {
			*most = max(*most, *h.MemoryBytes)
		}
	}
	if float64(unread) <= (1-advice.MinMeasured)*float64(len(c.hours)) {
		u.MostBytes = most
	}
	share, ok := cpu.Quantile(999)
	if read := float64(cpu.ReadMS()); ok && u.Request.CPUMilli > 0 && read >= advice.MinMeasured*(read+float64(cpu.UnreadMS)) {
		// Spreads are kept in hundredths, rounded up.
		milli := int64(share*1000+0.5) * u.Request.CPUMilli / 1000
		u.P999Milli = &milli
	}
	u.PendingMS = c.pending()
	return u
}

// longEnough is how long a pod waits at least before it counts as waiting for room:
// images are pulled later, and the scheduler takes its time.
const longEnough = 60_000

// pending is how long of the time looked at any pod of the workload waited for a node,
// of those that got one.
func (c *Case) pending() (ms int64) {
	type span struct{ from, to int64 }
	seen := map[span]bool{}
	var all []span
	for _, h := range c.hours {
		s := span{max(h.About.CreatedMS, c.FromMS), min(h.About.ScheduledMS, c.ToMS)}
		if h.About.CreatedMS > 0 && s.to-s.from >= longEnough && !seen[s] {
			seen[s] = true
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	end := int64(0)
	for _, s := range all {
		ms += max(s.to-max(s.from, end), 0)
		end = max(end, s.to)
	}
	return ms
}
