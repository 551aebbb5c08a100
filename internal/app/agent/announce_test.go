// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// board keeps what is announced; it can fail, and take its time.
type board struct {
	mu    sync.Mutex
	said  []Announcement
	fail  error
	delay time.Duration
}

func (b *board) Announce(_ context.Context, what Announcement) error {
	b.mu.Lock()
	fail, delay := b.fail, b.delay
	b.mu.Unlock()
	time.Sleep(delay)
	b.mu.Lock()
	defer b.mu.Unlock()
	if fail == nil {
		b.said = append(b.said, what)
	}
	return fail
}

func (b *board) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.said)
}

// A leak is told to its pod at once, then once an hour while it stands; one that
// stops and begins again later is told again.
func TestLeakIsAnnounced(t *testing.T) {
	story(t, func(t *testing.T) {
		w, b := newWorld(), &board{}
		w.held[1] = 3 * gib
		r := begin(t, w, func(c *Config) { c.Announcer = b })
		at(2 * time.Minute)
		if b.count() != 1 {
			t.Fatalf("%d announcements in 2 minutes, want 1", b.count())
		}
		first := b.said[0]
		if first.Reason != ReasonUnallocated || first.Pod.Account() != "team/p1" || first.Pod.PodUID != podUID(1) || first.Pod.Container != "" {
			t.Errorf("announced %+v", first)
		}
		for _, part := range []string{"3.0 GiB", "GPU-0", "since 2000-01-01T00:00:00Z", "given to nobody"} {
			if !strings.Contains(first.Note, part) {
				t.Errorf("the note says %q, without %q", first.Note, part)
			}
		}
		at(3 * time.Hour)
		if got := b.count(); got != 4 {
			t.Errorf("%d announcements in 3 hours, want 4", got)
		}
		w.set(func() { delete(w.held, 1) })
		at(10 * time.Minute)
		w.set(func() { w.held[1] = gib })
		at(time.Minute)
		if got := b.count(); got != 5 {
			t.Errorf("%d announcements after the leak began again, want 5", got)
		}
		r.end()
	})
}

// An API server that refuses or hangs holds nothing up, is asked again at a
// bounded rate, and its failure is logged once.
func TestAnnouncementsFail(t *testing.T) {
	story(t, func(t *testing.T) {
		w, b := newWorld(), &board{fail: errors.New("forbidden"), delay: 8 * time.Second}
		w.held[1] = gib
		r := begin(t, w, func(c *Config) { c.Announcer = b })
		at(10 * time.Minute)
		if s := r.agent.Snapshot(); s.Stats.Samples != 121 || s.Stats.MissedTicks != 0 {
			t.Errorf("%d samples, %d missed; want 121 and none", s.Stats.Samples, s.Stats.MissedTicks)
		}
		if n := r.log.count("announce a finding"); n != 1 {
			t.Errorf("the failure is logged %d times, want once", n)
		}
		b.set(func() { b.fail = nil })
		at(2 * time.Minute)
		if b.count() != 1 {
			t.Errorf("%d announcements after it works again, want 1", b.count())
		}
		r.end()
	})
}

func finding(kind attribution.FindingKind, severity attribution.Severity, pod string) attribution.Finding {
	return attribution.Finding{Kind: kind, Severity: severity, Holder: workload.Holder{Kind: workload.KindPod, Namespace: "lab", Pod: pod, PodUID: "u-" + pod}}
}

// pinned is an announcer that says what it is asked to say at once.
func pinned(b *board) *announcer {
	return newAnnouncer(b, newNotes(nil))
}

func (a *announcer) drain() {
	for {
		select {
		case e := <-a.queue:
			a.say(context.Background(), e)
		default:
			return
		}
	}
}

// What the platform's own pods reach, and what is no pod of a known name, is
// told to nobody.
func TestWhatIsNotAnnounced(t *testing.T) {
	b := &board{}
	a := pinned(b)
	nameless := finding(attribution.UnallocatedUse, attribution.Critical, "")
	host := finding(attribution.UnallocatedUse, attribution.Critical, "x")
	host.Holder.Kind = workload.KindHost
	a.see(attribution.Result{Findings: []attribution.Finding{
		nameless, host, finding(attribution.Exposure, attribution.Info, "exporter"), finding(attribution.OverLimit, attribution.Warning, "big"),
	}})
	a.drain()
	if len(b.said) != 0 {
		t.Errorf("announced %+v", b.said)
	}
}

// A change of the victims is told, after five minutes; a node with very many
// leaks tells some at once and the others later.
func TestAnnouncementsAreBounded(t *testing.T) {
	b := &board{}
	a := pinned(b)
	leak := finding(attribution.UnallocatedUse, attribution.Critical, "leaker")
	leak.Victims = []string{"ml/a"}
	for s := int64(0); s <= 600; s += 5 {
		if s >= 60 {
			leak.Victims = []string{"ml/b", "ml/c", "ml/d", "ml/e", "ml/f"}
		}
		a.see(attribution.Result{MonoMS: s * 1000, Findings: []attribution.Finding{leak}})
		a.drain()
	}
	if len(b.said) != 2 || !strings.Contains(b.said[0].Note, "given to ml/a,") || !strings.Contains(b.said[1].Note, "ml/b, ml/c, ml/d, ml/e and 1 more") {
		t.Errorf("announced %+v", b.said)
	}

	b = &board{}
	a = pinned(b)
	var many []attribution.Finding
	for i := range 100 {
		f := finding(attribution.Exposure, attribution.Warning, fmt.Sprint("p", i))
		f.Partitions = []string{"GPU-1", "GPU-2"}
		many = append(many, f)
	}
	a.see(attribution.Result{Findings: many})
	a.drain()
	if len(b.said) != sayBurst {
		t.Errorf("%d announced at once, want %d", len(b.said), sayBurst)
	}
	for s := int64(5); s <= 1000; s += 5 {
		a.see(attribution.Result{MonoMS: s * 1000, Findings: many})
		a.drain()
	}
	told := map[string]int{}
	for _, s := range b.said {
		told[s.Pod.Pod]++
	}
	if len(b.said) != 100 || len(told) != 100 {
		t.Errorf("%d announced of %d pods, want each once", len(b.said), len(told))
	}
}

// The longest text fits into an Event's note.
func TestNotesAreShort(t *testing.T) {
	long := strings.Repeat("n", 63) + "/" + strings.Repeat("p", 63)
	f := finding(attribution.UnallocatedUse, attribution.Critical, "x")
	f.Partition = strings.Repeat("u", 80)
	f.Bytes = new(uint64)
	for range 30 {
		f.Victims = append(f.Victims, long)
		f.Partitions = append(f.Partitions, f.Partition)
	}
	f.Evidence = []string{"devices cgroup", "privileged"}
	r := &attribution.Result{Partitions: []attribution.Partition{{ID: gpu.PartitionID{Device: gpu.UUID(f.Partition)}, Model: "NVIDIA H100 80GB HBM3", Profile: "1g.10gb"}}}
	for _, kind := range []attribution.FindingKind{attribution.UnallocatedUse, attribution.Exposure} {
		f.Kind = kind
		if n := len(announcementOf(&f, r, time.Now()).Note); n > 1024 {
			t.Errorf("the note of %s has %d bytes", kind, n)
		}
	}
}
