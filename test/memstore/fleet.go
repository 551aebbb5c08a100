// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
)

// story is six hours of three nodes, in the form of captures.
//
//go:embed fleet.yaml
var story string

// clusters are where the nodes are.
var clusters = map[string]string{"aws-1": "prod", "gcp-1": "lab", "rack-1": "lab"}

// records are what the agents of the fleet wrote: the story on the agent's own
// way from samples to windows.
func records() (out []usage.Batch, err error) {
	f, err := capture.Read(strings.NewReader(story), "fleet.yaml")
	if err != nil {
		return nil, err
	}
	for _, n := range f.Nodes {
		attributor := attribution.New(attribution.Policy{Daemons: attribution.DefaultDaemons()})
		in := usage.New(usage.Config{
			Cluster: clusters[n.Name], Node: n.Name, Agent: "agent-" + n.Name, Boot: "boot-1",
			IntervalMS: f.Interval.Milliseconds(), WindowMS: 600_000,
		})
		var last attribution.Result
		for s := range f.Samples(n.Name) {
			last = attributor.Attribute(s)
			out = append(out, in.Add(last)...)
		}
		out = append(out, in.Close(last.MonoMS, last.At)...)
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return nil, fmt.Errorf("the records of %s: %w", out[i].Node, err)
		}
	}
	return out, nil
}
