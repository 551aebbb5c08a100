// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

func pod(name string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, Namespace: "ns", Pod: name, PodUID: "uid-" + name}
}

func bytes(n uint64) *uint64 { return &n }

// partition makes one that adds up: free is what is left.
func partition(capacity uint64, holdings []attribution.Holding, grants []attribution.Grant) attribution.Partition {
	used := uint64(0)
	for _, h := range holdings {
		used += *h.Bytes
	}
	return attribution.Partition{
		ID: gpu.Whole("GPU-1"), State: gpu.StateOK, Mode: gpu.ModeExclusive, Grade: gpu.Measured,
		Capacity: bytes(capacity), Reserved: bytes(0), Used: bytes(used), Unattributed: bytes(0), Free: bytes(capacity - used),
		Holdings: holdings, Grants: grants, GrantsKnown: true,
	}
}

// TestBarIsTheCapacity: whatever holders and grants there are, also grants
// that keep more than is free, the rows sum to the capacity and so does the bar.
func TestBarIsTheCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const capacity = 10_000
		left := uint64(capacity)
		var holdings []attribution.Holding
		for i := range rapid.IntRange(0, 5).Draw(t, "holders") {
			n := rapid.Uint64Range(0, left).Draw(t, "bytes")
			left -= n
			holdings = append(holdings, attribution.Holding{Holder: pod(fmt.Sprint("p", i)), Bytes: &n, Grade: gpu.Measured})
		}
		var grants []attribution.Grant
		for i := range rapid.IntRange(0, 5).Draw(t, "grants") {
			n := rapid.Uint64Range(0, capacity).Draw(t, "reserved")
			grants = append(grants, attribution.Grant{Holder: pod(fmt.Sprint("p", i)), ReservedBytes: &n})
		}
		p := newPart(partition(capacity, holdings, grants), &attribution.Result{})
		if !p.Balanced {
			t.Fatalf("rows sum to %d", p.Sum)
		}
		if got := p.bar().Capacity; got != capacity {
			t.Fatalf("the bar is %d long", got)
		}
	})
}

// TestSharedClaim: what a claim keeps is its pods' together, drawn once.
func TestSharedClaim(t *testing.T) {
	grant := func(name string) attribution.Grant {
		return attribution.Grant{Holder: pod(name), Mode: gpu.ModeSharedClaim, Claim: "ns/c", Reserved: gpu.One}
	}
	p := newPart(partition(100, []attribution.Holding{
		{Holder: pod("a"), Bytes: bytes(30), Grade: gpu.Measured}, {Holder: pod("b"), Bytes: bytes(20), Grade: gpu.Measured},
	}, []attribution.Grant{grant("a"), grant("b")}), &attribution.Result{})
	if got := p.kept(); got != 50 {
		t.Errorf("the claim keeps %d unused, want 50", got)
	}
	for _, r := range p.Rows {
		if r.Kind == KindHolder && (&View{Glyphs: ASCII}).reserved(r) != "together" {
			t.Errorf("%s keeps %q", r.Name, (&View{Glyphs: ASCII}).reserved(r))
		}
	}
}

// TestUnreadIsNotZero: a pod that was given a GPU which cannot be read holds an
// unknown amount, and a total of what is unknown is none.
func TestUnreadIsNotZero(t *testing.T) {
	p := attribution.Partition{
		ID: gpu.Whole("GPU-1"), State: gpu.StateHung, Reason: "no answer", Grade: gpu.Unmeasured,
		Grants: []attribution.Grant{{Holder: pod("a")}},
	}
	part := newPart(p, &attribution.Result{})
	if len(part.Rows) != 1 || part.Rows[0].Bytes != nil || part.Balanced {
		t.Errorf("rows %+v, balanced %v", part.Rows, part.Balanced)
	}
	if got := Unicode.mib(part.Rows[0].Bytes, part.Rows[0].Grade); got != "–" {
		t.Errorf("drawn as %q", got)
	}
}

// TestLostSlices: the stranded slices lie where no instance could be made.
func TestLostSlices(t *testing.T) {
	place := func(start, size uint32) gpu.Placement { return gpu.Placement{Start: start, Size: size} }
	for _, c := range []struct {
		total, stranded uint32
		taken           []gpu.Placement
		want            string
	}{
		{8, 1, []gpu.Placement{place(0, 4), place(4, 2), place(6, 1)}, "map[7:true]"},
		{8, 0, nil, "map[]"},
		{8, 2, []gpu.Placement{place(0, 4)}, "map[6:true 7:true]"}, // NVML knows better
		{5, 0, []gpu.Placement{place(0, 1)}, "map[]"},              // a part that no table knows
	} {
		if got := fmt.Sprint(lostSlices(c.total, c.stranded, c.taken)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestOrderUnknownLast: in every order what is not known comes after what is.
func TestOrderUnknownLast(t *testing.T) {
	sm := 0.5
	known := Row{Name: "z", Bytes: bytes(1), SM: &sm}
	unknown := Row{Name: "a"}
	for _, o := range []Order{ByGPU, ByMemory, BySM} {
		list := []Row{unknown, known}
		o.rows(list)
		if list[0].Name != "z" {
			t.Errorf("%s: the unknown row is first", o)
		}
	}
}

// TestFilterKeepsTheSum: holders that the filter hides stand together.
func TestFilterKeepsTheSum(t *testing.T) {
	r := &attribution.Result{Partitions: []attribution.Partition{partition(100, []attribution.Holding{
		{Holder: pod("a"), Bytes: bytes(30), Grade: gpu.Measured},
		{Holder: pod("b"), Bytes: bytes(20), Grade: gpu.Estimated},
		{Holder: pod("c"), Bytes: bytes(10), Grade: gpu.Measured},
	}, nil)}}
	got := filter(blocks(r), "NS/A")
	if len(got) != 1 {
		t.Fatalf("%d GPUs", len(got))
	}
	sum := uint64(0)
	for _, row := range got[0].Parts[0].Rows {
		sum += *row.Bytes
		if row.Kind == KindOthers && (*row.Bytes != 30 || row.Grade != gpu.Estimated) {
			t.Errorf("the others are %d, %s", *row.Bytes, row.Grade)
		}
	}
	if sum != 100 {
		t.Errorf("what is shown sums to %d", sum)
	}
	if len(filter(blocks(r), "nowhere")) != 0 {
		t.Error("a text that is nowhere finds something")
	}
}
