// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/packing"
)

var scope = Scope{Cluster: "c", ToMS: 30 * dayMS, Currency: "USD", PriceRef: "book@1", Grade: "listed"}

// twoNodes is example 2: on A seven servers that need a slice each and a training,
// on B a training and seven free GPUs.
func twoNodes(t *testing.T, hour money.Nano, untilMS int64) packing.Fleet {
	t.Helper()
	var profiles []packing.Profile
	for i, l := range gpu.LegalPlacements(8) {
		profiles = append(profiles, packing.Profile{Name: []string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}[i], Bytes: gb(9.62) * uint64(l.Placements[0].Size), Placements: l.Placements})
	}
	f := packing.Fleet{NowMS: 1}
	for _, name := range []string{"A", "B"} {
		n := packing.Node{Name: name, Type: "n8a", Hour: &hour, CommittedUntilMS: untilMS, CPUMilli: 96_000, MemoryBytes: 1 << 40}
		for i := range 8 {
			n.GPUs = append(n.GPUs, packing.GPU{UUID: gpu.UUID(fmt.Sprintf("GPU-%s-%d", name, i)), Model: "A100", Bytes: gb(79.15), Slices: 8, Profiles: profiles})
		}
		f.Nodes = append(f.Nodes, n)
	}
	for i := range 9 {
		pod := packing.Pod{ID: fmt.Sprintf("emb/bge-%d", i), Need: packing.Need{Profile: "1g.10gb"}, CPUMilli: 4000, MemoryBytes: 32 << 30}
		pod.At = packing.Place{Node: "A", GPUs: []gpu.UUID{gpu.UUID(fmt.Sprintf("GPU-A-%d", i))}}
		if i >= 7 {
			pod.ID, pod.Need = fmt.Sprintf("ml/train-%d", i), packing.Need{GPUs: 1}
		}
		if i == 8 {
			pod.At = packing.Place{Node: "B", GPUs: []gpu.UUID{"GPU-B-0"}}
		}
		f.Pods = append(f.Pods, pod)
	}
	return f
}

// sevenSlices are the recommendations of which example 2's plan consists.
func sevenSlices(t *testing.T) (out []Recommendation) {
	for i := range 7 {
		s := subject(t)
		s.Target.Partitions = []string{fmt.Sprintf("GPU-A-%d", i)}
		r, err := SmallerProfile(s, a100Profiles)
		advised(t, r, err)
		out = append(out, r)
	}
	return out
}

// TestRepackExample2: the plan is found, not given: one of two nodes goes, which
// saves its price and not seven savings more; afterwards seven eighths of a GPU are
// held, one is stranded, and five GPUs are idle.
func TestRepackExample2(t *testing.T) {
	f := twoNodes(t, usd(t, "24"), 0)
	r, inside, err := Repack(f, scope, sevenSlices(t))
	if err != nil || r.State != Advised || r.Plan.Cash != usd(t, "17520") || r.Plan.Class != Cash || len(r.Plan.Returns) != 1 || len(r.Plan.Members) != 7 {
		t.Fatalf("%+v, %v", r.Plan, err)
	}
	if r.Money.CashMean != r.Plan.Cash || r.Money.FreedIdle != -r.Plan.Cash || r.Money.ChargeDelta != nil {
		t.Errorf("%+v", r.Money)
	}
	for _, m := range inside {
		if m.PlanID != r.Plan.ID || m.Money.CashMean != 0 {
			t.Errorf("a member has %v of its own", m.Money.CashMean)
		}
	}
	after, err := packing.Replay(f, *r.Packing)
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, p := range after.Pods {
		if p.At.Instance != nil {
			held++
		}
	}
	s := packing.Stranded(after, packing.Ask{})
	if held != 7 || len(s) != 1 || s[0].Free != 5000+125 || s[0].Slices != 125 {
		t.Errorf("%d instances, %+v", held, s)
	}
	if total, err := TotalCash([]Plan{*r.Plan}); err != nil || total != usd(t, "17520") {
		t.Errorf("total %v, %v", total, err)
	}
}

// TestRepackExample12: reserved nodes save nothing until the date, and the plan is
// shown all the same.
func TestRepackExample12(t *testing.T) {
	const until = 1_814_313_600_000 // 2027-06-30
	r, _, err := Repack(twoNodes(t, usd(t, "24"), until), scope, nil)
	if err != nil || r.State != Advised || r.Plan.Cash != 0 || r.Plan.Class != Capacity || len(r.Plan.Returns) != 1 || r.Money.CashMean != 0 {
		t.Fatalf("%+v, %v", r.Plan, err)
	}
	if len(r.Refusals) != 1 || r.Refusals[0].Code != Committed || !strings.Contains(r.Refusals[0].Missing, "2027-06-30") {
		t.Errorf("%+v", r.Refusals)
	}
}

// TestRepackRefuses: whole GPUs do not fit on one node, so nothing goes; and of a
// node without a price it is not known what it saves.
func TestRepackRefuses(t *testing.T) {
	f := twoNodes(t, usd(t, "24"), 0)
	for i := range f.Pods {
		f.Pods[i].Need = packing.Need{GPUs: 1}
	}
	r, _, err := Repack(f, scope, nil)
	if err != nil || r.State != Refused || r.Plan != nil || r.Money != nil || !slices.Contains(codes(r.Recommendation), NoFit) {
		t.Errorf("%+v, %v", r.Recommendation, err)
	}
	f = twoNodes(t, 0, 0)
	f.Nodes[0].Hour, f.Nodes[1].Hour = nil, nil
	r, _, err = Repack(f, scope, nil)
	if err != nil || r.State != Advised || r.Money != nil || r.Plan.Class != Cash || !slices.Contains(codes(r.Recommendation), NoPrice) {
		t.Errorf("without a price: %+v, %+v, %v", r.Recommendation, r.Plan, err)
	}
	f.Pods[0].At.Node = "C"
	if _, _, err = Repack(f, scope, nil); err == nil || !strings.Contains(err.Error(), "emb/bge-0") {
		t.Errorf("a pod on no node: %v", err)
	}
}

// TestRepackTwice: the same fleet gives the same bytes.
func TestRepackTwice(t *testing.T) {
	f := twoNodes(t, usd(t, "24"), 0)
	one, _, _ := Repack(f, scope, sevenSlices(t))
	slices.Reverse(f.Pods)
	slices.Reverse(f.Nodes)
	two, _, _ := Repack(f, scope, sevenSlices(t))
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(two)
	if string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}
