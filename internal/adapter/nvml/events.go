// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"sync"
	"time"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// The names of events, as they stand in sample.Event.
const (
	eventXID            = "xid"
	eventUnavailable    = "gpu_unavailable"
	eventRecoveryAction = "recovery_action"
	eventDriverReload   = "driver_reload"
	eventMIGLayout      = "mig_layout"
)

// eventTypes are the events worth a thread: what makes a GPU unusable.
const eventTypes = binding.EventTypeXidCriticalError | binding.EventTypeGpuUnavailableError | binding.EventTypeGpuRecoveryAction

// eventWait is how long one wait lasts. The thread blocks in the driver
// meanwhile, and closing the library waits for it; coming back to wait again
// wakes Go's scheduler, which costs more than the call. Tests shorten it.
var eventWait = time.Second

const (
	// eventPause follows a wait that failed, so that a broken event set does
	// not spin.
	eventPause = time.Second
	// maxEvents bounds what is kept of a GPU that reports without end.
	maxEvents = 256
)

// eventLoop waits for events of one loaded library and keeps them per device
// until they are drained.
type eventLoop struct {
	set     binding.EventSet // nil: this driver has no events
	symbols *symbolTable
	quit    chan struct{}
	done    chan struct{}
	once    sync.Once

	mu  sync.Mutex
	got map[binding.Device][]sample.Event
}

// newEventLoop makes the event set. The loop has to be run once devices are
// registered.
func newEventLoop(c *calls, lib *library) *eventLoop {
	e := &eventLoop{
		symbols: lib.symbols,
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
		got:     map[binding.Device][]sample.Event{},
	}
	for _, s := range []symbol{symEventSetWait, symEventTypes, symRegisterEvents, symEventSetFree} {
		if !lib.symbols.has(s) {
			return e
		}
	}
	if c.begin(symEventSetCreate) {
		if set, ret := lib.nv.EventSetCreate(); ret == binding.SUCCESS {
			e.set = set
		}
		c.end()
	}
	return e
}

// run begins to wait for events; later calls do nothing.
func (e *eventLoop) run() {
	if e.set == nil {
		return
	}
	e.once.Do(func() { go e.loop() })
}

func (e *eventLoop) loop() {
	defer close(e.done)
	for {
		select {
		case <-e.quit:
			return
		default:
		}
		data, ret := e.set.Wait(uint32(eventWait / time.Millisecond))
		switch ret {
		case binding.SUCCESS:
			e.keep(data)
		case binding.ERROR_TIMEOUT:
		default:
			select {
			case <-e.quit:
				return
			case <-time.After(eventPause):
			}
		}
	}
}

func (e *eventLoop) keep(data binding.EventData) {
	event, ok := eventOf(data)
	if !ok {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.got[data.Device]) < maxEvents {
		e.got[data.Device] = append(e.got[data.Device], event)
	}
}

// drain returns and forgets the events of a device.
func (e *eventLoop) drain(device binding.Device) []sample.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := e.got[device]
	delete(e.got, device)
	return events
}

// stop ends the loop and frees the event set. It reports false when the thread
// did not come back from the driver in time.
func (e *eventLoop) stop(c *calls) bool {
	if e == nil || e.set == nil {
		return true
	}
	close(e.quit)
	e.once.Do(func() { close(e.done) }) // it was never run
	select {
	case <-e.done:
	case <-time.After(eventWait + eventPause):
		return false
	}
	c.symbols.Store(e.symbols)
	if c.begin(symEventSetFree) {
		e.set.Free()
		c.end()
	}
	return true
}

func eventOf(data binding.EventData) (sample.Event, bool) {
	var e sample.Event
	switch data.EventType {
	case binding.EventTypeXidCriticalError:
		e = sample.Event{Kind: eventXID, XID: data.EventData}
	case binding.EventTypeGpuUnavailableError:
		e = sample.Event{Kind: eventUnavailable}
	case binding.EventTypeGpuRecoveryAction:
		e = sample.Event{Kind: eventRecoveryAction, Detail: recoveryAction(data.EventData)}
	default:
		return e, false
	}
	if data.GpuInstanceId != gpu.WholeDevice {
		gi := data.GpuInstanceId
		e.Instance = &gi
	}
	return e, true
}

func recoveryAction(action uint64) string {
	switch binding.DeviceGpuRecoveryAction(action) {
	case binding.GPU_RECOVERY_ACTION_NONE:
		return "none"
	case binding.GPU_RECOVERY_ACTION_GPU_RESET:
		return "reset the GPU"
	case binding.GPU_RECOVERY_ACTION_NODE_REBOOT:
		return "reboot the node"
	case binding.GPU_RECOVERY_ACTION_DRAIN_P2P:
		return "drain peer-to-peer traffic"
	case binding.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:
		return "drain the workloads, then reset the GPU"
	}
	return fmt.Sprintf("action %d", action)
}
