// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// metrics are the lines of one scrape that carry a value.
type metrics []string

func (n *node) metrics() (metrics, error) {
	resp, err := http.Get(n.agent.URL + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape: %s: %s", resp.Status, text)
	}
	var m metrics
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			m = append(m, strings.TrimSpace(line))
		}
	}
	return m, nil
}

// find lists the values of a metric's series whose labels hold all the parts.
func (m metrics) find(name string, parts ...string) []float64 {
	var out []float64
	for _, line := range m {
		series, value, _ := cutLast(line)
		metric, labels, _ := strings.Cut(series, "{")
		if metric != name || !containsAll(labels, parts) {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// cutLast parts a line at its last blank: labels may have others.
func cutLast(line string) (before, after string, found bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// is reports an error unless exactly one series matches and has the value.
func (n *node) is(want float64, name string, parts ...string) error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	if got := m.find(name, parts...); len(got) != 1 || got[0] != want {
		return fmt.Errorf("%s%q is %v, want %v", name, parts, got, want)
	}
	return nil
}

// number is the value of the one series that matches.
func (n *node) number(name string, parts ...string) float64 {
	n.t.Helper()
	m, err := n.metrics()
	n.must(err)
	got := m.find(name, parts...)
	if len(got) != 1 {
		n.t.Fatalf("%s%q is %v, want one series", name, parts, got)
	}
	return got[0]
}
