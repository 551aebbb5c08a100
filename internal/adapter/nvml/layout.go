// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// changeLayout takes over a layout that was just read: it says since when each
// instance has been there and, if anything changed, that it did.
func (r *reading) changeLayout(devices []migDevice, fresh []instance) {
	l := &r.past.layout
	for n := range fresh {
		fresh[n].sinceMS, fresh[n].total = r.since(fresh[n])
	}
	if l.known && !(l.mig && slices.EqualFunc(l.instances, fresh, instance.sameAs)) {
		r.layoutChanged(describe(l.mig, l.instances), describe(true, fresh))
	}
	l.known, l.restored, l.mig, l.age = true, true, true, 0
	l.devices, l.instances = devices, fresh
	for gi := range r.past.gpm {
		if !slices.ContainsFunc(fresh, func(i instance) bool { return i.id == gi }) {
			r.freeGpm(gi)
		}
	}
}

// leaveMIG notes that MIG mode is off.
func (r *reading) leaveMIG() {
	l := &r.past.layout
	if r.failed() || r.quit.Load() {
		return
	}
	if l.known && l.mig {
		r.layoutChanged(describe(true, l.instances), describe(false, nil))
		for gi := range r.past.gpm {
			r.freeGpm(gi)
		}
	}
	*l = layout{known: true, restored: true}
}

func (r *reading) layoutChanged(before, after string) {
	r.out.Events = append(r.out.Events, sample.Event{
		Kind: eventMIGLayout, Detail: fmt.Sprintf("before: %s; now: %s", before, after),
	})
}

// since says when an instance was first seen, in Unix milliseconds, and its
// memory then. NVML does not tell when an instance was made, and both its ids
// and its UUID may return after it was destroyed; so one that was away in the
// reading before is new. At the first reading of this process the instances of
// the process before it are taken over.
func (r *reading) since(i instance) (ms int64, total uint64) {
	l := &r.past.layout
	for _, old := range l.instances {
		if old.continuesAs(i) {
			return old.sinceMS, old.total
		}
	}
	ms = r.nowMS
	if l.restored {
		return ms, 0
	}
	for _, name := range i.names(r.out.UUID) {
		if known, ok := r.settings.instances[name]; ok {
			ms = min(ms, known)
		}
	}
	return ms, 0
}

// continuesAs reports whether j, read later, is the same instance as i: the
// same id, place and profile, and not with none of the compute instances left.
func (i instance) continuesAs(j instance) bool {
	if i.dead || i.id != j.id || i.placement != j.placement || i.profileID != j.profileID {
		return false
	}
	if len(i.devices) == 0 || len(j.devices) == 0 {
		return true
	}
	return slices.ContainsFunc(i.devices, func(d migDevice) bool {
		return slices.ContainsFunc(j.devices, func(e migDevice) bool { return d.uuid == e.uuid })
	})
}

// names are what an instance is remembered by across restarts of the agent:
// the UUIDs of its MIG devices, or its place in the device if it has none.
func (i instance) names(device gpu.UUID) []gpu.UUID {
	names := make([]gpu.UUID, 0, 1)
	for _, d := range i.devices {
		names = append(names, d.uuid)
	}
	if len(names) == 0 {
		names = append(names, bareName(device, i.id))
	}
	return names
}

func bareName(device gpu.UUID, gi uint32) gpu.UUID {
	return gpu.UUID(fmt.Sprintf("%s/gi%d", device, gi))
}

// sameAs reports whether nothing about an instance has changed.
func (i instance) sameAs(j instance) bool {
	return i.id == j.id && i.placement == j.placement && i.profileID == j.profileID && i.sinceMS == j.sinceMS &&
		slices.EqualFunc(i.devices, j.devices, migDevice.sameAs)
}

// describe is a layout in words.
func describe(mig bool, instances []instance) string {
	switch {
	case !mig:
		return "MIG off"
	case len(instances) == 0:
		return "MIG on, no instances"
	}
	parts := make([]string, len(instances))
	for n, i := range instances {
		parts[n] = fmt.Sprintf("gi%d %s at %d:%d", i.id, i.profile, i.placement.Start, i.placement.Size)
		for _, d := range i.devices {
			parts[n] += fmt.Sprintf(" %s", d.uuid)
		}
	}
	return strings.Join(parts, ", ")
}
