// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"
)

// SliceIndex finds devices of ResourceSlices by driver, pool and name.
type SliceIndex struct {
	newest  map[poolKey]int64
	devices map[deviceKey]indexed
}

type poolKey struct{ driver, pool string }

type deviceKey struct {
	poolKey
	device string
}

type indexed struct {
	generation int64
	device     SliceDevice
}

// NewSliceIndex indexes slices. Of each driver's pool the newest generation
// counts (resource/v1 ResourcePool.generation). An older one, where the caller
// kept it, only fills in names that the newest no longer has: what a claim was
// given under such a name is still that device.
func NewSliceIndex(published []Slice) SliceIndex {
	x := SliceIndex{newest: map[poolKey]int64{}, devices: map[deviceKey]indexed{}}
	ordered := slices.SortedFunc(slices.Values(published), func(a, b Slice) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), cmp.Compare(a.Name, b.Name))
	})
	for _, s := range ordered {
		pool := poolKey{driver: s.Driver, pool: s.Pool}
		if _, seen := x.newest[pool]; !seen {
			x.newest[pool] = s.Generation
		}
		for _, d := range s.Devices {
			key := deviceKey{poolKey: pool, device: d.Name}
			if _, seen := x.devices[key]; !seen {
				x.devices[key] = indexed{generation: s.Generation, device: d}
			}
		}
	}
	return x
}

// Lookup finds a device. One that only an older generation of its pool had
// comes with Stale set.
func (x SliceIndex) Lookup(driver, pool, device string) (SliceDevice, bool) {
	key := deviceKey{poolKey: poolKey{driver: driver, pool: pool}, device: device}
	found, ok := x.devices[key]
	if !ok {
		return SliceDevice{}, false
	}
	found.device.Stale = found.generation < x.newest[key.poolKey]
	return found.device, true
}
