// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

func (c *Checker) checkSplit(want Split) []string {
	at := float64(want.At) / 1000
	p, ok := c.partition(want.Partition, want.At)
	if !ok {
		return failf("split at %v: there is no partition %s", at, want.Partition)
	}
	got := splitOf(p)
	var out []string
	miss := func(what string, expected, got any) {
		out = append(out, fmt.Sprintf("split at %v of %s: %s is %v, expected %v", at, want.Partition, what, got, expected))
	}
	compareMaps("holder", want.Holders, got.holders, miss)
	compareMaps("leak", want.Leaks, got.leaks, miss)
	for _, f := range []struct {
		name string
		want *uint64
		got  *uint64
	}{
		{"daemons_mib", &want.Daemons, &got.daemons}, {"host_mib", &want.Host, &got.host}, {"unknown_mib", &want.Unknown, &got.unknown},
		{"unattributed_mib", want.Unattributed, p.Unattributed}, {"reserved_mib", want.Reserved, p.Reserved}, {"free_mib", want.Free, p.Free},
	} {
		if f.want != nil && (f.got == nil || *f.got != *f.want*gpu.MiB) {
			miss(f.name, *f.want, mib(f.got))
		}
	}
	return out
}

// sums are the sizes of one partition's holdings in bytes, by account.
type sums struct {
	holders, leaks         map[string]*uint64
	daemons, host, unknown uint64
}

// splitOf sums holdings over the containers of a pod. A pod with a holding of
// unknown size has an unknown sum: nil.
func splitOf(p attribution.Partition) sums {
	s := sums{holders: map[string]*uint64{}, leaks: map[string]*uint64{}}
	for _, h := range p.Holdings {
		b := uint64(0)
		if h.Bytes != nil {
			b = *h.Bytes
		}
		switch {
		case h.Holder.Kind == workload.KindDaemon:
			s.daemons += b
		case h.Holder.Kind == workload.KindHost:
			s.host += b
		case h.Holder.Kind == workload.KindUnknown:
			s.unknown += b
		case h.Leak:
			addTo(s.leaks, h.Holder.Account(), h.Bytes)
		default:
			addTo(s.holders, h.Holder.Account(), h.Bytes)
		}
	}
	return s
}

func addTo(m map[string]*uint64, key string, b *uint64) {
	old, seen := m[key]
	if b == nil || (seen && old == nil) {
		m[key] = nil
		return
	}
	sum := *b
	if seen {
		sum += *old
	}
	m[key] = &sum
}

func compareMaps(what string, want map[string]uint64, got map[string]*uint64, miss func(string, any, any)) {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		g, ok := got[k]
		switch {
		case !ok:
			miss(what+" "+k, want[k], "missing")
		case g == nil || *g != want[k]*gpu.MiB:
			miss(what+" "+k, want[k], mib(g))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			miss(what+" "+k, "nothing", mib(got[k]))
		}
	}
}

// mib prints bytes as MiB, and what is not a whole number of MiB as bytes.
func mib(b *uint64) string {
	switch {
	case b == nil:
		return "unknown"
	case *b%gpu.MiB == 0:
		return fmt.Sprint(*b / gpu.MiB)
	}
	return fmt.Sprintf("%d bytes", *b)
}
