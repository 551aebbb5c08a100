// SPDX-License-Identifier: Apache-2.0

package ledgermetrics

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// collector asks for the state at every scrape.
type collector struct{ state func() State }

// Describe sends the list.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range list {
		ch <- m.desc
	}
}

// Collect sends one state.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s := c.state()
	o := out{ch}
	o.records(&s)
	o.rating(&s)
	for i := range s.Costs {
		o.cost(&s.Costs[i])
	}
	o.activity(&s)
	o.advice(s.Advice)
}

// Handler serves a state, and the process's own cost, as Prometheus text or
// OpenMetrics.
func Handler(state func() State) (http.Handler, error) {
	reg := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collector{state}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector(),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, ErrorHandling: promhttp.ContinueOnError, Registry: reg,
	}), nil
}

type out struct{ ch chan<- prometheus.Metric }

func (o out) put(m *metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if m.kind == "counter" {
		kind = prometheus.CounterValue
	}
	o.ch <- prometheus.MustNewConstMetric(m.desc, kind, v, labels...)
}

// at puts a moment, unless it is unknown.
func (o out) at(m *metric, t time.Time) {
	if !t.IsZero() {
		o.put(m, float64(t.UnixMilli())/1000)
	}
}

func (o out) records(s *State) {
	o.put(serverInfo, 1, s.Version)
	o.put(deliveries, float64(s.Deliveries))
	o.put(batches, float64(s.Batches))
	o.put(duplicates, float64(s.Duplicates))
	for _, code := range slices.Sorted(maps.Keys(s.Refused)) {
		o.put(refused, float64(s.Refused[code]), code)
	}
	o.put(busy, float64(s.Busy))
	o.put(queued, float64(s.QueuedRows))
	o.put(writeErrors, float64(s.WriteErrors))
	o.put(checkpoints, float64(s.Checkpoints))
	o.put(checkErrors, float64(s.CheckpointErrors))
	o.at(lastWrite, s.LastWrite)
	o.put(storeBytes, float64(s.StoreBytes))
	o.put(sealed, float64(s.SealedHours))
	o.put(dropped, float64(s.DroppedBatches))
	o.put(keeperErrors, float64(s.KeeperErrors))
	o.put(nodes, float64(s.Nodes))
	o.put(silent, float64(s.Silent))
	o.at(lastRecord, s.LastRecord)
}

func (o out) rating(s *State) {
	o.put(due, float64(s.DueHours))
	o.at(oldestDue, s.OldestDue)
	o.put(failed, float64(s.FailedHours))
	o.put(rated, float64(s.RatedHours))
	o.put(booked, float64(s.BookedLines))
	o.put(rateErrors, float64(s.RateError))
	o.at(lastRound, s.LastRound)
}

func (o out) cost(c *Cost) {
	span := "month"
	if c.LastHour {
		span = "hour"
	}
	labels := []string{span, c.Cluster, c.Class, c.Account, c.Resource, c.Currency}
	if c.Priced {
		o.put(cost, c.Amount, labels...)
	}
	if c.Resource != "gpu" {
		return
	}
	o.put(gpuHours, c.GPUHours, labels...)
	o.put(allocated, c.AllocatedGPUHours, labels...)
	o.put(unused, c.UnusedGPUHours, labels...)
	o.put(unpriced, c.UnpricedGPUHours, labels...)
	o.put(held, c.HeldMemoryGiBHours, labels...)
}

func (o out) activity(s *State) {
	o.put(activityHours, float64(s.ActivityHours))
	o.put(activityErrors, float64(s.ActivityErrors))
	for _, c := range s.Classes {
		o.put(classHours, c.Hours, c.Cluster, c.Namespace, c.Class)
	}
}

// advice counts by kind and state, and adds money up by namespace: of one currency.
func (o out) advice(all []Advice) {
	type who struct{ cluster, namespace, currency string }
	cash, freed := map[who]float64{}, map[who]float64{}
	counts := map[[4]string]int{} // of all currencies
	for _, a := range all {
		counts[[4]string{a.Cluster, a.Namespace, a.Kind, a.State}] += a.Count
		if a.Currency != "" {
			k := who{a.Cluster, a.Namespace, a.Currency}
			cash[k] += a.Cash
			freed[k] += a.Freed
		}
	}
	for k, n := range counts {
		o.put(adviceCount, float64(n), k[:]...)
	}
	for k, v := range cash {
		o.put(adviceCash, v, k.cluster, k.namespace, k.currency)
		o.put(adviceFreed, freed[k], k.cluster, k.namespace, k.currency)
	}
}
