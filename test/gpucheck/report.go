// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// contextMiB bounds what a CUDA context may add to an allocation. Contexts of
// recent data-center GPUs take some hundred MiB.
const contextMiB = 1024

// report collects outcomes and what was wrong with them.
type report struct {
	before         *attribution.Result
	text           strings.Builder
	checks, failed int
	last           *outcome
}

func newReport(before *attribution.Result) *report {
	return &report{before: before}
}

func (r *report) check(ok bool, format string, args ...any) string {
	r.checks++
	mark := "✓"
	if !ok {
		r.failed++
		mark = "**✗**"
	}
	return mark + " " + fmt.Sprintf(format, args...)
}

// add writes one scenario: each process as allocated, as nvidia-smi says and
// as the agent says, and whether the GPU's parts sum to the whole.
func (r *report) add(o *outcome) {
	r.last = o
	fmt.Fprintf(&r.text, "\n## %s\n\n", o.scenario.name)
	r.text.WriteString("| PID | allocated MiB | nvidia-smi | gputally MiB | grade | check |\n|---|---|---|---|---|---|\n")
	together := attribution.Holding{}
	var pids []int
	var asked uint64
	for _, h := range o.held {
		p, holding, ok := found(o.result, h.pid)
		smi := o.smi[h.pid]
		if smi == "" {
			smi = "–"
		}
		// Programs of one user's session are one holder: their sizes stand
		// together, once.
		line := r.check(ok, "found on %s", p.Model)
		fmt.Fprintf(&r.text, "| %d | %d | %s | %s (%d processes) | %s | %s |\n",
			h.pid, h.bytes/gpu.MiB, smi, mib(holding.Bytes), len(holding.PIDs), holding.Grade, line)
		together, pids, asked = holding, append(pids, h.pid), asked+h.bytes
	}
	r.sizes(o, together, pids, asked)
	r.balance(o.result)
}

// sizes checks that the holder has what its programs asked for, and no more
// than a context each beyond it. Managed memory need not be attributed.
func (r *report) sizes(o *outcome, h attribution.Holding, pids []int, asked uint64) {
	if h.Bytes == nil || !sameSet(h.PIDs, pids) {
		fmt.Fprintf(&r.text, "\nThe holder has other processes too, or no size: its bytes are not compared (%v against %v).\n", h.PIDs, pids)
		return
	}
	limit := asked + uint64(len(pids))*contextMiB*gpu.MiB
	lower := asked
	if o.scenario.managed {
		lower = 0
	}
	fmt.Fprintf(&r.text, "\n%s\n", r.check(*h.Bytes >= lower && *h.Bytes <= limit,
		"the holder has %s MiB for %d MiB asked: %.1f MiB a process beyond it",
		mib(h.Bytes), asked/gpu.MiB, (float64(*h.Bytes)-float64(asked))/gpu.MiB/float64(len(pids))))
}

func sameSet(a, b []int) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func (r *report) balance(res *attribution.Result) {
	for _, p := range res.Partitions {
		if p.Capacity == nil {
			fmt.Fprintf(&r.text, "\n%s %s: no memory reading (%s)\n", p.Model, p.ID, p.State)
			continue
		}
		sum := *p.Reserved + *p.Unattributed + *p.Free
		for _, h := range p.Holdings {
			if h.Bytes != nil {
				sum += *h.Bytes
			}
		}
		fmt.Fprintf(&r.text, "\n%s\n", r.check(sum == *p.Capacity,
			"%s: reserve %s + holders + unattributed %s + free %s = capacity %s MiB",
			p.Model, mib(p.Reserved), mib(p.Unattributed), mib(p.Free), mib(p.Capacity)))
	}
}

// compareMock runs the agent over the mock library, told what NVML said of
// this machine, and lists the readings that only one of the two has.
func (r *report) compareMock(o options) error {
	dir, err := os.MkdirTemp("", "gpucheck-mock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	state := filepath.Join(dir, "state")
	if err := os.WriteFile(state, []byte(mockState(r.before)), 0o644); err != nil {
		return err
	}
	a, err := startAgent(o.agent, o.mock, state)
	if err != nil {
		return err
	}
	defer a.stop()
	mock, err := a.settled()
	if err != nil {
		return fmt.Errorf("over the mock: %w", err)
	}
	r.text.WriteString("\n## Readings, this machine against the mock\n\n| GPU | reading | this machine | mock |\n|---|---|---|---|\n")
	for i, p := range r.before.Partitions {
		if i < len(mock.Partitions) {
			r.compare(p, mock.Partitions[i])
		}
	}
	return nil
}

func (r *report) compare(real, mock attribution.Partition) {
	a, b := flat(real), flat(mock)
	keys := map[string]bool{}
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		if a[k] != b[k] {
			fmt.Fprintf(&r.text, "| %d | %s | %s | %s |\n", real.Index, k, orDash(a[k]), orDash(b[k]))
		}
	}
}

// flat is a partition's readings by their JSON names.
func flat(p attribution.Partition) map[string]string {
	p.Holdings, p.Names = nil, nil
	out := map[string]string{}
	text, _ := json.Marshal(p)
	var tree map[string]any
	_ = json.Unmarshal(text, &tree)
	flatten("", tree, out)
	return out
}

func flatten(prefix string, tree map[string]any, out map[string]string) {
	for k, v := range tree {
		if sub, ok := v.(map[string]any); ok {
			flatten(prefix+k+".", sub, out)
			continue
		}
		out[prefix+k] = fmt.Sprint(v)
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// mockState describes this machine's GPUs for the mock, by the profile whose
// name fits.
func mockState(r *attribution.Result) string {
	var b strings.Builder
	for _, p := range r.Partitions {
		if p.ID.IsInstance() {
			continue
		}
		fmt.Fprintf(&b, "gpu uuid=%s profile=%s\n", p.ID.Device, profileOf(p.Model))
	}
	return b.String()
}

func profileOf(model string) string {
	for _, m := range [][2]string{
		{"H200", "h200"}, {"H100", "h100"}, {"B200", "b200"}, {"A100-SXM4-80", "a100-80gb"}, {"A100 80", "a100-80gb"},
		{"A100", "a100-40gb"}, {"A30", "a30"}, {"L40S", "l40s"}, {"A10G", "a10g"}, {"T4", "t4"}, {"GB10", "gb10"},
	} {
		if strings.Contains(model, m[0]) {
			return m[1]
		}
	}
	return "a100-40gb"
}

func (r *report) markdown(now time.Time) string {
	var b strings.Builder
	b.WriteString("# Hardware check\n\nWritten by `hack/gpu-check.sh`. Known amounts of memory were allocated through CUDA's driver API and looked for by the agent.\n\n")
	fmt.Fprintf(&b, "- date: %s\n- driver %s, NVML %s, CUDA %d\n", now.UTC().Format(time.RFC3339), r.before.NVML.DriverVersion, r.before.NVML.NVMLVersion, r.before.NVML.CUDAVersion)
	for _, p := range r.before.Partitions {
		fmt.Fprintf(&b, "- %s, %s: capacity %s MiB, reserve %s MiB, used %s MiB before the check\n", p.Model, p.ID, mib(p.Capacity), mib(p.Reserved), mib(p.Used))
	}
	fmt.Fprintf(&b, "- checks: %d, failed: %d\n", r.checks, r.failed)
	return b.String() + r.text.String()
}
