// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Collector shows the agent's last picture of the node.
type Collector struct{ state func() State }

// NewCollector returns a collector that asks state at every scrape.
func NewCollector(state func() State) *Collector { return &Collector{state: state} }

// Describe sends the list.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range list {
		ch <- m.desc
	}
}

// Collect sends one state. All series of a scrape are of the same sample.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.state()
	o := out{ch: ch}
	o.agent(s)
	o.spool(s.Spool)
	o.ship(s.Ship)
	if s.Result == nil {
		return
	}
	o.loop(s)
	o.result(s)
}

// Handler serves a state, and the process's own cost, as Prometheus text or
// OpenMetrics.
func Handler(state func() State) (http.Handler, error) {
	reg := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		NewCollector(state),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return compressed(promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, DisableCompression: true,
		// One series that cannot be shown does not hide the others; it is
		// counted in promhttp_metric_handler_errors_total.
		ErrorHandling: promhttp.ContinueOnError, Registry: reg,
	})), nil
}

// out writes series of one scrape.
type out struct{ ch chan<- prometheus.Metric }

func (o out) put(m *Metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.Kind == Counter {
		kind = prometheus.CounterValue
	}
	metric, err := prometheus.NewConstMetric(m.desc, kind, v, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(m.desc, err)
	}
	o.ch <- metric
}

// known writes a series only where there is a value: unknown is never 0.
func known[T uint64 | int64 | float64](o out, m *Metric, v *T, scale float64, labels ...string) {
	if v != nil {
		o.put(m, float64(*v)*scale, labels...)
	}
}

func (o out) agent(s State) {
	mode := "kubernetes"
	if s.Standalone {
		mode = "standalone"
	}
	o.put(agentInfo, 1, s.Version, s.AgentID, s.Cluster, s.Node, mode)
	o.put(interval, s.Interval.Seconds())
}

func (o out) spool(s Spool) {
	o.put(spoolBytes, float64(s.Bytes))
	o.put(spoolMaxBytes, float64(s.MaxBytes))
	o.put(spoolDepth, float64(s.Unacked))
	o.put(spoolPending, float64(s.Pending))
	o.put(spoolDropped, float64(s.DroppedBatches))
	o.put(spoolWriteErrors, float64(s.WriteFailures))
	o.put(spoolProblems, float64(s.Problems))
}

func (o out) ship(s *Ship) {
	if s == nil {
		return
	}
	if s.Failing || !s.LastSuccess.IsZero() {
		up := 1.0
		if s.Failing {
			up = 0
		}
		o.put(shipUp, up)
	}
	if !s.LastSuccess.IsZero() {
		o.put(shipLastSuccess, float64(s.LastSuccess.UnixMilli())/1000)
	}
	o.put(shipSent, float64(s.Sent))
	o.put(shipDurable, float64(s.Durable))
	o.put(shipRefused, float64(s.Refused))
	o.put(shipWaiting, float64(s.Waiting))
	o.put(shipFailures, float64(s.Failures))
	o.put(shipDamaged, float64(s.Damaged))
	o.put(shipLost, float64(s.Lost))
	o.put(shipRewinds, float64(s.Rewinds))
}

func (o out) loop(s State) {
	l := s.Loop
	o.put(samples, float64(l.Samples))
	o.put(missedTicks, float64(l.MissedTicks))
	o.put(windows, float64(l.Windows))
	o.put(lastSample, float64(l.LastSample.UnixMilli())/1000)
	o.put(sampleDuration, l.LastDuration.Seconds())
	o.put(busy, l.Busy.Seconds())
	for _, e := range l.Events {
		xid := ""
		if e.XID != 0 {
			xid = fmt.Sprint(e.XID)
		}
		o.put(events, float64(e.Count), string(e.Device), e.Kind, xid)
	}
	for name, st := range s.Result.Sources {
		up := 0.0
		if st.OK {
			up = 1
		}
		o.put(sourceUp, up, name)
		o.put(sourceDuration, float64(st.DurationUS)/1e6, name)
		o.put(sourceStale, float64(st.StaleMS)/1e3, name)
		o.put(sourceFailures, float64(l.Failures[name]), name)
	}
}
