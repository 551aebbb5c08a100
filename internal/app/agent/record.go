// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// Record reads the sources for a while, as the agent does, and hands each
// sample to the recorder: one sample at least, another with every interval
// until the duration is over or ctx ends.
func Record(ctx context.Context, cfg Config, sources Sources, to Recorder, duration time.Duration) error {
	if cfg.Interval <= 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	g, n := newGatherer(cfg, sources), newNotes(cfg.Log)
	ask := newEngines(sources.Engines, cfg.EngineTargets, n)
	attributor := attribution.New(cfg.Policy) // who has a GPU, and so whose engine is asked
	ticker := time.NewTicker(cfg.Interval)
	defer ticker.Stop()
	for left := duration / cfg.Interval; ; left-- {
		s := g.take(ctx)
		if ctx.Err() != nil {
			return nil
		}
		for name, st := range s.Sources {
			n.source(name, st)
		}
		if err := to.Write(s); err != nil {
			return fmt.Errorf("record sample: %w", err)
		}
		if ask != nil {
			r := attributor.Attribute(s)
			ask.see(&r, &s.Objects)
		}
		if left <= 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
