// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// machine is the node of the tests, with changes.
func machine(change ...func(*attribution.Machine)) *attribution.Machine {
	m := &attribution.Machine{ProviderID: "test:///1", Labels: map[string]string{"zone": "a"}, CPUMilli: 96000, MemoryBytes: 1 << 40}
	for _, f := range change {
		f(m)
	}
	return m
}

func cordoned(m *attribution.Machine) { m.Unschedulable = true }
func bigger(m *attribution.Machine)   { m.CPUMilli *= 2 }
func movedTo2(m *attribution.Machine) { m.ProviderID = "test:///2" }
func restamped(m *attribution.Machine) {
	m.Labels = map[string]string{"zone": "a", "nvidia.com/gfd.timestamp": "177"}
}

// nodeAt is a sample that says what the node is; nil is nobody says it.
func nodeAt(sec float64, m *attribution.Machine, ps ...attribution.Partition) attribution.Result {
	r := at(sec, ps...)
	r.Machine = m
	return r
}

// every holds samples from a second to another, five apart.
func every(from, to int, m *attribution.Machine) (out []attribution.Result) {
	for sec := from; sec < to; sec += 5 {
		out = append(out, nodeAt(float64(sec), m, gpu0(gib)))
	}
	return out
}

func steps(parts ...[]attribution.Result) (out []attribution.Result) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// said is what the windows say of the node, a line each.
func said(bs []usage.Batch) string {
	var s strings.Builder
	for _, b := range bs {
		fmt.Fprintf(&s, "%g: %s", float64(b.StartMS-noon.UnixMilli())/1000, b.ProviderID)
		if b.Shape != nil {
			fmt.Fprintf(&s, " %d CPUs, %d labels, slots %v", b.Shape.CPUMilli/1000, len(b.Shape.Labels), b.Shape.Slots)
		}
		for _, u := range b.Unschedulable {
			fmt.Fprintf(&s, " off %g+%g", float64(u.StartMS-noon.UnixMilli())/1000, float64(u.DurationMS)/1000)
		}
		s.WriteString("\n")
	}
	return s.String()
}

func saysOfNode(t *testing.T, bs []usage.Batch, text string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(text, "\n"), said(bs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestShapeIsToldWhereItIsNeeded: in the first window, in the first of each hour,
// and where it changed; not because somebody stamped a time on the node.
func TestShapeIsToldWhereItIsNeeded(t *testing.T) {
	bs := run(t, 3900, steps(every(3300, 3480, machine()), every(3480, 3500, machine(restamped)), every(3500, 3720, machine()), every(3720, 3900, machine(bigger)))...)
	saysOfNode(t, bs, `
3300: test:///1 96 CPUs, 1 labels, slots [{ }]
3360: test:///1
3420: test:///1
3480: test:///1
3540: test:///1
3600: test:///1 96 CPUs, 1 labels, slots [{ }]
3660: test:///1
3720: test:///1 192 CPUs, 1 labels, slots [{ }]
3780: test:///1
3840: test:///1
`)
}

// TestUnknownNode: nothing is told of it until somebody says what it is, and what
// was said stands while nobody does. The id of the machine counts as it stood
// last in the window.
func TestUnknownNode(t *testing.T) {
	bs := run(t, 300, steps(every(0, 90, nil), every(90, 180, machine()), every(180, 270, nil), every(270, 300, machine(movedTo2)))...)
	saysOfNode(t, bs, "\n"+
		"0: \n"+
		"60: test:///1 96 CPUs, 1 labels, slots [{ }]\n"+
		"120: test:///1\n"+
		"180: test:///1\n"+
		"240: test:///2\n")
}

// TestCordonedTimes: from the sample that says it until the one that does not,
// cut at windows; not where nobody looked.
func TestCordonedTimes(t *testing.T) {
	bs := run(t, 240, steps(every(0, 30, machine()), every(30, 75, machine(cordoned)), every(75, 100, machine()), every(100, 120, machine(cordoned)),
		every(200, 240, machine(cordoned)))...)
	saysOfNode(t, bs, `
0: test:///1 96 CPUs, 1 labels, slots [{ }] off 30+30
60: test:///1 off 60+15 off 100+15
120: test:///1
180: test:///1 off 200+40
`)
}

// TestSlotsOfTheNode: a place that had a card is the node's for good, one without
// an address counts while it is there.
func TestSlotsOfTheNode(t *testing.T) {
	card := func(id gpu.UUID, slot, model string) attribution.Partition {
		p := gpu0(gib)
		p.ID, p.Slot, p.Model = gpu.Whole(id), slot, model
		return p
	}
	instance := card("GPU-a", "0000:01:00.0", "A100")
	instance.ID.Instance = 7
	both := []attribution.Partition{card("GPU-a", "0000:01:00.0", "A100"), instance, card("GPU-b", "0000:02:00.0", "A100")}
	bs := run(t, 240,
		nodeAt(0, machine(), both...), nodeAt(60, machine(), both[:2]...),
		nodeAt(120, machine(), card("GPU-c", "0000:02:00.0", "H100"), card("GPU-d", "", "B200"), card("GPU-e", "", "B200")),
		nodeAt(180, machine(), card("GPU-d", "", "B200")))
	var got []string
	for _, b := range bs {
		if b.Shape != nil {
			got = append(got, fmt.Sprint((b.StartMS-noon.UnixMilli())/1000, b.Shape.Slots))
		}
	}
	want := []string{
		"0 [{0000:01:00.0 A100} {0000:02:00.0 A100}]",
		"120 [{ B200} { B200} {0000:01:00.0 A100} {0000:02:00.0 H100}]",
		"180 [{ B200} {0000:01:00.0 A100} {0000:02:00.0 H100}]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGapNamesTheMachine: also the batch that says that nothing was seen for days.
func TestGapNamesTheMachine(t *testing.T) {
	const days = 3 * 86_400
	bs := run(t, days+10, nodeAt(0, machine(cordoned), gpu0(gib)), nodeAt(5, machine(cordoned), gpu0(gib)), nodeAt(days, machine(), gpu0(gib)))
	gaps := 0
	for _, b := range bs {
		if b.Gap != nil {
			gaps++
			if b.Shape != nil || b.Unschedulable != nil {
				t.Errorf("a gap has a shape or cordoned times: %+v", b)
			}
		}
		if b.ProviderID != "test:///1" {
			t.Errorf("window %d is of machine %q", b.Seq, b.ProviderID)
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps", gaps)
	}
}

// TestPodsKeepWhatTheyBelongTo: owner and labels as they stood last in the window,
// and through a time in which the pod's object is not known.
func TestPodsKeepWhatTheyBelongTo(t *testing.T) {
	with := func(sec float64, owner, team string, known bool) attribution.Result {
		r := at(sec)
		p := attribution.PodResult{Holder: workload.Holder{Kind: workload.KindPod, PodUID: "u"}}
		if known {
			p.Holder.Namespace, p.Holder.Pod = "ns", "p"
			p.Owner = workload.Owner{Kind: "Job", Name: owner}
			if team != "" {
				p.Labels = map[string]string{"team": team}
			}
		}
		r.Pods = []attribution.PodResult{p}
		return r
	}
	bs := run(t, 240, with(0, "j", "a", true), with(30, "j", "b", true), with(60, "", "", false), with(120, "j", "", true), with(180, "k", "c", true))
	var got []string
	for _, b := range bs {
		for _, p := range b.Pods {
			got = append(got, fmt.Sprint(p.Owner.Name, p.Labels))
		}
	}
	if diff := cmp.Diff([]string{"jmap[team:b]", "jmap[team:b]", "jmap[]", "kmap[team:c]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWhatIsToldBesideTheShape: what a model's MIG profiles are stands in the shape
// from when they were told, also while the card is not read; what other pods ask for
// stands in every window, as it stood last, and not where nobody knows it.
func TestWhatIsToldBesideTheShape(t *testing.T) {
	card := attribution.Card{Model: "A100", CapacityBytes: 80 * gib, MemorySlices: 8}
	knows := machine(func(m *attribution.Machine) { m.Cards, m.AllocatableCPUMilli = []attribution.Card{card}, 95000 })
	forgets := machine(func(m *attribution.Machine) { m.AllocatableCPUMilli = 95000 })
	in := usage.New(testConfig)
	var got []string
	for i, r := range steps(every(0, 60, machine()), every(60, 120, knows), every(120, 181, forgets)) {
		if i < 30 {
			r.Others = &attribution.OtherPods{Requests: attribution.Requests{Pods: 1, CPUMilli: int64(i)}}
		}
		for _, b := range in.Add(r) {
			line := fmt.Sprintf("%v", b.Shape != nil)
			if b.Shape != nil {
				line += fmt.Sprintf(" %d cards, %d may be had", len(b.Shape.Cards), b.Shape.AllocatableCPUMilli)
			}
			if b.Others != nil {
				line += fmt.Sprintf(", others %d", b.Others.CPUMilli)
			}
			if err := b.Check(); err != nil {
				t.Error(err)
			}
			got = append(got, line)
		}
	}
	want := []string{"true 0 cards, 0 may be had, others 11", "true 1 cards, 95000 may be had, others 23", "false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
