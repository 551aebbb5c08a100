// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"log/slog"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// reading is one reading of one device. It belongs to the device's worker
// until that is done, and to the Source after.
type reading struct {
	*calls
	lib      *library
	handle   binding.Device
	nameless bool // the device has no UUID to check
	past     *history
	settings *settings
	nowMS    int64 // Unix milliseconds

	out sample.Device
	// ret is the code that ended the reading early, if one did.
	ret binding.Return
	// renamed: the handle names another device than it did.
	renamed bool
	// inInstance: a MIG instance is being read; vanished: it is not there.
	inInstance, vanished bool
}

// settings are the parts of Options that a reading needs.
type settings struct {
	meminfo string
	// instances says since when the MIG instances of an earlier process were
	// there, in Unix milliseconds, by name.
	instances map[gpu.UUID]int64
	log       *slog.Logger
}

// history is what one reading leaves for the next of the same device. It
// belongs to the device's worker.
type history struct {
	lib   *library // all below is void with another library
	facts *sample.Device
	// registered: events of this device are being delivered.
	registered bool
	// utilSeen is the newest time stamp of the process samples seen so far.
	utilSeen   uint64
	utilPrimed bool
	gpm        map[uint32]*gpmPair
	gpmAnswer  *bool
	layout     layout
	accounting accounting
}

// fresh forgets what another library said.
func (h *history) fresh(lib *library) {
	if h.lib == lib {
		return
	}
	// MIG instances do not outlive the driver: after a reload those that are
	// there are new ones, even under the same UUID. They do outlive a library
	// that was only started again.
	l := layout{restored: h.lib != nil}
	if h.lib != nil && h.lib.reloads == lib.reloads {
		l.instances = h.layout.instances
	}
	*h = history{lib: lib, gpm: map[uint32]*gpmPair{}, layout: l}
}

// run reads the device. What cannot be done without comes first; after that,
// what fails is nil and nothing more.
func (r *reading) run() {
	defer r.end()
	defer r.contain()
	r.past.fresh(r.lib)
	r.identify()
	r.register()
	r.occupancy()
	if r.failed() {
		return
	}
	r.out.State = gpu.StateOK
	r.computeMode()
	r.power()
	if !r.out.MIG {
		r.utilization()
		r.processUtilization()
		r.account()
		r.pcie()
	}
	r.gpmSignals()
}

// contain turns a panic of the binding into an unreadable device.
func (r *reading) contain() {
	if p := recover(); p != nil {
		r.out.State = gpu.StateUnreadable
		r.out.Reason = fmt.Sprintf("the NVML binding failed in %s: %v", r.current(), p)
	}
}

func (c *calls) current() string {
	return c.symbols.Load().name(symbol(c.call.Load()))
}

func (r *reading) failed() bool { return r.out.State != "" && r.out.State != gpu.StateOK }

// begin reports whether a call may be made: its symbol exists, somebody still
// waits for the answer, and nothing has ended the reading.
func (r *reading) begin(s symbol) bool { return !r.failed() && r.calls.begin(s) }

// ok judges the answer to the call that was begun last, for a reading that can
// be done without.
func (r *reading) ok(ret binding.Return) bool {
	if endsReading(ret) {
		r.fail(ret)
	}
	return ret == binding.SUCCESS
}

// must is ok for a reading that cannot be done without, unless the device
// simply does not have it. A MIG instance may be destroyed while it is read:
// then its handle is no longer known, which is no fault of the device.
func (r *reading) must(ret binding.Return) bool {
	switch {
	case ret == binding.SUCCESS, absent(ret):
	case r.inInstance && r.gone(ret):
	default:
		r.fail(ret)
	}
	return ret == binding.SUCCESS
}

// gone notes whether an answer says that there is no such instance.
func (r *reading) gone(ret binding.Return) bool {
	gone := ret == binding.ERROR_INVALID_ARGUMENT || ret == binding.ERROR_NOT_FOUND
	r.vanished = r.vanished || gone
	return gone
}

// fail ends the reading because of the call that was begun last.
func (r *reading) fail(ret binding.Return) {
	if r.failed() {
		return
	}
	r.ret = ret
	r.out.State, r.out.Reason = stateOf(ret), failure(r.current(), ret)
	if ret == binding.ERROR_LIB_RM_VERSION_MISMATCH {
		r.out.Reason = reasonReloaded
	}
}

const reasonReloaded = "driver reloaded: waiting until the library is loaded again"

// occupancy reads what the bill is made of: memory and processes.
func (r *reading) occupancy() {
	if r.migMode() {
		r.out.MIG = true
		r.inspectMIG()
		return
	}
	r.leaveMIG()
	h := r.holdings(r.handle, []binding.Device{r.handle})
	r.out.Memory, r.out.Processes = h.memory, h.processes()
	if h.unified {
		r.out.UnifiedMemory = true
		r.out.HostMemory = hostMemory(r.settings.meminfo)
	}
}
