// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// steadyAfter is how many good reads in a row make a source sound again. One
// that comes and goes is so logged once, not with every sample.
const steadyAfter = 3

// notes logs what changes, and nothing that stays as it is.
type notes struct {
	log      *slog.Logger
	sources  map[string]*sourceNote
	states   map[string]gpu.State
	findings map[string]bool
	failing  map[string]bool // spool, instances, recorder
	lateAt   time.Time
	// targets and engines are what was last said of pods' engines, by pod.
	targets, engines map[string]string

	mu            sync.Mutex
	announceFails bool
}

type sourceNote struct {
	failing bool
	good    int
}

func newNotes(log *slog.Logger) *notes {
	return &notes{log: log, sources: map[string]*sourceNote{}, states: map[string]gpu.State{},
		findings: map[string]bool{}, failing: map[string]bool{},
		targets: map[string]string{}, engines: map[string]string{}}
}

func (n *notes) result(r attribution.Result) {
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		n.source(name, r.Sources[name])
	}
	n.partitions(r.Partitions)
	n.found(r.Findings)
}

func (n *notes) source(name string, st sample.SourceStatus) {
	s := n.sources[name]
	if s == nil {
		s = &sourceNote{}
		n.sources[name] = s
	}
	switch {
	case !st.OK:
		s.good = 0
		if !s.failing {
			n.log.Warn("source fails", "source", name, "error", st.Error, "stale_ms", st.StaleMS)
		}
		s.failing = true
	case s.failing:
		if s.good++; s.good >= steadyAfter {
			s.failing = false
			n.log.Info("source is sound again", "source", name)
		}
	}
}

func (n *notes) partitions(all []attribution.Partition) {
	now := make(map[string]gpu.State, len(all))
	for _, p := range all {
		key := p.ID.String()
		now[key] = p.State
		was, known := n.states[key]
		switch {
		case !known:
			n.log.Info("partition appeared", "partition", key, "model", p.Model, "profile", p.Profile,
				"state", p.State, "reason", p.Reason)
		case was != p.State:
			n.log.Warn("partition changed state", "partition", key, "was", was, "state", p.State, "reason", p.Reason)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(n.states)) {
		if _, still := now[key]; !still {
			n.log.Info("partition is gone", "partition", key)
		}
	}
	n.states = now
}

func (n *notes) found(all []attribution.Finding) {
	now := make(map[string]bool, len(all))
	for _, f := range all {
		key := string(f.Kind) + "|" + f.Partition + "|" + string(f.Device) + "|" + f.Resource + "|" +
			f.Holder.PodKey() + "|" + f.Holder.Container + "|" + f.Holder.Unit
		if !n.findings[key] && !now[key] {
			n.log.Info("finding", "kind", f.Kind, "severity", f.Severity, "account", f.Holder.Account(),
				"partition", f.Partition, "detail", f.Detail)
		}
		now[key] = true
	}
	n.findings = now
}

// lateQuiet is how long no further word is said of missed ticks.
const lateQuiet = 10 * time.Minute

func (n *notes) missed(ticks int64, interval time.Duration) {
	if ticks <= 0 || (!n.lateAt.IsZero() && time.Since(n.lateAt) < lateQuiet) {
		return
	}
	n.lateAt = time.Now()
	n.log.Warn("a sample took longer than the interval", "missed_ticks", ticks, "interval", interval.String())
}

func (n *notes) spool(err error)     { n.outcome("write usage records", err) }
func (n *notes) instances(err error) { n.outcome("keep MIG instances", err) }
func (n *notes) recorder(err error)  { n.outcome("record capture", err) }

// target notes why a pod's engine is not asked; detail is empty where it is.
func (n *notes) target(pod, detail string) {
	if detail != "" && n.targets[pod] != detail {
		n.log.Warn("engine is not looked at", "pod", pod, "why", detail)
	}
	n.targets[pod] = detail
}

// engine notes how a look went. Words are all that is said: what an endpoint
// answers is a tenant's text.
func (n *notes) engine(pod, problem string) {
	was, known := n.engines[pod]
	switch {
	case problem != "" && was != problem:
		n.log.Warn("engine cannot be read", "pod", pod, "problem", problem, "hint", "docs/engines.md#when-a-look-fails")
	case problem == "" && (was != "" || !known):
		n.log.Info("engine is read", "pod", pod)
	}
	n.engines[pod] = problem
}

// forgetEngines drops what was noted of pods that are not watched any more.
func (n *notes) forgetEngines(watched map[string]bool) {
	gone := func(pod, _ string) bool { return !watched[pod] }
	maps.DeleteFunc(n.targets, gone)
	maps.DeleteFunc(n.engines, gone)
}

// announce is told from the announcer's goroutine.
func (n *notes) announce(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch failing := n.announceFails; {
	case err != nil && !failing:
		n.log.Error("announce a finding as an Event fails; tried again while it stands", "error", err)
	case err == nil && failing:
		n.log.Info("findings are announced as Events again")
	}
	n.announceFails = err != nil
}

func (n *notes) outcome(what string, err error) {
	switch {
	case err != nil && !n.failing[what]:
		n.log.Error(what+" fails; retried with every sample", "error", err)
	case err == nil && n.failing[what]:
		n.log.Info(what + " works again")
	}
	n.failing[what] = err != nil
}
