// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/test/mocknvml"
)

// The state changes at random all the while it is read, faster than any driver
// could: processes, MIG layouts, events. Whatever a sample sees is well formed.
func TestChurn(t *testing.T) {
	n := newNode(t)
	whole := n.state.GPU("h100")
	sliced := n.state.GPU("h100", "mig=1")
	n.open()
	done := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- churn(ctx, n.state, whole, sliced) }()
	for range 300 {
		_, devices := n.sample()
		for _, d := range devices {
			wellFormed(t, d)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func churn(ctx context.Context, s *mocknvml.State, whole, sliced *mocknvml.Line) error {
	rng := rand.New(rand.NewPCG(1, 2))
	processes, instances := map[int]*mocknvml.Line{}, map[int][]*mocknvml.Line{}
	for ctx.Err() == nil {
		pid, gi := 1+rng.IntN(40), rng.IntN(7)
		if line, ok := processes[pid]; ok {
			line.Remove()
			delete(processes, pid)
		} else {
			processes[pid] = s.Proc(whole, pid, uint64(rng.IntN(1000))*mib, "sm=3", "kind=compute+mps")
		}
		if lines, ok := instances[gi]; ok {
			for _, l := range lines {
				l.Remove()
			}
			delete(instances, gi)
		} else {
			id := fmt.Sprintf("gi=%d", gi+7)
			instances[gi] = []*mocknvml.Line{
				s.Proc(sliced, 100+gi, gib, id, "ci=0"), s.MIG(sliced, "1g.10gb", gi+7, 0, fmt.Sprintf("start=%d", gi)),
			}
			instances[gi][0].Remove() // a process stands after its instance
			instances[gi][0] = s.Proc(sliced, 100+gi, gib, id, "ci=0")
		}
		if rng.IntN(10) == 0 {
			s.XID(whole, 13)
		}
		if err := s.Write(); err != nil {
			return err
		}
	}
	return nil
}

func wellFormed(t *testing.T, d sample.Device) {
	t.Helper()
	if d.State != gpu.StateOK {
		if d.Reason == reasonTooFast {
			return
		}
		t.Errorf("device %s is %s: %s", d.UUID, d.State, d.Reason)
	}
	noTwins(t, d.Processes)
	seen := map[uint32]bool{}
	for _, i := range d.Instances {
		if seen[i.ID] || i.SinceMS == 0 || i.Placement.Size != 1 || i.Profile != "1g.10gb" {
			t.Errorf("instance %+v", i)
		}
		seen[i.ID] = true
		noTwins(t, i.Processes)
	}
}

func noTwins(t *testing.T, processes []sample.Held) {
	t.Helper()
	seen := map[int]bool{}
	for _, p := range processes {
		if seen[p.PID] {
			t.Errorf("process %d is there twice", p.PID)
		}
		seen[p.PID] = true
	}
}
