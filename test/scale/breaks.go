// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"
)

// broken is how one break went.
type broken struct {
	recovered time.Duration // from when the API server was ready until the last agent was in sync
	ready     time.Duration // how long it took to be ready
	requests  audited       // of the agents, from its start on
}

// breakAPI kills the API server, does something while it is away, starts it again,
// and waits until all agents know what changed.
func breakAPI(ctx context.Context, p controlPlane, a *agents, name string, away time.Duration, meanwhile func(context.Context) error) (b broken, err error) {
	if err := p["apiserver"].end(syscall.SIGKILL); err != nil {
		return b, err
	}
	if err := meanwhile(ctx); err != nil {
		return b, err
	}
	select {
	case <-time.After(away):
	case <-ctx.Done():
		return b, ctx.Err()
	}
	began := time.Now()
	if err := p.startAPI(ctx); err != nil {
		return b, err
	}
	ready := time.Now()
	b.ready = ready.Sub(began)
	if err := a.fleet.mark(ctx, name); err != nil {
		return b, err
	}
	if err := until(ctx, 5*time.Minute, 100*time.Millisecond, "all agents are in sync again", func() error { return a.inSync(name, nil) }); err != nil {
		return b, err
	}
	b.recovered = time.Since(ready)
	if err := a.settled(ctx); err != nil {
		return b, err
	}
	all, err := auditSince(began)
	b.requests = all.of(agentUser)
	say("%s: ready after %s, in sync %s later; %d requests, at most %d a second: %s", name, b.ready, b.recovered, len(b.requests.requests()), b.requests.peak(), b.requests)
	say("%s: failed: %s", name, listed(b.requests.failures()))
	return b, err
}

const agentUser = "gputally-agent"

// settled waits until agents and API server name the same pods.
func (a *agents) settled(ctx context.Context) error {
	return until(ctx, 5*time.Minute, 0, "agents know the pods that there are", func() error {
		want, err := truth(ctx)
		if err != nil {
			return err
		}
		// What there is changes seldom, and asking for it costs.
		return until(ctx, 5*time.Second, 200*time.Millisecond, "for now", func() error { return a.inSync("", want) })
	})
}

// compact has etcd forget its history: whoever goes on from an older version is told
// that it is gone.
func compact(ctx context.Context) error {
	var head struct {
		Header struct{ Revision string }
	}
	if err := askEtcd(ctx, "/v3/kv/range", map[string]string{"key": "AA=="}, &head); err != nil {
		return err
	}
	return askEtcd(ctx, "/v3/kv/compaction", map[string]string{"revision": head.Header.Revision}, &head)
}

func askEtcd(ctx context.Context, path string, body, out any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, etcd+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask etcd: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd %s: %s %s: %w", path, resp.Status, answer, err)
	}
	return json.Unmarshal(answer, out)
}
