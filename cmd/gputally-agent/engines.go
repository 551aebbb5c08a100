// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/adapter/enginehttp"
	"github.com/gputally/gputally/internal/core/demand"
)

// The words of --engines.
const (
	enginesAnnotated = "annotated"
	enginesOff       = "off"
)

// engineSelectors are the operator's own targets.
func (c *config) engineSelectors() ([]demand.Selector, error) {
	var out []demand.Selector
	for _, text := range c.engineTargets {
		s, err := parseEngineTarget(text)
		if err != nil {
			return nil, fmt.Errorf("engine-target: %q: %w", text, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// parseEngineTarget reads ENGINE[:PORT][/PATH]@NAMESPACE/LABEL=VALUE[,…].
func parseEngineTarget(text string) (s demand.Selector, err error) {
	endpoint, pods, ok := strings.Cut(text, "@")
	namespace, labels, found := strings.Cut(pods, "/")
	if !ok || !found || namespace == "" || labels == "" {
		return s, fmt.Errorf("write ENGINE[:PORT][/PATH]@NAMESPACE/LABEL=VALUE[,LABEL=VALUE…]")
	}
	if i := strings.IndexByte(endpoint, '/'); i >= 0 {
		endpoint, s.Path = endpoint[:i], endpoint[i:]
	}
	engine, port, given := strings.Cut(endpoint, ":")
	if !slices.Contains(demand.Engines(), engine) {
		return s, fmt.Errorf("engine is %q: write one of %s", engine, strings.Join(demand.Engines(), ", "))
	}
	if given {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return s, fmt.Errorf("port is %q: write 1 to 65535", port)
		}
		s.Port = uint16(n)
	}
	s.Engine, s.Namespace, s.Labels = engine, namespace, map[string]string{}
	for pair := range strings.SplitSeq(labels, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" || value == "" {
			return s, fmt.Errorf("label is %q: write LABEL=VALUE", pair)
		}
		s.Labels[key] = value
	}
	return s, s.Check()
}

// openEngines begins to ask engines, unless that is off.
func (s *sources) openEngines(c *config) {
	if c.engines == enginesOff {
		return
	}
	scraper := enginehttp.New(enginehttp.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- scraper.Run(ctx) }()
	s.Engines = scraper
	s.close = append(s.close, func() error {
		cancel()
		return <-done
	})
}
