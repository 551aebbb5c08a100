// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/workload"
)

// TestFailuresMakeNothingUp: whatever source fails at whatever moment, bytes
// are those of the pod whose processes hold them, to the byte; a grant is one
// that was given; a pod that holds what it was given is called no leak and
// keeps its grant for as long as it is seen to run; nobody was given what
// another has; and the order in which sources tell does not matter.
func TestFailuresMakeNothingUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		a, b := New(Policy{}), New(Policy{})
		var last Result
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			w.step(t)
			if w.restartable() && rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				a, b, last = New(Policy{}), New(Policy{}), Result{}
				w.restart()
			}
			s := w.sample()
			r := a.Attribute(s)
			again := b.Attribute(shuffled(s, rapid.Uint64().Draw(t, "seed")))
			if diff := cmp.Diff(encode(t, r), encode(t, again)); diff != "" {
				t.Fatalf("order changed the result:\n%s", diff)
			}
			w.check(t, r)
			w.checkKept(t, last, r)
			last = r
		}
	})
}

func (w *world) check(t *rapid.T, r Result) {
	for card, p := range r.Partitions {
		checkPartition(t, p)
		w.checkBytes(t, card, p)
		for _, g := range p.Grants {
			w.checkGrant(t, card, g)
		}
	}
	for _, f := range r.Findings {
		if p := w.find(f.Holder.PodUID); f.Kind == DoubleOwner || f.Kind == UnallocatedUse && p != nil && p.how != "leak" && !p.ended {
			t.Fatalf("%s, kubelet %s, stale %v: %+v of %+v\n%s", f.Kind, w.kubelet, w.stale, f, p, encode(t, r))
		}
	}
}

// checkBytes: each pod holds on the card what its processes do, and no other
// holds anything. What a process that has left /proc holds may be nobody's.
func (w *world) checkBytes(t *rapid.T, card int, p Partition) {
	want, got := map[string]uint64{}, map[string]uint64{}
	var lost uint64
	for _, q := range w.pods {
		if bytes, ok := q.holds[card]; ok {
			want[q.uid()] = bytes
		}
	}
	for _, h := range p.Holdings {
		if h.Holder.Kind == workload.KindUnknown {
			lost += *h.Bytes
			continue
		}
		got[h.Holder.PodUID] += *h.Bytes
	}
	for _, q := range w.pods {
		if bytes := q.holds[card]; q.linger && bytes > 0 && got[q.uid()] == 0 {
			delete(want, q.uid())
			lost -= bytes
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || lost != 0 {
		t.Fatalf("card %d: %d bytes are nobody's, and holders are not what they are (-true +said):\n%s", card, lost, diff)
	}
}

// checkGrant: the grant was given. While the API server is away, the pod of a
// name may be its predecessor, or have no UID, and one that has ended not have.
func (w *world) checkGrant(t *rapid.T, card int, g Grant) {
	pods := w.pods
	if w.stale {
		pods = slices.Concat(w.pods, w.past)
	}
	for _, p := range pods {
		if _, given := p.given[card]; given && (p.uid() == g.Holder.PodUID || w.stale && p.name == g.Holder.Pod) && (!p.ended || w.stale) {
			return
		}
	}
	t.Fatalf("card %d, kubelet %s, stale %v: a grant that nobody gave: %+v; names %v, pods %s", card, w.kubelet, w.stale, g, w.names, w)
}

// checkKept: a pod that runs and holds memory has the grant that it had in the
// sample before, and one that every source tells of has it at once.
func (w *world) checkKept(t *rapid.T, last, r Result) {
	for card, p := range r.Partitions {
		for _, q := range w.pods {
			if _, given := q.given[card]; !given || q.ended {
				continue
			}
			told := !w.stale && w.kubelet == "ok"
			before := last.Partitions != nil && grantedTo(last.Partitions[card], q.uid()) && q.holds[card] > 0
			if (told || before) && !grantedTo(p, q.uid()) {
				t.Fatalf("card %d, kubelet %s, stale %v: the grant of %s (%s) is lost", card, w.kubelet, w.stale, q.name, q.how)
			}
		}
	}
	if w.stale || w.kubelet != "ok" {
		return
	}
	for _, q := range w.pods {
		if q.how == "leak" && leaks(r) < len(q.holds) {
			t.Fatalf("%d leaks are seen, the leaker holds memory of %d cards", leaks(r), len(q.holds))
		}
	}
}

func grantedTo(p Partition, uid string) bool {
	for _, g := range p.Grants {
		if g.Holder.PodUID == uid {
			return true
		}
	}
	return false
}

func (w *world) String() string {
	out := ""
	for _, p := range w.pods {
		out += fmt.Sprintf("\n%+v", *p)
	}
	return out
}

func (w *world) find(uid string) *tenant {
	for _, p := range w.pods {
		if p.uid() == uid {
			return p
		}
	}
	return nil
}
