// SPDX-License-Identifier: Apache-2.0

package board

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/scene"
)

// foundHours keeps what findings came to in whole hours: to read a month of them again for
// each question takes the longer, the more nodes are in trouble.
type foundHours struct {
	mu    sync.Mutex
	of    map[int64]foundHour // by the hour's beginning, Unix milliseconds
	count int                 // findings in all of them
}

// foundHour is what the windows that began in an hour have, as of a stamp.
type foundHour struct {
	stamp uint64
	found *scene.Findings
}

// mostFound bounds how many findings of hours are kept, at about a KiB each: those of 30 days
// of 170 that stand all the time.
const mostFound = 125_000

// hoursAtOnce is how many hours are read together: all of a month at once take the memory of
// all their windows.
const hoursAtOnce = 24

const hourMS = int64(time.Hour / time.Millisecond)

func (k *foundHours) get(hour int64, stamp uint64) *scene.Findings {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h, ok := k.of[hour]; ok && h.stamp == stamp {
		return h.found
	}
	return nil
}

// put keeps an hour, in the place of the oldest ones where there is no room.
func (k *foundHours) put(hour int64, h foundHour) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[int64]foundHour{}
	}
	k.drop(hour)
	for k.count+h.found.Len() > mostFound {
		oldest := hour
		for o := range k.of {
			oldest = min(oldest, o)
		}
		if oldest == hour {
			return
		}
		k.drop(oldest)
	}
	k.of[hour] = h
	k.count += h.found.Len()
}

func (k *foundHours) drop(hour int64) {
	if h, ok := k.of[hour]; ok {
		k.count -= h.found.Len()
		delete(k.of, hour)
	}
}

// whole adds the findings of whole hours, reading those that are not kept.
func (b *Board) whole(ctx context.Context, f *scene.Findings, node string, fromMS, toMS int64) error {
	for at := fromMS; at < toMS; {
		var stamps []uint64
		var kept *scene.Findings
		for h := at; h < toMS && kept == nil && len(stamps) < hoursAtOnce; h += hourMS {
			stamp := b.journal.Stamp(time.UnixMilli(h).UTC(), time.UnixMilli(h+hourMS).UTC())
			if kept = b.found.get(h, stamp); kept == nil {
				stamps = append(stamps, stamp)
			}
		}
		if err := b.readHours(ctx, f, node, at, stamps); err != nil {
			return err
		}
		at += int64(len(stamps)) * hourMS
		if kept != nil {
			f.Merge(kept, node)
			at += hourMS
		}
	}
	return nil
}

// readHours adds the findings of so many hours, and keeps them where all nodes are read.
func (b *Board) readHours(ctx context.Context, f *scene.Findings, node string, fromMS int64, stamps []uint64) error {
	if len(stamps) == 0 {
		return nil
	}
	hours := make([]*scene.Findings, len(stamps))
	for i := range hours {
		hours[i] = scene.NewFindings()
	}
	to := time.UnixMilli(fromMS + int64(len(stamps))*hourMS).UTC()
	for x, err := range b.journal.Findings(ctx, time.UnixMilli(fromMS).UTC(), to, node) {
		if err != nil {
			return err
		}
		hours[(x.StartMS-fromMS)/hourMS].Add(&x, math.MinInt64, math.MaxInt64)
	}
	for i, h := range hours {
		f.Merge(h, node)
		if node == "" {
			b.found.put(fromMS+int64(i)*hourMS, foundHour{stamps[i], h})
		}
	}
	return nil
}

// part adds the findings of windows that began in a part of a time and overlap it.
func (b *Board) part(ctx context.Context, f *scene.Findings, node string, begun, until, fromMS, toMS int64) error {
	for x, err := range b.journal.Findings(ctx, time.UnixMilli(begun).UTC(), time.UnixMilli(until).UTC(), node) {
		if err != nil {
			return err
		}
		f.Add(&x, fromMS, toMS)
	}
	return nil
}
