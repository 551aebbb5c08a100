// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// phase is what agents asked in some time.
type phase struct {
	took     time.Duration
	requests audited
	bytes    int64
}

// measured is all that was.
type measured struct {
	sizes
	load        [2]float64
	fill        time.Duration // until all pods ran
	start       phase         // until all agents knew their nodes
	rest, churn phase
	churned     int // pods that came and went
	apiBefore   cost
	apiAfter    cost
	killed      broken
	compacted   broken
	deployments int
	server      *delivered
}

// measure runs inside of the node.
func measure(ctx context.Context, s sizes) (err error) {
	m := &measured{sizes: s}
	m.load[0] = load()
	p, err := boot(ctx)
	defer func() {
		for _, name := range slices.Sorted(maps.Keys(p)) {
			if p[name] != nil {
				err = errors.Join(err, p[name].end(syscall.SIGKILL))
			}
		}
	}()
	if err != nil {
		return err
	}
	say("the control plane is up")
	began := time.Now()
	f, err := build(ctx, s)
	if err != nil {
		return err
	}
	m.fill = time.Since(began)
	say("%d nodes, %d pods run after %s", s.nodes, s.pods, m.fill)
	if err := m.watched(ctx, f, p); err != nil {
		return err
	}
	if !s.skipDelivery {
		d, err := deliver(ctx, f, p)
		if err != nil {
			return err
		}
		m.server = &d
	}
	m.load[1] = load()
	fmt.Print(m.report())
	return nil
}

// watched measures the agents' caches.
func (m *measured) watched(ctx context.Context, f *fleet, p controlPlane) (err error) {
	if m.apiBefore, err = p["apiserver"].cost(); err != nil {
		return err
	}
	began := time.Now()
	a := &agents{fleet: f}
	defer func() { err = errors.Join(err, a.close()) }()
	if m.start, err = a.during(func() error {
		if err := a.start(); err != nil {
			return err
		}
		return a.settled(ctx)
	}); err != nil {
		return err
	}
	if m.rest, err = a.during(func() error { return sleep(ctx, m.sizes.rest) }); err != nil {
		return err
	}
	if m.apiAfter, err = p["apiserver"].cost(); err != nil {
		return err
	}
	if m.churn, err = a.during(func() error {
		m.churned, err = f.churn(ctx)
		return err
	}); err != nil {
		return err
	}
	if err := a.settled(ctx); err != nil {
		return err
	}
	if err := a.knowsOwners(f); err != nil {
		return err
	}
	if !m.skipBreaks {
		if err := m.breaks(ctx, a, p); err != nil {
			return err
		}
	}
	return onlyOwnNodes(began)
}

func (m *measured) breaks(ctx context.Context, a *agents, p controlPlane) (err error) {
	nothing := func(context.Context) error { return nil }
	if m.killed, err = breakAPI(ctx, p, a, "killed", 0, nothing); err != nil {
		return err
	}
	m.compacted, err = breakAPI(ctx, p, a, "compacted", 30*time.Second, compact)
	return err
}

// during counts what agents ask while something is done.
func (a *agents) during(do func() error) (out phase, err error) {
	began, before := time.Now(), a.bytes.Load()
	if err := do(); err != nil {
		return out, err
	}
	out.took, out.bytes = time.Since(began), a.bytes.Load()-before
	all, err := auditSince(began)
	out.requests = all.of(agentUser)
	say("%s: %d requests, at most %d a second, %d bytes: %s", out.took, len(out.requests.requests()), out.requests.peak(), out.bytes, out.requests)
	return out, err
}

// knowsOwners: pods of Deployments stand with their Deployment.
func (a *agents) knowsOwners(f *fleet) error {
	if deployments, _ := a.owned(); deployments != f.pods-f.nodes {
		return fmt.Errorf("agents know the Deployments of %d pods, %d have one", deployments, f.pods-f.nodes)
	}
	return nil
}

// onlyOwnNodes: no agent has asked for the objects of another node.
func onlyOwnNodes(began time.Time) error {
	all, err := auditSince(began)
	if err != nil {
		return err
	}
	if whole := all.wholes(); len(whole) > 0 {
		return fmt.Errorf("agents asked %d times for the objects of all nodes, such as %s", len(whole), whole[0])
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
