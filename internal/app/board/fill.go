// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/internal/core/usage"
)

// oneByOne is up to how many nodes of an hour are read each by its name: reading an
// hour of all nodes costs about as much as that.
const oneByOne = 16

// Fill reads the newest record of every node from the journal, so that a server that
// was restarted shows what it last knew. Nodes that deliver meanwhile are newer.
func (b *Board) Fill(ctx context.Context) error {
	now := b.now()
	machines, err := b.journal.Machines(ctx, now.Add(-forgotten), now.Add(time.Hour), "")
	if err != nil {
		return fmt.Errorf("find the nodes of the last days: %w", err)
	}
	last := map[key]int64{}
	for _, m := range machines {
		k := key{m.Cluster, m.Node}
		last[k] = max(last[k], m.LastMS)
	}
	hours := map[int64]map[string]bool{}
	for k, ms := range last {
		if ms < now.Add(-forgotten).UnixMilli() {
			continue
		}
		hour := time.UnixMilli(ms - 1).Truncate(time.Hour).UnixMilli()
		if hours[hour] == nil {
			hours[hour] = map[string]bool{}
		}
		hours[hour][k.node] = true
	}
	for ms, names := range hours {
		if err := b.fillHour(ctx, time.UnixMilli(ms).UTC(), names); err != nil {
			return err
		}
	}
	return nil
}

func (b *Board) fillHour(ctx context.Context, hour time.Time, names map[string]bool) error {
	ask := []string{""}
	if len(names) <= oneByOne {
		ask = ask[:0]
		for name := range names {
			ask = append(ask, name)
		}
	}
	for _, name := range ask {
		err := b.walk(ctx, hour, hour.Add(time.Hour), name, func(batches []usage.Batch) {
			if len(batches) > 0 && names[batches[0].Node] {
				b.newest(batches)
			}
		})
		if err != nil {
			return fmt.Errorf("read the newest records of %s: %w", hour.Format(time.RFC3339), err)
		}
	}
	return nil
}

// newest puts the newest batch of a node's on the board, with what only an earlier
// one of the hour says.
func (b *Board) newest(batches []usage.Batch) {
	at := 0
	for i := range batches {
		x := &batches[i]
		if x.StartMS >= batches[at].StartMS && len(x.Partitions) > 0 {
			at = i
		}
		if x.Shape != nil {
			b.shape(key{x.Cluster, x.Node}, x)
		}
	}
	n := scene.Now(&batches[at])
	b.put(key{n.Cluster, n.Node}, n)
}

// walk hands out the batches of each node in turn.
func (b *Board) walk(ctx context.Context, from, to time.Time, node string, f func([]usage.Batch)) error {
	for w, err := range b.journal.Touching(ctx, from, to, node) {
		if err != nil {
			return err
		}
		batches, err := w.Read()
		if err != nil {
			return err
		}
		f(batches) // parts of them may be kept, so their memory is not given back
	}
	return nil
}
