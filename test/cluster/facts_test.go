// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"encoding/json"
	"testing"
)

// facts is what a usage batch says beside who has what: what advice goes by.
type facts struct {
	Shape *struct {
		CPUMilli    int64 `json:"cpu_milli"`
		Allocatable int64 `json:"allocatable_cpu_milli"`
		Cards       []struct {
			Model    string `json:"model"`
			Profiles []struct {
				Name       string           `json:"name"`
				Bytes      uint64           `json:"bytes"`
				SMs        uint32           `json:"sms"`
				Placements []map[string]int `json:"placements"`
			} `json:"profiles"`
		} `json:"cards"`
	} `json:"shape"`
	Others *struct {
		Pods    int64 `json:"pods"`
		Movable struct {
			Pods        int64  `json:"pods"`
			CPUMilli    int64  `json:"cpu_milli"`
			MemoryBytes uint64 `json:"memory_bytes"`
		} `json:"movable"`
	} `json:"others"`
	Pods []struct {
		Holder holder `json:"holder"`
		About  struct {
			Latency     string `json:"latency"`
			CreatedMS   int64  `json:"created_ms"`
			ScheduledMS int64  `json:"scheduled_ms"`
		} `json:"about"`
	} `json:"pods"`
}

// toldOfNode checks what the agent, which has ended, recorded of the node: how many pods
// without a GPU there are that another node could have, how the second card can be cut,
// and when pods were made and scheduled. Who wishes for latency is said.
func (a *agent) toldOfNode(t *testing.T, web int64, wishes string) {
	t.Helper()
	lines, err := output("gputally-agent", "spool", "cat", a.spool)
	if err != nil {
		t.Fatal(err)
	}
	var last, shaped facts
	for line := range bytes.Lines(lines) {
		last = facts{}
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatal(err)
		}
		if last.Shape != nil {
			shaped = last
		}
	}
	if s := shaped.Shape; s == nil || s.Allocatable <= 0 || s.Allocatable > s.CPUMilli {
		t.Fatalf("shape %+v: nothing, or more than there is, may be had by pods", s)
	}
	small := 0
	for _, c := range shaped.Shape.Cards {
		for _, p := range c.Profiles {
			if p.Name == "1g.5gb" && p.Bytes == sliceBytes && p.SMs == 14 && len(p.Placements) == 7 {
				small++
			}
		}
	}
	if small != 1 {
		t.Errorf("cards %+v: want 1g.5gb of one model, as NVML tells it", shaped.Shape.Cards)
	}
	if o := last.Others; o == nil || o.Movable.Pods != 1 || o.Movable.CPUMilli != web || o.Movable.MemoryBytes != 64<<20 || o.Pods < o.Movable.Pods {
		t.Errorf("others %+v: want one pod that asks for %d thousandths of a CPU and 64 MiB", o, web)
	}
	said := 0
	for _, p := range last.Pods {
		if p.About.CreatedMS <= 0 || p.About.ScheduledMS < p.About.CreatedMS {
			t.Errorf("%+v: made and scheduled when?", p)
		}
		if p.About.Latency == wishes {
			said++
		}
	}
	if said != 1 {
		t.Errorf("%d pods wish for %q, want one: %+v", said, wishes, last.Pods)
	}
}
