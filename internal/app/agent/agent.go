// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// DefaultInterval is the time between two samples, MinInterval the least that
// may be set.
const (
	DefaultInterval = 5 * time.Second
	MinInterval     = time.Second
)

// Config is what the loop needs to know.
type Config struct {
	Cluster, Node string
	// Agent and Boot name the batches; LastEnd is where the last record of an
	// earlier process ended, zero when there is none.
	Agent, Boot string
	LastEnd     time.Time
	Interval    time.Duration
	// FirstWindow ends the first window early (usage.Config.FirstMS). 0: it does not.
	FirstWindow time.Duration
	Standalone  bool
	Policy      attribution.Policy
	// Draw gives the steps between samples their random length: uniform in
	// [0, 1). Default math/rand/v2's.
	Draw func() float64
	// Wall is the wall clock, which labels. What measures is the monotonic
	// clock. Default time.Now.
	Wall func() time.Time
	// Announcer, where there is one, is told of pods that reach GPUs they were
	// not given.
	Announcer Announcer
	// EngineTargets are the operator's word for pods whose engines are looked at.
	EngineTargets []demand.Selector
	Log           *slog.Logger
}

// Sources are what the agent reads. Grants and Objects are nil without
// Kubernetes.
type Sources struct {
	GPUs    GPUs
	Host    Host
	Grants  Grants
	Objects Objects
	// Engines is nil where no inference engine is asked.
	Engines Engines
}

// Agent is the loop. One goroutine runs it; Snapshot, Healthy and Ready may be
// called from others.
type Agent struct {
	cfg        Config
	gpus       GPUs
	spool      Spool
	recorder   Recorder
	gather     *gatherer
	attributor *attribution.Attributor
	integrator *usage.Integrator
	meter      *meter
	notes      *notes
	announcer  *announcer // nil where nothing is announced
	engines    *engines   // nil where no engine is asked
	stats      Stats
	instances  map[gpu.UUID]int64

	start    time.Time
	beat     atomic.Int64 // when the loop last came round, ns since start
	snapshot atomic.Pointer[Snapshot]
}

// New puts an agent together. recorder may be nil.
func New(cfg Config, sources Sources, spool Spool, recorder Recorder) (*Agent, error) {
	if cfg.Interval == 0 {
		cfg.Interval = DefaultInterval
	}
	if cfg.Interval < MinInterval {
		return nil, fmt.Errorf("interval %s is shorter than %s", cfg.Interval, MinInterval)
	}
	if cfg.Draw == nil {
		cfg.Draw = rand.Float64
	}
	if cfg.Wall == nil {
		cfg.Wall = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		cfg: cfg, gpus: sources.GPUs, spool: spool, recorder: recorder,
		gather:     newGatherer(cfg, sources),
		attributor: attribution.New(cfg.Policy),
		integrator: usage.New(usage.Config{
			Cluster: cfg.Cluster, Node: cfg.Node, Agent: cfg.Agent, Boot: cfg.Boot,
			IntervalMS: cfg.Interval.Milliseconds(), FirstMS: cfg.FirstWindow.Milliseconds(),
		}),
		meter: newMeter(cfg.Interval),
		notes: newNotes(cfg.Log),
	}
	a.announcer = newAnnouncer(cfg.Announcer, a.notes)
	a.engines = newEngines(sources.Engines, cfg.EngineTargets, a.notes)
	a.start = a.gather.start
	return a, nil
}

// ErrRestart ends Run when only a new process can use the driver again.
var ErrRestart = errors.New("the driver was replaced under the agent: it must be started again")

// restartAfter is how long an agent runs before it ends for a restart, so that
// a driver that is always replaced does not make it spin.
const restartAfter = time.Minute

// Run samples until ctx ends, then closes the open window and writes it. Its
// error is that of the last write: what is lost with it is named in the next
// start's gap record.
func (a *Agent) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	if a.announcer != nil {
		go a.announcer.run(ctx)
	}
	pace := pacer{interval: a.cfg.Interval, draw: a.cfg.Draw}
	for {
		select {
		case <-ctx.Done():
			return a.shutdown()
		case <-timer.C:
		}
		a.sample(ctx)
		if a.gpus.RestartNeeded() && time.Since(a.start) > restartAfter {
			return errors.Join(ErrRestart, a.shutdown())
		}
		now := time.Since(a.start)
		a.beat.Store(int64(now))
		due, missed := pace.next(now)
		a.stats.MissedTicks += uint64(missed)
		a.notes.missed(missed, a.cfg.Interval)
		timer.Reset(due - time.Since(a.start))
	}
}

// sample takes one sample through attribution and integration, and publishes
// what came out. One that a shutdown cut short is dropped.
func (a *Agent) sample(ctx context.Context) {
	began := time.Now()
	s := a.gather.take(ctx)
	if ctx.Err() != nil {
		return
	}
	if a.stats.Samples == 0 {
		a.recordGap(s)
	}
	if a.recorder != nil {
		a.notes.recorder(a.recorder.Write(s))
	}
	r := a.attributor.Attribute(s)
	a.meter.add(r)
	a.keep(a.integrator.Add(r))
	a.keepInstances()
	a.stats.count(s, r, time.Since(began))
	a.notes.result(r)
	if a.announcer != nil {
		a.announcer.see(r)
	}
	if a.engines != nil {
		a.engines.see(&r, &s.Objects)
		r.Engines = a.engines.looks() // what is shown is the last look at each
	}
	a.publish(r)
}

// keep hands closed windows to the spool, and lets it try again what it could
// not write before.
func (a *Agent) keep(batches []usage.Batch) {
	err := error(nil)
	for _, b := range batches {
		a.stats.Windows++
		err = a.spool.Append(b)
	}
	if len(batches) == 0 {
		err = a.spool.Flush()
	}
	a.notes.spool(err)
}

// keepInstances stores when MIG instances were first seen, where that changed.
func (a *Agent) keepInstances() {
	now := a.gpus.Instances()
	if maps.Equal(now, a.instances) {
		return
	}
	err := a.spool.KeepInstances(now)
	if err == nil {
		a.instances = now
	}
	a.notes.instances(err)
}

// recordGap says that nothing was recorded between the end of an earlier
// process's last record and now.
func (a *Agent) recordGap(first sample.Sample) {
	if a.cfg.LastEnd.IsZero() {
		return
	}
	now, provider := first.At, ""
	if n := first.Objects.Node; n != nil {
		provider = n.ProviderID // what it is now: a spool does not move between machines
	}
	last := a.cfg.LastEnd.UnixMilli()
	length := now.UnixMilli() - last
	if length < 0 {
		a.cfg.Log.Warn("the wall clock is behind the last record: the length of the gap is not known",
			"last_record_end", a.cfg.LastEnd, "now", now)
		last, length = now.UnixMilli(), 0
	}
	span := usage.Span{StartMS: last, DurationMS: length}
	a.notes.spool(a.spool.Append(usage.Batch{
		Version: usage.BatchVersion, Cluster: a.cfg.Cluster, Node: a.cfg.Node,
		Agent: a.cfg.Agent, Boot: a.cfg.Boot,
		StartMS: last, DurationMS: length, IntervalMS: a.cfg.Interval.Milliseconds(),
		ProviderID: provider,
		Gap:        &usage.Gap{Reason: reasonAgentDown, Span: span},
	}))
}

// reasonAgentDown is the reason of the gap between two processes.
const reasonAgentDown = "agent_down"

// flushTries is how often a shutdown tries to write what waits, a second apart.
const flushTries = 3

func (a *Agent) shutdown() error {
	mono := time.Since(a.start).Milliseconds()
	for _, b := range a.integrator.Close(mono, a.cfg.Wall()) {
		a.stats.Windows++
		_ = a.spool.Append(b) // kept by the spool; Flush tells
	}
	err := a.spool.Flush()
	for range flushTries - 1 {
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
		err = a.spool.Flush()
	}
	if err != nil {
		return fmt.Errorf("write the last window: %w", err)
	}
	return nil
}

// publish replaces the snapshot.
func (a *Agent) publish(r attribution.Result) {
	s := &Snapshot{Result: r, Totals: a.meter.totals(), Stats: a.stats.clone(), Interval: a.cfg.Interval}
	a.snapshot.Store(s)
}

// Snapshot is the picture of the last sample, nil before the first. It never
// changes; nobody may change it.
func (a *Agent) Snapshot() *Snapshot { return a.snapshot.Load() }

// stuckAfter is how many intervals the loop may take to come round.
const stuckAfter = 10

// Healthy returns an error when the loop is stuck.
func (a *Agent) Healthy() error {
	quiet := time.Since(a.start) - time.Duration(a.beat.Load())
	if limit := max(stuckAfter*a.cfg.Interval, 30*time.Second); quiet > limit {
		return fmt.Errorf("the sampling loop has not come round for %s", quiet.Round(time.Second))
	}
	return nil
}

// Ready returns an error until the first sample is done. What state the GPUs
// are in plays no part.
func (a *Agent) Ready() error {
	if a.snapshot.Load() == nil {
		return fmt.Errorf("the first sample is not done yet")
	}
	return nil
}
