// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"math"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// Window is one minute, or a piece of one, of a workload on a partition: time in
// which it had a grant there or a process.
type Window struct {
	// StartMS is Unix milliseconds; MeasuredMS is the part of DurationMS that
	// was read.
	StartMS    int64
	DurationMS int64
	MeasuredMS int64
	// Holders is how many have a grant or a process on the partition, the
	// workload itself included. Above one the signals are nobody's.
	Holders int
	// Grade is that of the workload's memory figures.
	Grade gpu.Grade
	// Running: at least one process of the workload stood on the partition.
	Running bool
	// PeakBytes is the most it held, nil where a process has no known size.
	PeakBytes *uint64
	// Signals are the means of the partition, nil where not read.
	sample.Signals
	// FPActive is the activity of the busiest of the FP64, FP32 and FP16 pipes.
	FPActive *float64
	// PowerMW and LimitMW are those of the device.
	PowerMW *uint64
	LimitMW *uint64
}

// readings are a window's signals as the rules want them. Those of working time
// are divided by the activity, so that a short burst and a thin stream differ.
type readings struct {
	gr, sm, tensor, dram, fp value
	// lowPower: the device draws little more than idle.
	lowPower tri
}

// value is a figure that may not be known.
type value struct {
	v  float64
	ok bool
}

// share reads a signal. What is no share of anything (not a number, below 0 or,
// as seen on MIG instances, above 1) is not clamped but not known.
func share(p *float64) value {
	if p == nil || math.IsNaN(*p) || *p < 0 || *p > 1 {
		return value{}
	}
	return value{*p, true}
}

// Active is engine activity, else busy: two readings of one thing. It is nil where
// neither was read.
func (w *Window) Active() *float64 {
	if w.EngineActive != nil {
		return w.EngineActive
	}
	return w.Busy
}

func (w *Window) activity() value { return share(w.Active()) }

// Speaks reports whether the window's signals are the workload's: it was read, the
// reads agree, and nobody else was there.
func (w *Window) Speaks() bool { return w.refusal() == "" }

func (w *Window) readings(idleMW *uint64) readings {
	r := readings{gr: w.activity(), lowPower: w.lowPower(idleMW)}
	if r.gr.ok && r.gr.v > 0 {
		r.sm = share(w.SMActive).over(r.gr.v)
		r.tensor = share(w.TensorActive).over(r.gr.v * TensorPeak)
		r.dram = share(w.DRAMActive).over(r.gr.v * DRAMPeak)
		r.fp = share(w.FPActive).over(r.gr.v)
	}
	return r
}

func (w *Window) lowPower(idleMW *uint64) tri {
	if w.PowerMW == nil || w.LimitMW == nil || idleMW == nil || *w.LimitMW <= *idleMW {
		return maybe
	}
	span := float64(*w.LimitMW - *idleMW)
	return when(float64(*w.PowerMW) < float64(*idleMW)+StallPower*span)
}

// refusal is why a window cannot speak for the workload at all, "" if it can.
func (w *Window) refusal() Reason {
	switch {
	case w.MeasuredMS <= 0, w.Grade == gpu.Unmeasured:
		return NotMeasured
	case w.Holders > 1, w.Grade == gpu.Indivisible:
		return Indivisible
	case w.Grade == gpu.Skewed:
		return Skewed
	}
	return ""
}

func (v value) over(d float64) value { return value{v.v / d, v.ok} }

func (v value) atLeast(cut float64) tri {
	if !v.ok {
		return maybe
	}
	return when(v.v >= cut)
}

func (v value) below(cut float64) tri { return not(v.atLeast(cut)) }

func (v value) atLeastThat(o value) tri {
	if !o.ok {
		return maybe
	}
	return v.atLeast(o.v)
}
