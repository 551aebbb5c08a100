// SPDX-License-Identifier: Apache-2.0

package history

import (
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

var (
	from = time.Date(2026, 11, 2, 3, 20, 0, 0, time.UTC)
	to   = from.AddDate(0, 0, 30)
)

// TestMonth: every batch keeps the rules of records, time is covered without a
// hole, and everything that the fleet is for occurs.
func TestMonth(t *testing.T) {
	f := New(7, from, to)
	seen := newSeen()
	for _, n := range f.Nodes() {
		began, at, batches := time.Now(), from.UnixMilli(), 0
		for b := range f.Batches(n.Name) {
			if err := b.Check(); err != nil {
				t.Fatal(err)
			}
			if b.StartMS != at || b.Cluster != n.Cluster || b.Node != n.Name {
				t.Fatalf("batch %s/%d of %s begins at %d, want %d", b.Boot, b.Seq, b.Node, b.StartMS, at)
			}
			at, batches = b.StartMS+b.DurationMS, batches+1
			seen.batch(&b)
		}
		if at != to.UnixMilli() {
			t.Errorf("%s: records end at %d, want %d", n.Name, at, to.UnixMilli())
		}
		t.Logf("%s: %d batches in %s", n.Name, batches, time.Since(began).Round(time.Millisecond))
	}
	seen.check(t)
}

// seen counts what occurred.
type seen struct {
	modes    map[gpu.Mode]int
	grants   map[gpu.Mode]int
	sources  map[string]int
	devices  map[gpu.UUID]bool
	findings map[attribution.FindingKind]int
	account  map[string]int
	// gaps and cordoned are batches, shapes are those told, labelled pods with a
	// team.
	gaps, cordoned, shapes, labelled int
}

func newSeen() *seen {
	return &seen{modes: map[gpu.Mode]int{}, grants: map[gpu.Mode]int{}, sources: map[string]int{}, devices: map[gpu.UUID]bool{},
		findings: map[attribution.FindingKind]int{}, account: map[string]int{}}
}

func (s *seen) batch(b *usage.Batch) {
	if b.Gap != nil {
		s.gaps++
	}
	if len(b.Unschedulable) > 0 {
		s.cordoned++
	}
	if b.Shape != nil {
		s.shapes++
	}
	for i := range b.Pods {
		if b.Pods[i].Owner.Kind != "" && b.Pods[i].Labels["team"] != "" {
			s.labelled++
		}
	}
	for i := range b.Partitions {
		p := &b.Partitions[i]
		s.devices[p.Partition.Device] = true
		if !p.MIGParent {
			s.modes[p.Mode]++
		}
		for account, bytes := range map[string]uint64{"unattributed": p.UnattributedByteMS, "idle": p.FreeByteMS, "stranded": uint64(p.StrandedSlices), "unavailable": uint64(p.UnavailableMS)} {
			if bytes > 0 {
				s.account[account]++
			}
		}
	}
	for i := range b.Holders {
		switch h := &b.Holders[i]; {
		case h.Leak:
			s.account["leak"]++
		case h.Holder.Kind == "pod":
			s.account["pod"]++
		default:
			s.account[h.Holder.Account()]++
		}
	}
	for i := range b.Grants {
		s.grants[b.Grants[i].Grant.Mode]++
		s.sources[b.Grants[i].Grant.Source]++
	}
	for i := range b.Findings {
		s.findings[b.Findings[i].Kind]++
	}
}

func (s *seen) check(t *testing.T) {
	t.Helper()
	if len(s.devices) != 24 {
		t.Errorf("%d GPUs, want 24", len(s.devices))
	}
	for _, m := range []gpu.Mode{gpu.ModeNone, gpu.ModeExclusive, gpu.ModeTimeSlicing, gpu.ModeMPS, gpu.ModeMIG, gpu.ModeSharedClaim, gpu.ModeFraction, gpu.ModeShared} {
		if s.modes[m] == 0 {
			t.Errorf("no GPU was ever in mode %s: %v", m, s.modes)
		}
	}
	for _, m := range []gpu.Mode{gpu.ModeExclusive, gpu.ModeTimeSlicing, gpu.ModeMPS, gpu.ModeMIG, gpu.ModeSharedClaim, gpu.ModeFraction} {
		if s.grants[m] == 0 {
			t.Errorf("nothing was ever granted in mode %s: %v", m, s.grants)
		}
	}
	for _, a := range []string{"idle", "stranded", "overhead", "unattributed", "host", "unavailable", "pod", "leak"} {
		if s.account[a] == 0 {
			t.Errorf("nothing was ever %s: %v", a, s.account)
		}
	}
	for _, source := range []string{"kubelet", "dra", "kai"} {
		if s.sources[source] == 0 {
			t.Errorf("nothing was ever granted by %s: %v", source, s.sources)
		}
	}
	if s.gaps != 1 {
		t.Errorf("%d gaps, want the one of five hours", s.gaps)
	}
	if s.cordoned < 40 || s.cordoned > 42 {
		t.Errorf("%d windows of a cordoned node, want those of ten hours", s.cordoned)
	}
	if s.shapes < 3*30*24-5 || s.labelled == 0 {
		t.Errorf("%d shapes, want one in each hour of each node; %d pods with owner and team", s.shapes, s.labelled)
	}
	t.Logf("modes %v grants %v by %v accounts %v findings %v", s.modes, s.grants, s.sources, s.account, s.findings)
}

// TestSeed: equal seeds give equal bytes, other seeds other ones.
func TestSeed(t *testing.T) {
	to := from.AddDate(0, 0, 3)
	one, again, other := digest(t, New(7, from, to)), digest(t, New(7, from, to)), digest(t, New(8, from, to))
	if one != again {
		t.Error("one seed gave two histories")
	}
	if one == other {
		t.Error("two seeds gave one history")
	}
}

func digest(t *testing.T, f *Fleet) (out [sha256.Size]byte) {
	t.Helper()
	h := sha256.New()
	for _, n := range f.Nodes() {
		for b := range f.Batches(n.Name) {
			text, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			h.Write(text)
		}
	}
	h.Sum(out[:0])
	return out
}
