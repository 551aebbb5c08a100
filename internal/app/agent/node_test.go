// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestRecordsSayWhatTheNodeIs: by its object, also in the gap before them.
func TestRecordsSayWhatTheNodeIs(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.node = &workload.Node{Name: "n", ProviderID: "test:///1", Labels: map[string]string{"zone": "a"}, CreatedMS: 7, Capacity: map[string]int64{"cpu": 4000, "memory": gib}}
		r := begin(t, w, func(c *Config) { c.LastEnd = time.Now().Add(-time.Minute) })
		at(90 * time.Second)
		windows := r.end()
		want := &usage.NodeShape{Labels: w.node.Labels, CPUMilli: 4000, MemoryBytes: gib, CreatedMS: 7, Slots: []usage.NodeSlot{{Model: "Test"}}}
		if diff := cmp.Diff(want, windows[0].Shape); diff != "" {
			t.Errorf("shape (-want +got):\n%s", diff)
		}
		for _, b := range r.batches {
			if b.ProviderID != "test:///1" {
				t.Errorf("batch %d (gap %v) is of machine %q", b.Seq, b.Gap != nil, b.ProviderID)
			}
		}
	})
}

// TestHostSaysWhatItIsWithoutKubernetes, once it can be asked.
func TestHostSaysWhatItIsWithoutKubernetes(t *testing.T) {
	story(t, func(t *testing.T) {
		w := newWorld()
		w.capacity = errBroken
		r := begin(t, w, func(c *Config) { c.Standalone = true })
		at(61 * time.Second)
		w.set(func() { w.capacity = nil })
		at(90 * time.Second)
		if got := r.agent.Snapshot().Result.Sources[SourceHost]; !got.OK {
			t.Errorf("source host: %+v", got)
		}
		windows := r.end()
		if windows[0].Shape != nil {
			t.Errorf("what nobody could read was told: %+v", windows[0].Shape)
		}
		want := &usage.NodeShape{CPUMilli: 8000, MemoryBytes: 64 * gib, Slots: []usage.NodeSlot{{Model: "Test"}}}
		if diff := cmp.Diff(want, windows[1].Shape); diff != "" {
			t.Errorf("shape (-want +got):\n%s", diff)
		}
		if n := r.log.count("source fails") + r.log.count("sound again"); n != 2 {
			t.Errorf("%d log lines on one outage", n)
		}
	})
}
