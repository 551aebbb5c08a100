// SPDX-License-Identifier: Apache-2.0

package signal

// inputs are the figures of the hour: the means over the time each was read, of
// the raw signals, so that a reader can check a rule by hand.
func inputs(minutes []minute) []Input {
	raw := [...]struct {
		name string
		of   func(*minute) value
	}{
		{"active", func(m *minute) value { return m.gr }},
		{"sm_active", func(m *minute) value { return share(m.SMActive) }},
		{"tensor_active", func(m *minute) value { return share(m.TensorActive) }},
		{"dram_active", func(m *minute) value { return share(m.DRAMActive) }},
		{"fp_active", func(m *minute) value { return share(m.FPActive) }},
		{"power_of_limit", (*minute).powerShare},
	}
	var out []Input
	for _, in := range raw {
		if v := mean(minutes, in.of); v.ok {
			out = append(out, Input{in.name, v.v})
		}
	}
	return out
}

func (m *minute) powerShare() value {
	if m.PowerMW == nil || m.LimitMW == nil || *m.LimitMW == 0 {
		return value{}
	}
	return value{float64(*m.PowerMW) / float64(*m.LimitMW), true}
}

// mean is weighted by measured time. The sum is taken in the order of time.
func mean(minutes []minute, of func(*minute) value) value {
	var sum float64
	var ms int64
	for i := range minutes {
		if v := of(&minutes[i]); v.ok {
			sum += v.v * float64(minutes[i].MeasuredMS)
			ms += minutes[i].MeasuredMS
		}
	}
	if ms == 0 {
		return value{}
	}
	return value{sum / float64(ms), true}
}

func waitsForInput(minutes []minute) bool {
	v := mean(minutes, func(m *minute) value {
		if m.PCIeRxPerS == nil {
			return value{}
		}
		return value{float64(*m.PCIeRxPerS), true}
	})
	return v.ok && v.v >= InputFrom
}
