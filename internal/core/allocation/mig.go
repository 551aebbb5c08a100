// SPDX-License-Identifier: Apache-2.0

package allocation

// mig divides the part of a parent's piece that lies in [from, until): each
// instance has its memory slices of the device for the time in which it
// existed. Of what no instance covers, stranded is what no further legal
// instance could cover, and the rest is idle (accounting.md §4.1).
func (r *rater) mig(to *pot, d *device, parent *piece, from, until int64, note string) {
	ms := until - from
	slices, covered, made := int64(parent.rec.DeviceSlices), int64(0), int64(0)
	for i := range d.instances {
		if n := overlap(&d.instances[i], from, until); n > 0 {
			covered += int64(d.instances[i].rec.Slices) * n
			made += int64(d.instances[i].rec.Slices)
		}
	}
	if covered > slices*ms {
		// More slices than the device has, or a device of none: no agent writes
		// that. The shares are then of what there is, and still sum to 1.
		slices = made
	}
	slices = max(slices, 1)
	for i := range d.instances {
		in := &d.instances[i]
		if n := overlap(in, from, until); n > 0 {
			start := max(from, in.rec.StartMS)
			r.partition(to, in, start, start+n, whole.by(int64(in.rec.Slices), slices), note)
		}
	}
	r.uncovered(to, parent, segment{from: from, until: until}, slices*ms-covered, slices, note)
}

// overlap is for how many milliseconds a piece exists in [from, until).
func overlap(p *piece, from, until int64) int64 {
	return max(0, min(until, p.end())-max(from, p.rec.StartMS))
}

// uncovered divides what no instance covers, rest slice-milliseconds of the
// device's slices, by the parent's own times. Without samples and without a
// layout that was seen, nobody knows what was covered.
func (r *rater) uncovered(to *pot, parent *piece, seg segment, rest, slices int64, note string) {
	rec, b := parent.rec, to.of(parent.rec.Partition)
	b.describe(rec)
	b.modes.begin(rec, seg.until-seg.from)
	r.claims.begin(b, parent)
	r.count(b, parent, cutOf(rec, seg.from, seg.until))
	ms := seg.until - seg.from
	stranded := min(rest, int64(rec.StrandedSlices)*ms)
	f := whole.by(1, slices).by(1, rec.DurationMS)
	give := func(account, note string, grade int, n, ms int64) {
		if n > 0 && ms > 0 {
			r.plain(to, b.platform(account, note), grade, uint64(n*ms), f)
		}
	}
	give(Unavailable, "", measured, rest, rec.UnavailableMS)
	give(Stranded, "", measured, stranded, rec.MeasuredMS)
	give(Idle, note, measured, rest-stranded, rec.MeasuredMS)
	if seen := rest < slices*ms; rec.UnmeasuredMS > 0 && (!seen || rec.GrantsUnknownMS > 0) {
		give(Unmeasured, "", unmeasured, rest, rec.UnmeasuredMS)
		return
	}
	give(Stranded, "", unmeasured, stranded, rec.UnmeasuredMS)
	give(Idle, note, unmeasured, rest-stranded, rec.UnmeasuredMS)
}
