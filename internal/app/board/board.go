// SPDX-License-Identifier: Apache-2.0

package board

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
)

// Board keeps nodes as their newest records show them.
type Board struct {
	journal Journal
	now     func() time.Time
	found   foundHours

	mu       sync.RWMutex
	nodes    map[key]*scene.FleetNode
	shapes   map[key]shaped
	gone     map[key]uint64 // the revision in which a node left the board
	devices  map[gpu.UUID]key
	revision uint64
}

// key names a node.
type key struct{ cluster, node string }

// New makes a board without nodes. now is time.Now where nil. Revisions begin at the
// time of the start, so that those of an earlier process are older than all of this.
func New(j Journal, now func() time.Time) *Board {
	if now == nil {
		now = time.Now
	}
	return &Board{journal: j, now: now, nodes: map[key]*scene.FleetNode{}, shapes: map[key]shaped{}, gone: map[key]uint64{}, devices: map[gpu.UUID]key{}, revision: uint64(max(now().UnixMilli(), 1))}
}

// Take puts batches on the board, where they are newer than what is there.
func (b *Board) Take(batches []usage.Batch) {
	newest := map[key]*usage.Batch{}
	for i := range batches {
		x := &batches[i]
		k := key{x.Cluster, x.Node}
		if have := newest[k]; have == nil || x.StartMS >= have.StartMS {
			newest[k] = x
		}
		if x.Shape != nil {
			b.shape(k, x)
		}
	}
	for k, x := range newest {
		b.put(k, scene.Now(x))
	}
}

// shaped is what the newest shape of a node says.
type shaped struct {
	startMS        int64
	instance, pool string
}

// shape keeps what a node's record says of its machine: few records say it.
func (b *Board) shape(k key, x *usage.Batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.StartMS < b.shapes[k].startMS {
		return
	}
	var n scene.FleetNode
	n.Shaped(x.Shape)
	b.shapes[k] = shaped{x.StartMS, n.Instance, n.Pool}
	if have := b.nodes[k]; have != nil && (have.Instance != n.Instance || have.Pool != n.Pool) {
		next := *have
		b.revision++
		next.Instance, next.Pool, next.Revision = n.Instance, n.Pool, b.revision
		b.nodes[k] = &next
	}
}

// put takes a node over. A record that only says that there is none keeps what was
// seen before, with why it is old.
func (b *Board) put(k key, n scene.FleetNode) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have := b.nodes[k]; have != nil {
		if n.At.Before(have.At) {
			return
		}
		if n.Gap != "" {
			old := *have
			old.Gap = n.Gap
			n = old
		}
	}
	n.Instance, n.Pool = b.shapes[k].instance, b.shapes[k].pool
	delete(b.gone, k)
	b.revision++
	n.Revision = b.revision
	b.nodes[k] = &n
	for i := range n.GPUs {
		b.devices[n.GPUs[i].UUID] = k
	}
}

// forgotten is how long a node that is not heard of any more stays on the board.
const forgotten = 24 * time.Hour

// forget takes nodes off the board that are not heard of any more: machines that were
// given back. Their records stay in the journal.
func (b *Board) forget() {
	before := b.now().Add(-forgotten)
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, n := range b.nodes {
		if n.At.Before(before) {
			b.revision++
			b.gone[k] = b.revision
			delete(b.nodes, k)
			delete(b.shapes, k)
		}
	}
}

// Gone are the nodes that left the board after a revision.
func (b *Board) Gone(since uint64) (out []scene.NodeName) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for k, revision := range b.gone {
		if revision > since {
			out = append(out, scene.NodeName{Cluster: k.cluster, Node: k.node})
		}
	}
	slices.SortFunc(out, func(x, y scene.NodeName) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Node, y.Node))
	})
	return out
}

// Fleet is every node that changed after a revision, by cluster and node, with the
// revision that this is. since 0, or one that is not of this board, is all.
func (b *Board) Fleet(since uint64) (nodes []*scene.FleetNode, revision uint64, full bool) {
	b.forget()
	b.mu.RLock()
	defer b.mu.RUnlock()
	full = since == 0 || since > b.revision
	nodes = make([]*scene.FleetNode, 0, len(b.nodes))
	for _, n := range b.nodes {
		if full || n.Revision > since {
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(x, y *scene.FleetNode) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Node, y.Node))
	})
	return nodes, b.revision, full
}

// where is the node that a GPU was last seen in, and the end of its newest record.
func (b *Board) where(device gpu.UUID) (k key, at time.Time, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if k, ok = b.devices[device]; ok && b.nodes[k] != nil {
		at = b.nodes[k].At
	}
	return k, at, ok
}
