// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/app/top"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
)

// topSources are the agents or the nodes of the capture that the user named.
func topSources(stdin io.Reader, args []string, flags topFlags) ([]top.Source, error) {
	if len(args) > 0 {
		return captureSources(stdin, args[0], flags)
	}
	if plugin != nil && len(flags.agents) == 0 {
		return plugin.agents(flags.node)
	}
	addresses := flags.agents
	if len(addresses) == 0 {
		addresses = []string{defaultAgent}
	}
	var out []top.Source
	for _, a := range addresses {
		if _, err := agenthttp.NodeURL(a); err != nil {
			return nil, inputError{fmt.Errorf("--agent: %w", err)}
		}
		out = append(out, agentSource{name: a, address: a, http: http.DefaultClient})
	}
	return out, nil
}

// defaultAgent is where an agent serves on its own node.
const defaultAgent = "http://" + agenthttp.DefaultListen

// agentSource is a node seen by its agent, at an address that this client reaches.
type agentSource struct {
	name, address string
	http          *http.Client
}

func (s agentSource) Name() string { return s.name }

func (s agentSource) Read(ctx context.Context) (top.Reading, error) {
	n, err := agenthttp.Fetch(ctx, s.http, s.address)
	var transport *url.Error
	switch {
	case errors.As(err, &transport):
		return top.Reading{}, transport.Err // the address stands beside it already
	case err != nil:
		return top.Reading{}, err
	case n.Result == nil:
		return top.Reading{}, errors.New("the agent has not taken its first sample yet")
	}
	return top.Reading{Version: n.Agent.Version, Result: n.Result, ReadAt: time.Now()}, nil
}

// captureSource is a node of a capture, as it was at a moment that moves on.
type captureSource struct {
	name string
	// offset is where in the capture the reader is, now.
	offset func() time.Duration
	monoMS int64

	next       func() (sample.Sample, bool)
	attributor *attribution.Attributor
	ahead      *sample.Sample
	last       *attribution.Result
}

func captureSources(stdin io.Reader, file string, flags topFlags) ([]top.Source, error) {
	f, err := readCapture(stdin, file)
	if err != nil {
		return nil, err
	}
	nodes, err := chosenNodes(f, replayFlags{node: flags.node})
	if err != nil {
		return nil, err
	}
	offset, err := playhead(f, flags)
	if err != nil {
		return nil, err
	}
	var out []top.Source
	for _, n := range nodes {
		// The file is played to its end or the program ends with it.
		next, _ := iter.Pull(f.Samples(n))
		out = append(out, &captureSource{
			name: f.Name, offset: offset, monoMS: f.MonoMS(), next: next,
			attributor: attribution.New(attribution.Policy{Daemons: attribution.DefaultDaemons()}),
		})
	}
	return out, nil
}

// playhead is the moment that --at names, or one that moves with --speed.
func playhead(f *capture.File, flags topFlags) (func() time.Duration, error) {
	at, err := moment(f, flags.at)
	if err != nil {
		return nil, err
	}
	if flags.once || flags.json {
		return func() time.Duration { return at }, nil
	}
	begin := time.Now()
	return func() time.Duration {
		return time.Duration(float64(time.Since(begin)) * flags.speed)
	}, nil
}

func (s *captureSource) Name() string { return s.name }

// Read attributes every sample up to the moment: what a result says depends on
// the ones before.
func (s *captureSource) Read(ctx context.Context) (top.Reading, error) {
	until := s.monoMS + s.offset().Milliseconds()
	for ctx.Err() == nil {
		if s.ahead == nil {
			next, ok := s.next()
			if !ok {
				break
			}
			s.ahead = &next
		}
		if s.ahead.MonoMS > until {
			break
		}
		r := s.attributor.Attribute(*s.ahead)
		s.last, s.ahead = &r, nil
	}
	if s.last == nil {
		return top.Reading{}, fmt.Errorf("the capture has no sample at or before this moment")
	}
	return top.Reading{Result: s.last, ReadAt: time.Now()}, nil
}
