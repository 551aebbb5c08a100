// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// QuietOf is what a batch tells of each of its devices as a whole, so that
// IdlePower can learn from it. Whether a process was there counts over all
// partitions of the device and all holders, known or not, also those that
// accounting alone saw. So does memory that nobody is named for: what holds it
// may run.
func QuietOf(b *usage.Batch) map[gpu.UUID]Quiet {
	out := map[gpu.UUID]Quiet{}
	power := map[gpu.UUID]weighted{}
	for i := range b.Partitions {
		p := &b.Partitions[i]
		if p.Partition.Instance != gpu.WholeDevice {
			continue // power is the device's
		}
		q := out[p.Partition.Device]
		q.DurationMS += p.DurationMS
		q.MeasuredMS += p.MeasuredMS
		q.Processes = q.Processes || p.UnattributedByteMS/nameless > uint64(p.MeasuredMS)
		out[p.Partition.Device] = q
		power[p.Partition.Device] = power[p.Partition.Device].with(meanPower(p), p.MeasuredMS)
	}
	for device, q := range out {
		q.PowerMW = power[device].mean(q.MeasuredMS)
		out[device] = q
	}
	for i := range b.Holders {
		h := &b.Holders[i]
		if q, ok := out[h.Partition.Device]; ok && (h.PresentMS > 0 || h.AccountedByteMS > 0) {
			q.Processes = true
			out[h.Partition.Device] = q
		}
	}
	return out
}

// nameless is memory without an owner that an idle device may show, bytes.
const nameless = 64 * gpu.MiB

// weighted is a sum of milliwatts × milliseconds.
type weighted struct {
	sum uint64
	ms  int64
}

func (w weighted) with(mw *uint64, ms int64) weighted {
	if mw == nil || ms <= 0 {
		return w
	}
	return weighted{w.sum + *mw*uint64(ms), w.ms + ms}
}

// mean is nil unless all of the time was read.
func (w weighted) mean(of int64) *uint64 {
	if w.ms == 0 || w.ms != of {
		return nil
	}
	v := w.sum / uint64(w.ms)
	return &v
}
