// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

// askedAtOnce is how many agents are asked side by side.
const askedAtOnce = 8

// askAgents takes what agents saw on their nodes: those of the addresses, and with
// --seen all of the cluster, reached through its API server. One that does not
// answer is a mistake of the input: what its node shows is not known.
func (s *scanned) askAgents(ctx context.Context, f *guardScan) {
	var all []agentSource
	for _, a := range f.agents {
		all = append(all, agentSource{name: a, address: a, http: http.DefaultClient})
	}
	if f.seen {
		found, err := f.clusterAgents(ctx)
		if err != nil {
			s.read.Mistakes = append(s.read.Mistakes, manifest.Mistake{File: "--seen", Message: err.Error()})
		}
		all = append(all, found...)
	}
	answers := make([]agenthttp.Node, len(all))
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(askedAtOnce)
	for i, a := range all {
		g.Go(func() error {
			n, err := agenthttp.Fetch(ctx, a.http, a.address)
			if err == nil && n.Result == nil {
				err = fmt.Errorf("the agent has not taken its first sample yet; scan again in some seconds")
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				s.read.Mistakes = append(s.read.Mistakes, manifest.Mistake{File: "node/" + a.name, Message: err.Error()})
				return nil
			}
			answers[i] = n
			return nil
		})
	}
	_ = g.Wait() // none returns an error: each is told by itself
	for _, n := range answers {
		s.saw(n, f.namespace)
	}
}

// saw takes the findings of one node: of one namespace where the scan is of one.
func (s *scanned) saw(n agenthttp.Node, namespace string) {
	if n.Result == nil {
		return
	}
	for _, found := range n.Result.Findings {
		if namespace == "" || found.Holder.Namespace == namespace {
			s.read.Input.Seen = append(s.read.Input.Seen, guard.Seen{Node: n.Agent.Node, Finding: found})
		}
	}
}

// clusterAgents are the agents of the cluster, each reached by a connection through
// its API server.
func (f *guardScan) clusterAgents(ctx context.Context) ([]agentSource, error) {
	k := kubectl{kubeconfig: f.kubeconfig, context: f.context}
	if plugin != nil {
		k.serviceAccount = plugin.serviceAccount
	}
	cluster, err := k.open()
	if err != nil {
		return nil, err
	}
	pods, err := cluster.Agents(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []agentSource
	for _, p := range pods {
		out = append(out, agentSource{name: p.Node, address: fmt.Sprintf("http://%s:%d", p.Name, p.Port), http: cluster.Client(p)})
	}
	return out, nil
}
