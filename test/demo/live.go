// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"time"
)

// wave is a smooth 0..100 that comes round every period ticks.
func wave(tick, period int) uint64 {
	return uint64(50 + 50*math.Sin(2*math.Pi*float64(tick)/float64(period)))
}

// live moves the node once a second, until the returned function is called.
func (n *node) live(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := n.move(i); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "demo: move the node:", err)
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

func (n *node) move(tick int) error {
	for _, m := range n.moves {
		if err := m(tick); err != nil {
			return err
		}
	}
	// The pods use their CPUs and memory, too.
	for i, p := range n.pods {
		cpu := time.Duration(300+wave(tick+i, 13)*20) * time.Millisecond
		if err := p.Work(cpu, 3*gib+wave(tick+i, 31)*16*mib); err != nil {
			return err
		}
	}
	return n.stage.NVML.Write()
}
