// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"math"
	"sync"
	"time"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// gpmInterval is the shortest time between two samples of which the difference
// says anything (nvmlGpmSampleGet).
const gpmInterval = 100 * time.Millisecond

// gpmPair is the last sample of the counters of a device or GPU instance, and
// a spare buffer for the next: nothing ever waits for a second sample.
type gpmPair struct {
	last, spare binding.GpmSample // last is nil before the first
	at          time.Time
}

// gpmMetrics are the counters that become signals. One call compares them all.
var gpmMetrics = [...]struct {
	id  binding.GpmMetricId
	put func(*sample.Signals, float64)
}{
	{binding.GPM_METRIC_GRAPHICS_UTIL, func(s *sample.Signals, v float64) { s.EngineActive = share(v) }},
	{binding.GPM_METRIC_SM_UTIL, func(s *sample.Signals, v float64) { s.SMActive = share(v) }},
	{binding.GPM_METRIC_SM_OCCUPANCY, func(s *sample.Signals, v float64) { s.SMOccupancy = share(v) }},
	{binding.GPM_METRIC_ANY_TENSOR_UTIL, func(s *sample.Signals, v float64) { s.TensorActive = share(v) }},
	{binding.GPM_METRIC_DRAM_BW_UTIL, func(s *sample.Signals, v float64) { s.DRAMActive = share(v) }},
	{binding.GPM_METRIC_FP64_UTIL, func(s *sample.Signals, v float64) { s.FP64Active = share(v) }},
	{binding.GPM_METRIC_FP32_UTIL, func(s *sample.Signals, v float64) { s.FP32Active = share(v) }},
	{binding.GPM_METRIC_FP16_UTIL, func(s *sample.Signals, v float64) { s.FP16Active = share(v) }},
	{binding.GPM_METRIC_PCIE_RX_PER_SEC, func(s *sample.Signals, v float64) { s.PCIeRxPerS = traffic(v) }},
	{binding.GPM_METRIC_PCIE_TX_PER_SEC, func(s *sample.Signals, v float64) { s.PCIeTxPerS = traffic(v) }},
}

// gpmSignals reads the profiling counters where the device has them (Hopper
// and newer): of the device, or of each GPU instance in MIG mode.
func (r *reading) gpmSignals() {
	if !r.gpmSupported() {
		return
	}
	if !r.out.MIG {
		r.gpmRead(gpu.WholeDevice, func(s binding.GpmSample) binding.Return { return r.gpmSample(r.handle, s) }, &r.out.Signals)
		return
	}
	for n := range r.out.Instances {
		i := r.past.layout.instances[n]
		r.gpmRead(i.id, func(s binding.GpmSample) binding.Return { return r.gpmInstance(i, s) }, &r.out.Instances[n].Signals)
	}
}

func (r *reading) gpmSupported() bool {
	if r.past.gpmAnswer != nil {
		return *r.past.gpmAnswer
	}
	yes := false
	for _, s := range []symbol{symGpmAlloc, symGpmFree, symGpmSample, symGpmMetrics} {
		if !r.lib.symbols.has(s) {
			r.past.gpmAnswer = &yes
			return false
		}
	}
	if !r.begin(symGpmSupport) {
		return false
	}
	support, ret := r.handle.GpmQueryDeviceSupport()
	yes = r.ok(ret) && support.IsSupportedDevice != 0
	r.past.gpmAnswer = &yes
	return yes
}

func (r *reading) gpmSample(h binding.Device, s binding.GpmSample) binding.Return {
	if !r.begin(symGpmSample) {
		return binding.ERROR_FUNCTION_NOT_FOUND
	}
	return h.GpmSampleGet(s)
}

// gpmInstance samples a GPU instance by its id or, where the driver lacks that
// call, by the handle of a MIG device in it.
func (r *reading) gpmInstance(i instance, s binding.GpmSample) binding.Return {
	if r.begin(symGpmMigSample) {
		return r.handle.GpmMigSampleGet(int(i.id), s)
	}
	if len(i.devices) == 0 {
		return binding.ERROR_NOT_SUPPORTED
	}
	return r.gpmSample(i.devices[0].handle, s)
}

// gpmRead takes a sample and turns what has happened since the one before into
// signals.
func (r *reading) gpmRead(id uint32, take func(binding.GpmSample) binding.Return, out *sample.Signals) {
	pair := r.past.gpm[id]
	if pair == nil {
		pair = &gpmPair{}
		r.past.gpm[id] = pair
	}
	if pair.last != nil && time.Since(pair.at) < gpmInterval {
		return
	}
	if pair.spare == nil {
		if !r.begin(symGpmAlloc) {
			return
		}
		s, ret := r.lib.nv.GpmSampleAlloc()
		if !r.ok(ret) {
			return
		}
		pair.spare = s
	}
	if !r.ok(take(pair.spare)) {
		return
	}
	if pair.last != nil {
		r.gpmCompare(pair, out)
	}
	pair.last, pair.spare, pair.at = pair.spare, pair.last, time.Now()
}

// gpmBuffers are what GPM answers are read into, of 19 KB each. One that a call
// is stuck with is not given back.
var gpmBuffers = sync.Pool{New: func() any { return new(binding.GpmMetricsGetType) }}

func (r *reading) gpmCompare(pair *gpmPair, out *sample.Signals) {
	get := gpmBuffers.Get().(*binding.GpmMetricsGetType)
	defer gpmBuffers.Put(get)
	get.NumMetrics, get.Sample1, get.Sample2 = uint32(len(gpmMetrics)), pair.last, pair.spare
	for n, m := range gpmMetrics {
		get.Metrics[n] = binding.GpmMetric{MetricId: uint32(m.id)}
	}
	if !r.begin(symGpmMetrics) || !r.ok(r.lib.nv.GpmMetricsGet(get)) {
		return
	}
	for n, m := range gpmMetrics {
		if got := get.Metrics[n]; binding.Return(got.NvmlReturn) == binding.SUCCESS {
			m.put(out, got.Value)
		}
	}
}

// share is a percentage as 0..1, nil for what no share can be. Values a little
// above 100 are the counters' rounding; more than that was reported from MIG
// instances and means nothing.
func share(v float64) *float64 {
	if math.IsNaN(v) || v < 0 || v > 101 {
		return nil
	}
	f := min(v/100, 1)
	return &f
}

// maxTrafficMiB is more than any link of today carries: 1 TiB a second.
const maxTrafficMiB = 1 << 20

// traffic is MiB per second in bytes per second, nil for what no link carries.
func traffic(mib float64) *uint64 {
	if math.IsNaN(mib) || mib < 0 || mib > maxTrafficMiB {
		return nil
	}
	b := uint64(mib * gpu.MiB)
	return &b
}

// freeGpm gives the buffers of an instance that is gone back.
func (r *reading) freeGpm(id uint32) {
	pair := r.past.gpm[id]
	delete(r.past.gpm, id)
	if pair == nil {
		return
	}
	for _, s := range []binding.GpmSample{pair.last, pair.spare} {
		if s != nil && r.begin(symGpmFree) {
			s.Free()
		}
	}
}
