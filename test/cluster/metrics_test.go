// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics is one scrape of the agent.
type metrics map[string]*dto.MetricFamily

func scrape() (metrics, error) {
	body, err := read(agentURL + "/metrics")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("parse /metrics: %w", err)
	}
	return families, nil
}

// series calls each with the labels and value of every series of a metric.
func (m metrics) series(name string, each func(labels map[string]string, value float64)) {
	family := m[name]
	if family == nil {
		return
	}
	for _, s := range family.Metric {
		labels := map[string]string{}
		for _, l := range s.Label {
			labels[l.GetName()] = l.GetValue()
		}
		each(labels, s.GetGauge().GetValue()+s.GetCounter().GetValue()+s.GetUntyped().GetValue())
	}
}

// lines writes what the metrics say in the form of truth.lines. uuids names the partitions.
func (m metrics) lines(uuids map[string]string) []string {
	var lines []string
	at := func(l map[string]string) string { return uuids[l["gpu_uuid"]+" "+l["partition"]] }
	m.series("gputally_memory_used_bytes", func(l map[string]string, v float64) {
		who := l["workload_pod"] + "/" + l["workload_container"]
		lines = append(lines, holding{who: who, partition: at(l), bytes: uint64(v)}.line())
	})
	m.series("gputally_memory_reserved_bytes", func(l map[string]string, v float64) {
		lines = append(lines, grant{pod: l["workload_pod"], partition: at(l), source: l["source"], reserved: uint64(v)}.line())
	})
	m.series("gputally_partition_sharing_mode", func(l map[string]string, _ float64) {
		if l["mode"] != "none" {
			lines = append(lines, modeLine(at(l), l["mode"]))
		}
	})
	m.series("gputally_finding_info", func(l map[string]string, _ float64) {
		lines = append(lines, findingLine(l["kind"], l["workload_pod"]))
	})
	return sorted(lines)
}

// balances checks that the classes of every partition's memory sum to its capacity.
func (m metrics) balances() error {
	sums := map[string]float64{}
	m.series("gputally_partition_memory_bytes", func(l map[string]string, v float64) {
		sums[l["gpu_uuid"]+" "+l["partition"]] += v
	})
	var err error
	m.series("gputally_partition_memory_capacity_bytes", func(l map[string]string, v float64) {
		if key := l["gpu_uuid"] + " " + l["partition"]; sums[key] != v && sums[key] != 0 {
			err = fmt.Errorf("/metrics: the classes of %s sum to %.0f of %.0f bytes", key, sums[key], v)
		}
	})
	if len(sums) == 0 {
		return fmt.Errorf("/metrics has no gputally_partition_memory_bytes")
	}
	return err
}

// has checks that one series has a value.
func (m metrics) has(name string, want float64, label, value string) error {
	err := fmt.Errorf("/metrics has no %s{%s=%q}", name, label, value)
	m.series(name, func(l map[string]string, v float64) {
		if l[label] != value {
			return
		}
		if err = nil; v != want {
			err = fmt.Errorf("%s{%s=%q} is %g, want %g", name, label, value, v, want)
		}
	})
	return err
}
