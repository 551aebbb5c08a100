// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// others checks that GPU 0 is measured through a stretch of trouble on GPU 1:
// its byte-seconds grow nearly as fast as time passes. A machine under load may
// take a sample late, so a third may be missing.
func (n *node) others(span time.Duration) {
	n.t.Helper()
	const name = "gputally_memory_byte_seconds_total"
	before, began := n.number(name, `workload_pod="pod-0"`), time.Now()
	time.Sleep(span)
	grown := n.number(name, `workload_pod="pod-0"`) - before
	if want := time.Since(began).Seconds() * float64(4*gib) * 2 / 3; grown < want {
		n.t.Errorf("byte-seconds of the pod on the other GPU grew by %.3g in %s, want %.3g or more", grown, span, want)
	}
}

// TestHungCall: a call about one GPU does not return. That GPU is unmeasured
// with a reason; the other is sampled on time; the first comes back.
func TestHungCall(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	fault := n.NVML.Fault(n.gpus[1], "hang", "*")
	n.write()
	n.eventually("the GPU counts as hung", func() error { return n.state(1, gpu.StateHung) })
	p, err := n.whole(1)
	n.must(err)
	if p.Reason == "" || p.Used != nil || p.Free != nil || len(p.Holdings) > 0 && p.Holdings[0].Bytes != nil {
		t.Errorf("a hung GPU has figures or no reason: %+v", p)
	}
	n.others(8 * time.Second)
	n.must(n.all(n.ready(), n.logged("partition changed state", n.gpus[1].Get("uuid"), "hung")))
	fault.Remove()
	n.write()
	n.eventually("the GPU is measured again", func() error { return n.all(n.state(1, gpu.StateOK), n.holds("pod-1", 4*gib)) })
	all := n.stopped()
	sum, reasons := timesOf(all, n.id(1))
	if sum.unmeasured < 7000 || len(reasons) == 0 {
		t.Errorf("the hung GPU: %+v because of %q; want 7000 ms or more unmeasured", sum, reasons)
	}
	if other, _ := timesOf(all, n.id(0)); other.measured <= sum.measured {
		t.Errorf("measured: %d ms of the other GPU, %d of the hung one", other.measured, sum.measured)
	}
}

// TestLostGPU: a GPU that fell off the bus is unavailable: no time in which it
// could have been used. The other goes on.
func TestLostGPU(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	n.NVML.XID(n.gpus[1], 79)
	n.NVML.Fault(n.gpus[1], "lost", "*")
	n.write()
	n.eventually("the GPU counts as lost", func() error { return n.state(1, gpu.StateLost) })
	n.others(6 * time.Second)
	n.must(n.all(n.ready(), n.logged("partition changed state", n.gpus[1].Get("uuid"), "lost")))
	m, err := n.metrics()
	n.must(err)
	if got := m.find("gputally_partition_memory_bytes", n.gpus[1].Get("uuid")); len(got) != 0 {
		t.Errorf("a lost GPU has %d series of memory, want none", len(got))
	}
	sum, reasons := timesOf(n.stopped(), n.id(1))
	if sum.unavailable < 5000 || len(reasons) == 0 {
		t.Errorf("the lost GPU: %+v because of %q; want 5000 ms or more unavailable", sum, reasons)
	}
}

// splitGPU adds a third GPU, in MIG mode with two instances; on the first, a
// pod holds memory.
func (n *node) splitGPU() {
	n.t.Helper()
	g := n.NVML.GPU("a100-40gb", "mig=1")
	n.gpus = append(n.gpus, g)
	m := n.NVML.MIG(g, "3g.20gb", 1, 0, "start=0")
	n.NVML.MIG(g, "2g.10gb", 3, 0, "start=4")
	n.tenant("tenant", m.Get("uuid"), 1)
	n.write()
}

func (n *node) tenant(name, device string, gi int) {
	n.t.Helper()
	p, err := n.Run(specOn(name, device))
	n.must(err)
	proc, err := p.Process("trainer")
	n.must(err)
	n.NVML.Proc(n.gpus[2], proc.PID, 2*gib, fmt.Sprintf("gi=%d", gi), "ci=0")
}

// instances are the MIG instances of a picture, with profile.
func instances(r *attribution.Result) (out []string) {
	for _, p := range r.Partitions {
		if p.ID.IsInstance() {
			out = append(out, p.ID.String()+" "+p.Profile)
		}
	}
	return out
}

// TestMIGLayoutChanges: while the agent runs, an instance is destroyed and its
// id given to one of another size. They are two partitions, each with its own
// records; the other instance does not notice.
func TestMIGLayoutChanges(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	g := n.NVML.GPU("a100-40gb", "mig=1")
	n.gpus = append(n.gpus, g)
	old := n.NVML.MIG(g, "3g.20gb", 1, 0, "start=0")
	n.NVML.MIG(g, "2g.10gb", 3, 0, "start=4")
	n.tenant("stays", mig(2, 3), 3)
	n.write()
	n.begin()
	n.eventually("both instances are there", func() error { return n.layout("gi1@ 3g.20gb", "gi3@ 2g.10gb") })
	before, err := n.picture()
	n.must(err)

	old.Remove()
	n.write()
	n.eventually("one instance is gone", func() error { return n.layout("gi3@ 2g.10gb") })
	n.NVML.MIG(g, "1g.5gb", 1, 0, "start=0", "uuid=MIG-11111111-2222-4333-8444-555555555555")
	n.write()
	n.eventually("the id is used again", func() error { return n.layout("gi1@ 1g.5gb", "gi3@ 2g.10gb") })
	after, err := n.picture()
	n.must(err)
	a, b := instances(before), instances(after)
	if a[1] != b[1] {
		t.Errorf("the instance that stayed was %s and is %s", a[1], b[1])
	}
	if strings.Fields(a[0])[0] == strings.Fields(b[0])[0] {
		t.Errorf("two instances are both called %s", a[0])
	}
	n.must(n.all(n.holds("stays", 2*gib), n.ready(), n.holds("pod-0", 4*gib)))
	profiles := map[string]int{}
	for _, batch := range n.stopped() {
		for _, p := range batch.Partitions {
			if p.Partition.IsInstance() {
				profiles[p.Partition.String()+" "+p.Profile]++
			}
		}
	}
	for _, want := range []string{a[0], b[0], b[1]} {
		if profiles[want] == 0 {
			t.Errorf("no record of %s; there are %v", want, profiles)
		}
	}
}

// layout compares the instances, without the time each was first seen.
func (n *node) layout(want ...string) error {
	r, err := n.picture()
	if err != nil {
		return err
	}
	var got []string
	for _, p := range r.Partitions {
		if p.ID.IsInstance() && p.State == gpu.StateOK {
			got = append(got, fmt.Sprintf("gi%d@ %s", p.ID.Instance, p.Profile))
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("instances %q, want %q", got, want)
	}
	return nil
}
