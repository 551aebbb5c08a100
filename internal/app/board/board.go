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

	mu       sync.RWMutex
	nodes    map[key]*scene.FleetNode
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
	return &Board{journal: j, now: now, nodes: map[key]*scene.FleetNode{}, devices: map[gpu.UUID]key{}, revision: uint64(max(now().UnixMilli(), 1))}
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
	}
	for k, x := range newest {
		b.put(k, scene.Now(x))
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
		n.Instance = cmp.Or(n.Instance, have.Instance)
	}
	b.revision++
	n.Revision = b.revision
	b.nodes[k] = &n
	for i := range n.GPUs {
		b.devices[n.GPUs[i].UUID] = k
	}
}

// Fleet is every node that changed after a revision, by cluster and node, with the
// revision that this is. since 0, or one that is not of this board, is all.
func (b *Board) Fleet(since uint64) (nodes []*scene.FleetNode, revision uint64, full bool) {
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
	if k, ok = b.devices[device]; ok {
		at = b.nodes[k].At
	}
	return k, at, ok
}
