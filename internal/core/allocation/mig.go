// SPDX-License-Identifier: Apache-2.0

package allocation

// mig divides the part of a parent's piece that lies in [from, until): each
// instance has its memory slices of the device for the time in which it
// existed. Of what no instance covers, stranded is what no further legal
// instance could cover, and the rest is idle (accounting.md §4.1).
func (r *rater) mig(to *pot, d *device, parent *piece, from, until int64, note string) {
	all := int64(parent.rec.DeviceSlices) * (until - from)
	var covered int64
	for i := range d.instances {
		in := &d.instances[i]
		covered += int64(in.rec.Slices) * overlap(in, from, until)
	}
	// More slices than the device has, or a device of none: no agent writes
	// that. The shares are then of what there is, and still sum to 1.
	base := max(all, covered, 1)
	for i := range d.instances {
		in := &d.instances[i]
		if ms := overlap(in, from, until); ms > 0 {
			start := max(from, in.rec.StartMS)
			r.slice(to, in, start, start+ms, whole.by(int64(in.rec.Slices)*(until-from), base), note)
		}
	}
	r.uncovered(to, parent, from, until, base-covered, base, covered > 0, note)
}

// overlap is for how many milliseconds a piece exists in [from, until).
func overlap(p *piece, from, until int64) int64 {
	return max(0, min(until, p.end())-max(from, p.rec.StartMS))
}

// uncovered divides slices × milliseconds, of base, that no instance covers, by
// the parent's own times. Without samples and without a layout that was seen,
// nobody knows what was covered.
func (r *rater) uncovered(to *pot, parent *piece, from, until, rest, base int64, seen bool, note string) {
	rec, b := parent.rec, to.of(parent.rec.Partition)
	b.describe(rec)
	r.count(b, parent, cutOf(rec, from, until))
	stranded := min(rest, int64(rec.StrandedSlices)*(until-from))
	// rest / base of the time, cut by the parent's own milliseconds.
	f := whole.by(until-from, base).by(1, rec.DurationMS)
	give := func(account, note string, grade int, slices, ms int64) {
		if slices > 0 && ms > 0 {
			r.plain(to, b.platform(account, note), grade, uint64(slices*ms), f)
		}
	}
	give(Unavailable, "", measured, rest, rec.UnavailableMS)
	give(Stranded, "", measured, stranded, rec.MeasuredMS)
	give(Idle, note, measured, rest-stranded, rec.MeasuredMS)
	if rec.UnmeasuredMS > 0 && (!seen || rec.GrantsUnknownMS > 0) {
		give(Unmeasured, "", unmeasured, rest, rec.UnmeasuredMS)
		return
	}
	give(Stranded, "", unmeasured, stranded, rec.UnmeasuredMS)
	give(Idle, note, unmeasured, rest-stranded, rec.UnmeasuredMS)
}
