// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

// gather samples until a device has told as many events as wanted.
func (n *node) gather(index, want int) (got []sample.Event) {
	n.Helper()
	for range 300 {
		got = append(got, n.good()[index].Events...)
		if len(got) >= want {
			return got
		}
		time.Sleep(10 * time.Millisecond)
	}
	n.Fatalf("got %+v, want %d events", got, want)
	return nil
}

func TestEvents(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	g := n.state.GPU("h100", "mig=1")
	n.state.MIG(g, "1g.10gb", 7, 0)
	n.open()
	n.good()
	n.state.XID(g, 79)
	n.state.XID(g, 13, "gi=7", "ci=0")
	n.state.Event(g, "type=recovery", "data=1")
	n.state.Event(g, "type=unavailable", "data=1")
	n.state.Event(g, "type=sbe", "data=1") // not asked for
	n.rewrite()
	equal(t, "events", n.gather(1, 4), []sample.Event{
		{Kind: "xid", XID: 79},
		{Kind: "xid", XID: 13, Instance: new(uint32(7))},
		{Kind: "recovery_action", Detail: "reset the GPU"},
		{Kind: "gpu_unavailable"},
	})
	for _, d := range n.good() {
		equal(t, "told once, and to nobody else", d.Events, nil)
	}
}

// A GPU falls off the bus: its XID and its state come together or in either
// order, but both come.
func TestEventOfALostDevice(t *testing.T) {
	n := newNode(t)
	g := n.state.GPU("h100")
	n.open()
	n.good()
	n.state.XID(g, 79)
	n.state.Fault(g, "lost", "nvmlDeviceGet*")
	n.rewrite()
	for range 300 {
		_, devices := n.sample()
		if len(devices[0].Events) > 0 {
			equal(t, "events", devices[0].Events, []sample.Event{{Kind: "xid", XID: 79}})
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("no event came")
}
