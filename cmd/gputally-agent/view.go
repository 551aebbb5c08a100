// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/promexport"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/agent"
	"github.com/gputally/gputally/internal/app/ship"
)

// view shows the agent's last snapshot to HTTP: the same picture, in the
// shapes of /metrics and /api/v1/node.
type view struct {
	cfg     *config
	agent   *agent.Agent
	spool   *spool.Spool
	shipper *ship.Shipper // nil where nothing is shipped
	started time.Time
}

func (v *view) handler() (http.Handler, error) {
	metrics, err := promexport.Handler(v.state)
	if err != nil {
		return nil, err
	}
	return agenthttp.Handler(agenthttp.Endpoints{
		Metrics: metrics, Healthy: v.agent.Healthy, Ready: v.agent.Ready, Node: v.node,
	}), nil
}

func (v *view) node() agenthttp.Node {
	n := agenthttp.Node{Agent: agenthttp.Agent{
		Version: versionText(), ID: v.spool.Agent(), Boot: v.spool.Boot(), Cluster: v.cfg.cluster,
		Node: v.cfg.nodeName, StartedAt: v.started, IntervalMS: v.cfg.interval.Milliseconds(),
	}}
	if s := v.agent.Snapshot(); s != nil {
		n.Agent.Samples, n.Result = s.Stats.Samples, &s.Result
	}
	return n
}

func (v *view) state() promexport.State {
	st := promexport.State{
		Version: versionText(), AgentID: v.spool.Agent(), Cluster: v.cfg.cluster, Node: v.cfg.nodeName,
		Standalone: v.cfg.standalone, Interval: v.cfg.interval, Spool: spoolState(v.spool.Status()), Ship: shipState(v.shipper),
	}
	s := v.agent.Snapshot()
	if s == nil {
		return st
	}
	st.Result, st.Loop = &s.Result, loopState(s.Stats)
	for _, t := range s.Totals {
		st.Totals = append(st.Totals, promexport.Total(t))
	}
	return st
}

func loopState(s agent.Stats) promexport.Loop {
	l := promexport.Loop{
		Samples: s.Samples, MissedTicks: s.MissedTicks, Windows: s.Windows, Failures: s.Failures,
		LastSample: s.LastSample, LastDuration: s.LastDuration, Busy: s.Busy,
	}
	for _, k := range slices.SortedFunc(maps.Keys(s.Events), agent.EventKey.Compare) {
		l.Events = append(l.Events, promexport.Event{Device: k.Device, Kind: k.Kind, XID: k.XID, Count: s.Events[k]})
	}
	return l
}

func spoolState(s spool.Status) promexport.Spool {
	return promexport.Spool{
		Bytes: s.Bytes, MaxBytes: s.MaxBytes, Unacked: s.Unacked, Pending: s.Pending, Problems: s.Problems,
		DroppedBatches: s.Dropped, WriteFailures: s.WriteErrors,
	}
}
