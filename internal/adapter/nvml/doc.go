// SPDX-License-Identifier: Apache-2.0

// Package nvml owns the conversation with NVIDIA's management library: it
// turns what libnvidia-ml.so.1 answers into sample.Library and sample.Device
// values, and survives everything that library is known to do: missing
// symbols, panics of the binding, calls that never return, lost GPUs, and a
// driver that is reloaded under the agent.
//
// It draws no conclusions. Who owns a byte, and what a lost GPU costs, is for
// the core; when to sample is for the agent.
//
// How a Sample is taken. One goroutine talks to the library as a whole (load,
// list of devices), one per device reads that device, all at the same time.
// A call into C cannot be cancelled, so the caller waits for each goroutine no
// longer than the deadline and leaves behind one that is stuck: its device is
// reported as hung, and nothing more is asked of that device until the call
// has come back. There is never more than one stuck goroutine per device.
package nvml
