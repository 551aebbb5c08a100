// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

func specOn(name, device string) stage.PodSpec {
	return stage.PodSpec{Namespace: "ns", Name: name, Resource: gpuResource, Devices: []string{device}}
}

func mig(index, gi int) string { return mocknvml.MIGUUID(index, gi, 0) }

// TestDriverReload: the driver is unloaded, and another version loaded. The
// GPUs are unmeasured with a reason meanwhile, and measured afterwards by the
// same process.
func TestDriverReload(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	n.NVML.Driver("none")
	n.write()
	n.eventually("nothing is measured, and the source says why", func() error {
		p, err := n.whole(0)
		if err != nil {
			return err
		}
		if p.State == gpu.StateOK || p.Reason == "" || p.Used != nil {
			return fmt.Errorf("GPU 0 is %s (%q)", p.State, p.Reason)
		}
		return n.all(n.is(0, "gputally_source_up", `source="nvml"`), n.ready())
	})
	n.NVML.Driver("575.2")
	n.write()
	n.within(90*time.Second, "both GPUs are measured under the new driver", func() error {
		return n.all(n.state(0, gpu.StateOK), n.state(1, gpu.StateOK), n.holds("pod-0", 4*gib), n.is(1, "gputally_nvml_info", `driver_version="575.2"`))
	})
	n.NVML.Driver("580.3") // replaced at once, as a package upgrade does
	n.write()
	n.within(90*time.Second, "the next driver is in use", func() error {
		return n.all(n.state(0, gpu.StateOK), n.holds("pod-0", 4*gib), n.is(1, "gputally_nvml_info", `driver_version="580.3"`))
	})
	if err := n.more(0, "gputally_device_events_total", `kind="driver_reload"`, n.gpus[0].Get("uuid")); err != nil {
		t.Error(err)
	}
	all := n.stopped()
	checkTiled(t, all)
	if sum, reasons := timesOf(all, n.id(0)); sum.unmeasured == 0 || sum.measured == 0 || len(reasons) == 0 {
		t.Errorf("%+v because of %q; want measured and unmeasured time", sum, reasons)
	}
}

// TestUnusableDriverEndsWithCode3: the library of the process does not fit the
// driver any more, however often it is opened. After a minute the agent ends
// with code 3, for its supervisor to start it again, and loses nothing.
func TestUnusableDriverEndsWithCode3(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.begin()
	n.NVML.Fault(nil, "lib_mismatch", "*")
	n.write()
	select {
	case <-n.agent.Done():
	case <-time.After(150 * time.Second):
		t.Fatal("the agent did not end")
	}
	if code := n.agent.ExitCode(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	all := records(t, n.agent.Spool)
	checkTiled(t, all)
	sum, _ := timesOf(all, n.id(0))
	if sum.measured == 0 || sum.unmeasured < 20000 {
		t.Errorf("%+v; want the time before the fault measured, and the rest named unmeasured", sum)
	}
}
