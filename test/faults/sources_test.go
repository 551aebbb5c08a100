// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/test/stage"
)

// grantsUnknown: memory is measured and named, nobody knows who may use it, and
// nobody is accused of having no grant but those given here, of whom that was
// known before. The agent is ready all the same.
func (n *node) grantsUnknown(accused ...string) error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	if got := m.find("gputally_source_up", `source="pod_resources"`); len(got) != 1 || got[0] != 0 {
		return fmt.Errorf("the source is up: %v", got)
	}
	if got := m.find("gputally_partition_grants"); len(got) != 0 {
		return fmt.Errorf("%d GPUs have a number of grants, want none: they are not known", len(got))
	}
	return n.all(n.accused(accused...), n.holds("pod-0", 4*gib), n.holds("pod-1", 4*gib), n.ready())
}

// reservations is how many grants the agent counts with. While it cannot read
// them it keeps those of before, for pods whose process still runs on the GPU.
func (n *node) reservations(want int) error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	if got := m.find("gputally_memory_reserved_bytes"); len(got) != want {
		return fmt.Errorf("%d reservations, want %d", len(got), want)
	}
	return nil
}

func (n *node) grantsKnown() error {
	return n.all(n.is(1, "gputally_source_up", `source="pod_resources"`),
		n.is(1, "gputally_partition_grants", n.gpus[0].Get("uuid")),
		n.is(40*float64(gib), "gputally_memory_reserved_bytes", `workload_pod="pod-0"`))
}

// accused reports an error unless exactly these pods are said to use a GPU
// that they were not given.
func (n *node) accused(pods ...string) error {
	r, err := n.picture()
	if err != nil {
		return err
	}
	var got []string
	for _, f := range r.Findings {
		if f.Kind == attribution.UnallocatedUse {
			got = append(got, f.Holder.Pod)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(pods) {
		return fmt.Errorf("pods accused of using a GPU without a grant: %q, want %q", got, pods)
	}
	return nil
}

// TestKubeletSocketMissingAndRestarted: the agent starts before the kubelet;
// the kubelet comes, restarts, and comes again. A pod without a grant is accused
// once grants are known, and what was proven stays; a pod that comes while they
// are not known is not.
func TestKubeletSocketMissingAndRestarted(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.pod("intruder", n.gpus[0], gib)
	n.write()
	n.Kubelet.Down()
	n.start(stage.Run{})
	n.eventually("grants are unknown", func() error {
		return n.all(n.grantsUnknown(), n.reservations(0), n.holds("intruder", gib))
	})
	n.must(n.Kubelet.Up())
	n.eventually("grants are known, and the intruder found", func() error { return n.all(n.grantsKnown(), n.accused("intruder")) })
	n.Kubelet.Down()
	n.pod("newcomer", n.gpus[1], gib)
	n.write()
	n.eventually("grants are unknown while the kubelet restarts", func() error {
		return n.all(n.holds("newcomer", gib), n.grantsUnknown("intruder"), n.reservations(2))
	})
	n.must(n.Kubelet.Up())
	n.eventually("grants are known again", func() error { return n.all(n.grantsKnown(), n.accused("intruder", "newcomer")) })
	sum, _ := timesOf(n.stopped(), n.id(0))
	if sum.grantsUnknown == 0 || sum.grantsUnknown >= sum.measured {
		t.Errorf("grants were unknown for %d of %d ms, want a part of them", sum.grantsUnknown, sum.measured)
	}
}

// TestKubeletSocketUnreadable: a path that is no socket, and a socket whose
// server is dead and never answers.
func TestKubeletSocketUnreadable(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	n.Kubelet.Down()
	n.must(os.WriteFile(n.Kubelet.Socket, nil, 0o600))
	n.eventually("grants are unknown behind a plain file", func() error { return n.grantsUnknown() })
	n.must(os.Remove(n.Kubelet.Socket))
	mute, err := net.Listen("unix", n.Kubelet.Socket)
	n.must(err)
	samples := n.number("gputally_agent_samples_total")
	n.eventually("sampling goes on beside a mute socket", func() error {
		return n.all(n.grantsUnknown(), n.more(samples+3, "gputally_agent_samples_total"))
	})
	n.must(mute.Close())
	n.must(n.Kubelet.Up())
	n.eventually("grants are known again", n.grantsKnown)
}

// TestAPIOutage: names come from the cache, its age is said, and readiness has
// nothing to do with it. What happened meanwhile is known afterwards.
func TestAPIOutage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	n.eventually("the API server is read", func() error { return n.is(1, "gputally_source_up", `source="kubernetes"`) })
	n.must(n.API.Down())
	n.pod("late", n.gpus[1], gib, n.gpus[1].Get("uuid"))
	n.write()
	n.eventually("the outage is told, with its age", func() error {
		return n.all(n.is(0, "gputally_source_up", `source="kubernetes"`), n.more(1, "gputally_source_stale_seconds", `source="kubernetes"`))
	})
	time.Sleep(3 * time.Second)
	n.must(n.all(n.holds("pod-0", 4*gib), n.holds("pod-1", 4*gib), n.ready(), n.logged("source fails", "kubernetes")))
	n.must(n.API.Up())
	n.eventually("the pod of the outage has its name", func() error {
		return n.all(n.is(1, "gputally_source_up", `source="kubernetes"`), n.holds("late", gib))
	})
}

// TestStartDuringAPIOutage: without a cache the holders are there under their
// UIDs, and get their names once the server answers.
func TestStartDuringAPIOutage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.must(n.API.Down())
	n.start(stage.Run{})
	n.eventually("memory is measured without names", func() error {
		r, err := n.picture()
		if err != nil {
			return err
		}
		for _, p := range r.Partitions {
			if len(p.Holdings) != 1 || p.Holdings[0].Holder.PodUID == "" || p.Holdings[0].Bytes == nil || *p.Holdings[0].Bytes != 4*gib {
				return fmt.Errorf("holdings %+v, want one of a pod with a UID and 4 GiB", p.Holdings)
			}
		}
		return n.all(n.ready(), n.accused())
	})
	n.must(n.API.Up())
	n.eventually("the holders have their names", func() error { return n.all(n.holds("pod-0", 4*gib), n.holds("pod-1", 4*gib)) })
}
