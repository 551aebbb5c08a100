// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
)

// alive is how old a node's newest record may be while it delivers every minute and
// the network is slow: what is missing at the end is on its way then, and no gap.
const alive = 5 * time.Minute

// Timeline is who had a GPU when. node may be empty where the GPU is on the board.
func (b *Board) Timeline(ctx context.Context, device gpu.UUID, node string, fromMS, toMS int64) (scene.Timeline, error) {
	k, newest, ok := b.where(device)
	if node == "" {
		if !ok {
			return scene.Timeline{}, &inquiry.NotFound{What: "GPU", Name: string(device), Hint: "of a GPU that was not seen in the last days, give the node that it was in: node=NAME"}
		}
		node = k.node
	}
	from, to := time.UnixMilli(fromMS).UTC(), time.UnixMilli(toMS).UTC()
	d := scene.Draw(device, from, to)
	if ok && k.node == node && b.now().Sub(newest) < alive {
		d.Until(newest.UnixMilli())
	}
	up := to.Truncate(time.Hour)
	if up.Before(to) {
		up = up.Add(time.Hour)
	}
	err := b.walk(ctx, from.Truncate(time.Hour), up, node, func(batches []usage.Batch) {
		for i := range batches {
			d.Add(&batches[i])
		}
	})
	if err != nil {
		return scene.Timeline{}, err
	}
	t, seen := d.Timeline()
	if !seen {
		t.Node = node // nothing came of it in the time: the gaps say so
	}
	return t, nil
}

// Findings are those that stood in a time, of one node or of all ("").
func (b *Board) Findings(ctx context.Context, node string, fromMS, toMS int64) ([]scene.StoodFinding, error) {
	f := scene.NewFindings()
	first, end := fromMS+(hourMS-fromMS%hourMS)%hourMS, toMS-toMS%hourMS
	if first >= end {
		first, end = toMS, toMS
	}
	err := b.part(ctx, f, node, fromMS-hourMS, first, fromMS, toMS) // a window may have begun before
	if err == nil {
		err = b.whole(ctx, f, node, first, end)
	}
	if err == nil && end < toMS {
		err = b.part(ctx, f, node, end, toMS, fromMS, toMS)
	}
	if err != nil {
		return nil, err
	}
	b.newestOf(f, fromMS, toMS)
	return f.List(), nil
}

// newestOf tells findings where the newest record of each node in the time ends, and
// to which workloads the pods belong that are on the board.
func (b *Board) newestOf(f *scene.Findings, fromMS, toMS int64) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, n := range b.nodes {
		if at := n.At.UnixMilli(); at > fromMS && at <= toMS+n.DurationMS {
			f.Saw(n)
		}
	}
}
