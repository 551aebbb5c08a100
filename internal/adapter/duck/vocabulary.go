// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// vocabulary remembers what was written in an hour and under which number. It
// may forget: then the same words get another number.
type vocabulary struct {
	hours  map[int32]*hourWords
	used   int64            // a clock of uses, for forgetting the hour that was used longest ago
	shapes map[string]int64 // of all hours, by their wire form
}

// hourWords are the words of one hour. A partition's records need all of its
// looks, holders and grants only its identity, which any of them has.
type hourWords struct {
	looks        map[look]int64
	places       map[gpu.PartitionID]int64
	owners       map[workload.Holder]int64
	entitlements map[entitlement]int64
	facts        map[saidKey]int64
	used         int64
}

// hoursKept bounds the memory of a vocabulary: backlogs of days come from many
// agents at once.
const hoursKept = 24

func (v *vocabulary) hour(h int32) *hourWords {
	v.used++
	w := v.hours[h]
	if w == nil {
		v.forget()
		w = &hourWords{looks: map[look]int64{}, places: map[gpu.PartitionID]int64{},
			owners: map[workload.Holder]int64{}, entitlements: map[entitlement]int64{}, facts: map[saidKey]int64{}}
		if v.hours == nil {
			v.hours = map[int32]*hourWords{}
		}
		v.hours[h] = w
	}
	w.used = v.used
	return w
}

func (v *vocabulary) forget() {
	for len(v.hours) >= hoursKept {
		var oldest int32
		at := int64(-1)
		for h, w := range v.hours {
			if at < 0 || w.used < at {
				oldest, at = h, w.used
			}
		}
		delete(v.hours, oldest)
	}
}

// forgetHour is for when the rows of an hour have left the tables.
func (v *vocabulary) forgetHour(h int32) { delete(v.hours, h) }

// forgetBefore is for when the hours before one were dropped, with their words.
func (v *vocabulary) forgetBefore(h int32) {
	maps.DeleteFunc(v.hours, func(hour int32, _ *hourWords) bool { return hour < h })
}

// shapesKept bounds the shapes that are remembered: one each of a fleet's nodes,
// several times over.
const shapesKept = 1 << 15

func (v *vocabulary) shapeNumbers() map[string]int64 {
	if v.shapes == nil || len(v.shapes) >= shapesKept {
		v.shapes = map[string]int64{}
	}
	return v.shapes
}

// look is all of a place row, as a key.
type look struct {
	id                                   gpu.PartitionID
	names, slot, model, profile          string
	placement                            gpu.Placement
	slices, deviceSlices, strandedSlices uint32
	migParent                            bool
	mode                                 gpu.Mode
	replicas                             maybe[int64]
	capacity, estimated                  maybe[uint64]
}

type maybe[T any] struct {
	v  T
	ok bool
}

func maybeOf[T any](p *T) (m maybe[T]) {
	if p != nil {
		m = maybe[T]{*p, true}
	}
	return m
}

// joined is a list as a key: nil, empty and every content differ.
func joined[T ~string](list []T) string {
	if list == nil {
		return ""
	}
	key := "["
	for _, s := range list {
		key += string(s) + "\x00"
	}
	return key
}

func lookOf(p *usage.PartitionRecord) look {
	return look{id: p.Partition, names: joined(p.Names), slot: p.Slot, model: p.Model, profile: p.Profile,
		placement: p.Placement, slices: p.Slices, deviceSlices: p.DeviceSlices, strandedSlices: p.StrandedSlices,
		migParent: p.MIGParent, mode: p.Mode, replicas: maybeOf(p.Replicas),
		capacity: maybeOf(p.CapacityBytes), estimated: maybeOf(p.EstimatedCapacityBytes)}
}

// entitlement is all of an entitlement row, as a key.
type entitlement struct {
	holder                                          workload.Holder
	containers, source, resource, deviceIDs, claims string
	mode                                            gpu.Mode
	replicas                                        int64
	reserved                                        gpu.Ratio
	reservedBytes, limit                            maybe[uint64]
	admin                                           bool
}

func entitlementOf(g *attribution.Grant) entitlement {
	return entitlement{holder: g.Holder, containers: joined(g.Containers), source: g.Source, resource: g.Resource,
		deviceIDs: joined(g.DeviceIDs), claims: g.Claim, mode: g.Mode, replicas: g.Replicas, reserved: g.Reserved,
		reservedBytes: maybeOf(g.ReservedBytes), limit: maybeOf(g.LimitBytes), admin: g.Admin}
}

// saidKey is all of a facts row, as a key; factsKey is what of it a charge goes by.
type saidKey struct {
	factsKey
	about attribution.PodAbout
}

type factsKey struct {
	owner  workload.Owner
	labels string
}

func factsOf(p *usage.PodRecord) saidKey {
	return saidKey{factsKey{owner: p.Owner, labels: joinedMap(p.Labels)}, p.About}
}

// joinedMap is a map as a key: nil, empty and every content differ. Lengths stand
// before the texts, which may have any byte in them.
func joinedMap(m map[string]string) string {
	if m == nil {
		return ""
	}
	var room [16]string
	keys := room[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	key := []byte{'{'}
	for _, k := range keys {
		for _, text := range [...]string{k, m[k]} {
			key = append(strconv.AppendInt(key, int64(len(text)), 10), ':')
			key = append(key, text...)
		}
	}
	return string(key)
}
