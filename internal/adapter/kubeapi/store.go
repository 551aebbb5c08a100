// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gputally/gputally/internal/adapter/kubeobj"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// podObject is a pod and what is needed to find its owner.
type podObject struct {
	workload.Pod
	ownerAPI string // apiVersion of the controller, such as apps/v1
}

func podOf(object any) (podObject, error) {
	p, ok := object.(*corev1.Pod)
	if !ok {
		return podObject{}, fmt.Errorf("got %T, want a Pod", object)
	}
	out := podObject{Pod: kubeobj.Pod(p)}
	for _, r := range p.OwnerReferences {
		if string(r.UID) == out.Owner.UID {
			out.ownerAPI = r.APIVersion
		}
	}
	return out, nil
}

// store holds the objects and the snapshot made of them. Pods are kept by UID:
// one that replaces another of the same name does not end its memory.
type store struct {
	opts    Options
	owners  *owners
	changed chan struct{} // holds one signal: pods changed

	mu     sync.Mutex
	node   *workload.Node
	pods   map[string]podObject
	gone   map[string]time.Time // UIDs of deleted pods, and when
	slices map[string]workload.Slice
	claims []workload.Claim
	stale  bool
	made   sample.Objects
}

func newStore(opts Options, o *owners) *store {
	return &store{
		opts: opts, owners: o, changed: make(chan struct{}, 1), stale: true,
		pods: map[string]podObject{}, gone: map[string]time.Time{}, slices: map[string]workload.Slice{},
	}
}

// objects is the present snapshot. It is never changed once made.
func (s *store) objects(now time.Time) sample.Objects {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if s.stale {
		s.made, s.stale = s.snapshot(), false
	}
	return s.made
}

func (s *store) snapshot() sample.Objects {
	o := sample.Objects{Node: s.node, Claims: s.claims}
	for _, p := range s.pods {
		pod := p.Pod
		pod.Owner = s.owners.top(p)
		o.Pods = append(o.Pods, pod)
	}
	slices.SortFunc(o.Pods, func(a, b workload.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	for _, x := range s.slices {
		o.Slices = append(o.Slices, x)
	}
	slices.SortFunc(o.Slices, func(a, b workload.Slice) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

// expire forgets pods that were deleted longer than Grace ago, and the oldest
// above MaxGone.
func (s *store) expire(now time.Time) {
	for uid, at := range s.gone {
		if now.Sub(at) >= s.opts.Grace {
			s.forget(uid)
		}
	}
	excess := len(s.gone) - s.opts.MaxGone
	if excess <= 0 {
		return
	}
	uids := make([]string, 0, len(s.gone))
	for uid := range s.gone {
		uids = append(uids, uid)
	}
	slices.SortFunc(uids, func(a, b string) int {
		return cmp.Or(s.gone[a].Compare(s.gone[b]), cmp.Compare(a, b))
	})
	for _, uid := range uids[:excess] {
		s.forget(uid)
	}
}

func (s *store) forget(uid string) {
	delete(s.gone, uid)
	delete(s.pods, uid)
	s.stale = true
}

// live are the pods that exist, in no order.
func (s *store) live() []podObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]podObject, 0, len(s.pods))
	for _, p := range s.pods {
		if !p.Gone {
			out = append(out, p)
		}
	}
	return out
}

// invalidate has the next snapshot made afresh.
func (s *store) invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

// change runs f under the lock and signals that pods changed.
func (s *store) change(f func()) {
	s.mu.Lock()
	f()
	s.stale = true
	s.mu.Unlock()
	s.signal()
}

// signal wakes the follow-up loop.
func (s *store) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *store) putPod(p podObject) {
	s.change(func() {
		s.pods[p.UID] = p
		delete(s.gone, p.UID)
	})
}

func (s *store) dropPod(p podObject) {
	s.change(func() { s.markGone(p) })
}

func (s *store) markGone(p podObject) {
	p.Gone = true
	s.pods[p.UID] = p
	if _, known := s.gone[p.UID]; !known {
		s.gone[p.UID] = time.Now()
	}
	s.expire(time.Now())
}

// replacePods takes the whole list; pods that are not in it were deleted while
// nobody watched.
func (s *store) replacePods(all []podObject) {
	s.change(func() {
		listed := map[string]bool{}
		for _, p := range all {
			listed[p.UID] = true
			s.pods[p.UID] = p
			delete(s.gone, p.UID)
		}
		for uid, p := range s.pods {
			if !listed[uid] && !p.Gone {
				s.markGone(p)
			}
		}
	})
}

func (s *store) setNode(n *workload.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.node, s.stale = n, true
}

func (s *store) replaceNode(nodes []workload.Node) {
	if len(nodes) == 0 {
		s.setNode(nil)
		return
	}
	s.setNode(&nodes[0])
}

func (s *store) putSlice(x workload.Slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slices[x.Name], s.stale = x, true
}

func (s *store) dropSlice(x workload.Slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.slices, x.Name)
	s.stale = true
}

func (s *store) replaceSlices(all []workload.Slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slices, s.stale = map[string]workload.Slice{}, true
	for _, x := range all {
		s.slices[x.Name] = x
	}
}

func (s *store) setClaims(all []workload.Claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims, s.stale = all, true
}
