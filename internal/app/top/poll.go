// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"sync"
	"time"
)

// ReadAll reads every source once, at the same time, each within the timeout.
// A source that fails keeps what before has of it and says why.
func ReadAll(ctx context.Context, sources []Source, before []Reading, timeout time.Duration) []Reading {
	out := make([]Reading, len(sources))
	var wg sync.WaitGroup
	for i, s := range sources {
		wg.Go(func() {
			var last Reading
			if i < len(before) {
				last = before[i]
			}
			out[i] = readOne(ctx, s, last, timeout)
		})
	}
	wg.Wait()
	return out
}

func readOne(ctx context.Context, s Source, last Reading, timeout time.Duration) Reading {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := s.Read(ctx)
	if err != nil {
		last.Source, last.Error = s.Name(), err.Error()
		return last
	}
	r.Source, r.Error = s.Name(), ""
	return r
}

// Poll reads the sources again and again until ctx ends and hands each round
// to show.
func Poll(ctx context.Context, sources []Source, every, timeout time.Duration, show func([]Reading)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last []Reading
	for {
		last = ReadAll(ctx, sources, last, timeout)
		if ctx.Err() != nil {
			return
		}
		show(last)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
