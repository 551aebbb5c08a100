// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/gputally/gputally/internal/adapter/kubeapi"
)

// agents are the caches of all nodes' agents. Each has a connection of its own, as
// it would from its node.
type agents struct {
	fleet  *fleet
	caches []*kubeapi.Cache
	bytes  atomic.Int64 // received, as they were on the wire
	dials  atomic.Int64
}

// start begins to fill the caches, all at the same time.
func (a *agents) start() error {
	for _, node := range a.fleet.names {
		c, err := kubeapi.Start(kubeapi.Options{Node: node, Config: &rest.Config{
			Host: apiServer, BearerToken: "agent-token", TLSClientConfig: rest.TLSClientConfig{CAFile: serverCA}, Dial: a.dial}})
		if err != nil {
			return err
		}
		a.caches = append(a.caches, c)
	}
	return nil
}

func (a *agents) dial(ctx context.Context, network, address string) (net.Conn, error) {
	a.dials.Add(1)
	c, err := (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{c, &a.bytes}, nil
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

func (a *agents) close() error {
	return each(len(a.caches), 64, func(i int) error {
		a.caches[i].Close()
		return nil
	})
}

// pods are what one agent knows to be on its node, by UID, sorted.
func (a *agents) pods(i int) (uids []string) {
	for _, p := range a.caches[i].Objects().Pods {
		if !p.Gone {
			uids = append(uids, p.UID)
		}
	}
	slices.Sort(uids)
	return uids
}

// inSync says what the agents lack: each must be well fed, have seen the mark on its
// node where there is one, and know the pods of its node, all and no others.
func (a *agents) inSync(mark string, want map[string][]string) error {
	behind, why := 0, error(nil)
	for i, c := range a.caches {
		if err := a.one(i, c, mark, want); err != nil {
			behind++
			why = fmt.Errorf("%s: %w", a.fleet.names[i], err)
		}
	}
	if behind > 0 {
		return fmt.Errorf("%d of %d agents: %w", behind, len(a.caches), why)
	}
	return nil
}

func (a *agents) one(i int, c *kubeapi.Cache, mark string, want map[string][]string) error {
	ok, _, why := c.Status()
	if !ok {
		return errors.New(why)
	}
	objects := c.Objects()
	if !objects.Known || objects.Node == nil {
		return errors.New("its objects are not known")
	}
	if mark != "" && objects.Node.Labels[markLabel] != mark {
		return fmt.Errorf("its node has the mark %q, not %q", objects.Node.Labels[markLabel], mark)
	}
	if want == nil {
		return nil
	}
	if have, want := a.pods(i), want[a.fleet.names[i]]; !slices.Equal(have, want) {
		return fmt.Errorf("it knows %d pods, there are %d", len(have), len(want))
	}
	return nil
}

// owned counts the pods of Deployments that an agent knows by their Deployment.
func (a *agents) owned() (deployments, others int) {
	for _, c := range a.caches {
		for _, p := range c.Objects().Pods {
			switch {
			case p.Owner.Kind == "Deployment" && p.Owner.UID != "":
				deployments++
			case p.Owner.Kind != "":
				others++
			}
		}
	}
	return deployments, others
}
