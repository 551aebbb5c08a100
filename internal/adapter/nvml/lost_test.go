// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/mocknvml"
)

func TestLostDevice(t *testing.T) {
	for _, kind := range []string{"lost", "reset_required"} {
		t.Run(kind, func(t *testing.T) {
			n := newNode(t)
			bad := n.state.GPU("a100-40gb")
			n.state.GPU("t4")
			n.open()
			was := n.good()[0]
			fault := n.state.Fault(bad, kind, "*")
			n.rewrite()
			_, devices := n.sample()
			d := devices[0]
			equal(t, "states", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
			if d.UUID != was.UUID || d.PCIBusID != was.PCIBusID || d.Name != was.Name || d.Memory != nil || d.Reason == "" {
				t.Errorf("lost device %+v", d)
			}

			// It is left alone, although it would answer, until it is time to ask.
			fault.Remove()
			n.rewrite()
			_, devices = n.sample()
			equal(t, "soon after", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
			n.at = n.at.Add(n.opts.LostProbe)
			_, devices = n.sample()
			equal(t, "later", states(devices), []gpu.State{gpu.StateOK, gpu.StateOK})
		})
	}
}

func TestLostFromTheStart(t *testing.T) {
	n := newNode(t)
	bad := n.state.GPU("a100-40gb")
	n.state.GPU("t4")
	fault := n.state.Fault(bad, "lost", "*")
	n.open()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateLost, gpu.StateOK})
	equal(t, "name", devices[0].UUID, "node/0")
	fault.Remove()
	n.rewrite()
	n.at = n.at.Add(n.opts.LostProbe)
	if d := n.good(); len(d) != 2 || d[0].UUID != gpu.UUID(mocknvml.UUID(0)) {
		t.Errorf("devices %+v", d)
	}
}

func TestForbiddenDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("t4")
	bad := n.state.GPU("t4")
	n.open()
	n.good()
	n.state.Fault(bad, "operating_system", "nvmlDeviceGetHandleByIndex_v2")
	n.rewrite()
	_, devices := n.sample()
	equal(t, "states", states(devices), []gpu.State{gpu.StateOK, gpu.StateUnreadable})
	if !strings.Contains(devices[1].Reason, "blocked by the operating system") {
		t.Errorf("reason %s", devices[1].Reason)
	}
}

func TestVanishedDevice(t *testing.T) {
	n := newNode(t)
	n.state.GPU("a100-40gb")
	gone := n.state.GPU("t4")
	n.open()
	n.good()
	gone.Remove()
	n.rewrite()
	for range 3 {
		_, devices := n.sample()
		equal(t, "states", states(devices), []gpu.State{gpu.StateOK, gpu.StateLost})
		if d := devices[1]; d.Reason != reasonGone || d.UUID != gpu.UUID(mocknvml.UUID(1)) || d.Name != "Tesla T4" {
			t.Errorf("vanished device %+v", d)
		}
	}
	// After the driver was reloaded and lists the same twice, it is forgotten.
	n.state.Driver("580.1")
	n.rewrite()
	n.sample()
	_, devices := n.sample()
	_, after := n.sample()
	if len(after) != 1 {
		t.Errorf("devices after the reload: %v, then %v", states(devices), states(after))
	}
}
