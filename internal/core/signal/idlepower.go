// SPDX-License-Identifier: Apache-2.0

package signal

// IdlePower is what a device draws while no process runs on it. The zero value
// knows nothing. Two of the same device merge, in any order.
type IdlePower struct {
	// LowestMW is the lowest mean of a window without any process.
	LowestMW uint64 `json:"lowest_mw"`
	// SeenMS is how much such time was seen.
	SeenMS int64 `json:"seen_ms"`
}

// Quiet is a window of a device as a whole, all its partitions together.
type Quiet struct {
	// Processes: at least one process, of whomever, stood on the device.
	Processes bool
	// MeasuredMS of DurationMS were read.
	DurationMS, MeasuredMS int64
	// PowerMW is the mean, nil where not read.
	PowerMW *uint64
}

// Learn adds a window. One with a process, read in part or without a power
// teaches nothing: a process that waits draws more than an idle device, and
// taking that for idle power hides what the process costs.
func (p *IdlePower) Learn(q Quiet) {
	if q.Processes || q.PowerMW == nil || *q.PowerMW == 0 || q.DurationMS <= 0 || q.MeasuredMS < q.DurationMS {
		return
	}
	p.Merge(IdlePower{LowestMW: *q.PowerMW, SeenMS: q.DurationMS})
}

// Merge adds what another has seen.
func (p *IdlePower) Merge(o IdlePower) {
	switch {
	case o.SeenMS == 0:
		return
	case p.SeenMS == 0 || o.LowestMW < p.LowestMW:
		p.LowestMW = o.LowestMW
	}
	p.SeenMS += o.SeenMS
}

// MW is the idle power in milliwatts, nil before enough was seen.
func (p IdlePower) MW() *uint64 {
	if p.SeenMS < IdleMinMS {
		return nil
	}
	v := p.LowestMW
	return &v
}
