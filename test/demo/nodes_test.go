// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/history"
)

// modes are how the GPUs of each node are shared, by their index. Of a card in
// MIG mode it is that of its instances.
var modes = map[string][]gpu.Mode{
	history.NodeAWS:  {gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeNone},
	history.NodeGCP:  {gpu.ModeMIG, gpu.ModeMIG, gpu.ModeMIG, gpu.ModeMIG, gpu.ModeTimeSlicing, gpu.ModeTimeSlicing, gpu.ModeTimeSlicing, gpu.ModeTimeSlicing},
	history.NodeRack: {gpu.ModeMPS, gpu.ModeMPS, gpu.ModeSharedClaim, gpu.ModeFraction, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeExclusive, gpu.ModeNone},
}

// TestNodes compares what the agents say of the nodes with what was put on them.
func TestNodes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	to := time.Now().Truncate(time.Second)
	d := &demo{options: built(t), dir: t.TempDir(), out: io.Discard, fleet: history.New(seed, to.AddDate(0, 0, -1), to)}
	defer d.end()
	for _, machine := range d.fleet.Nodes() {
		n, err := d.startNode(ctx, machine)
		if n != nil {
			d.nodes = append(d.nodes, n)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	leaks := map[string]int{}
	for _, n := range d.nodes {
		if err := n.ready(ctx, settled); err != nil {
			t.Fatal(err)
		}
		r := said(t, d.options, n.agent)
		n.compare(t, r)
		for _, f := range r.Findings {
			if f.Kind == attribution.UnallocatedUse {
				leaks[f.Holder.Account()]++
			}
		}
	}
	if want := map[string]int{"ml/notebook-all-gpus-6c9f7d5b8-x7k2q": 2}; !maps.Equal(leaks, want) {
		t.Errorf("leaks %v, want %v", leaks, want)
	}
}

// compare holds what was said of a node against the node and its history.
func (n *live) compare(t *testing.T, r attribution.Result) {
	t.Helper()
	if m := r.Machine; m == nil || m.ProviderID != n.ProviderID || m.CPUMilli != n.CPUMilli || m.MemoryBytes != n.MemoryBytes || m.CreatedMS != n.Created.Truncate(time.Second).UnixMilli() || !maps.Equal(m.Labels, n.Labels) {
		t.Errorf("%s: the machine is %+v, want that of %+v", n.Name, m, n.Node)
	}
	for _, p := range r.Partitions {
		g := n.GPUs[p.Index]
		if p.ID.Device != g.UUID || p.Slot != g.Slot || p.Model != g.Model {
			t.Errorf("%s: GPU %d is %s %s %s, its history has %+v", n.Name, p.Index, p.ID.Device, p.Slot, p.Model, g)
		}
		if p.MIGParent {
			continue
		}
		balanced(t, p)
		if want := modes[n.Name][p.Index]; p.Mode != want {
			t.Errorf("%s: GPU %d is shared by %s (%s), want %s", n.Name, p.Index, p.Mode, p.ModeEvidence, want)
		}
		if n.Name == history.NodeRack && p.Index == 6 && *p.Unattributed != 700*mib {
			t.Errorf("%s: GPU 6: %d bytes unattributed, want 700 MiB", n.Name, *p.Unattributed)
		}
	}
	owners := map[string]string{}
	for _, p := range r.Pods {
		owners[p.Holder.Account()] = p.Owner.Kind + "/" + p.Owner.Name + " " + p.Labels["team"]
	}
	for _, p := range n.pods {
		want := p.Spec.Owner.Kind + "/" + p.Spec.Owner.Name + " " + p.Spec.Labels["team"]
		if got := owners[p.Spec.Namespace+"/"+p.Spec.Name]; got != want {
			t.Errorf("%s: pod %s/%s belongs to %q, want %q", n.Name, p.Spec.Namespace, p.Spec.Name, got, want)
		}
	}
}

// said is what gputally top --json says of the node.
func said(t *testing.T, o options, a *program) attribution.Result {
	t.Helper()
	out, err := exec.Command(filepath.Join(o.bin, "gputally"), "top", "--agent", a.url, "--json").Output()
	if err != nil {
		t.Fatalf("gputally top: %v", err)
	}
	var answer struct {
		Nodes []struct{ Result attribution.Result }
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Nodes) != 1 {
		t.Fatalf("%d nodes: %v", len(answer.Nodes), err)
	}
	return answer.Nodes[0].Result
}

func balanced(t *testing.T, p attribution.Partition) {
	t.Helper()
	sum := *p.Reserved + *p.Unattributed + *p.Free
	for _, h := range p.Holdings {
		sum += *h.Bytes
	}
	if sum != *p.Capacity {
		t.Errorf("%s: parts sum to %d, capacity %d", p.ID, sum, *p.Capacity)
	}
}

// TestLayout: the cards of the staged node are cut as its history left them.
func TestLayout(t *testing.T) {
	if got := slices.Sorted(maps.Keys(history.Layout())); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("GPUs %v are cut", got)
	}
	for place := range tenants {
		cut := history.Layout()[place[0]]
		if !slices.ContainsFunc(cut, func(i history.Instance) bool { return int(i.GI) == place[1] }) {
			t.Errorf("GPU %d has no instance %d for a tenant: %v", place[0], place[1], cut)
		}
	}
}
