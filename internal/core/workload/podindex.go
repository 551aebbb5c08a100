// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// PodIndex finds pods by what cgroups and kubelets call them.
type PodIndex struct {
	pods      []Pod
	uid       map[string]int
	hash      map[string]int
	container map[string]place
	name      map[string][]int
}

// place is a container of a pod, as positions.
type place struct{ pod, container int }

// NewPodIndex indexes pods. Where two claim the same key, one that is alive
// comes before an ended one, and that before one whose object is gone; then
// whichever started last. The order of the argument does not matter.
func NewPodIndex(pods []Pod) PodIndex {
	x := PodIndex{
		pods: slices.SortedFunc(slices.Values(pods), byLife),
		uid:  map[string]int{}, hash: map[string]int{},
		container: map[string]place{}, name: map[string][]int{},
	}
	for i, p := range x.pods {
		first(x.uid, p.UID, i)
		first(x.hash, p.StaticHash(), i)
		x.name[p.Key()] = append(x.name[p.Key()], i)
		for j, c := range p.Containers {
			first(x.container, bareID(c.ID), place{pod: i, container: j})
		}
	}
	return x
}

// first keeps what a key already means. The empty key means nothing.
func first[V any](m map[string]V, key string, value V) {
	if _, taken := m[key]; key != "" && !taken {
		m[key] = value
	}
}

// ByUID finds a pod by the API server's UID, or a static pod by the 32-digit
// UID under which its kubelet runs it: the mirror pod in the API has another
// UID and bears that one in an annotation (kubelet, mirror_client.go).
func (x PodIndex) ByUID(uid string) (Pod, bool) {
	if i, ok := x.uid[uid]; ok {
		return x.pods[i], true
	}
	if i, ok := x.hash[uid]; ok {
		return x.pods[i], true
	}
	return Pod{}, false
}

// ByContainer finds a container by its id, with or without "containerd://", in
// whatever list of its pod it is.
func (x PodIndex) ByContainer(id string) (Pod, Container, bool) {
	at, ok := x.container[bareID(id)]
	if !ok {
		return Pod{}, Container{}, false
	}
	p := x.pods[at.pod]
	return p, p.Containers[at.container], true
}

// ByName finds the pod of a name: a live one before an ended or gone one.
func (x PodIndex) ByName(namespace, name string) (Pod, bool) {
	all := x.AllByName(namespace, name)
	if len(all) == 0 {
		return Pod{}, false
	}
	return all[0], true
}

// AllByName finds every pod that has or had a name, best first.
func (x PodIndex) AllByName(namespace, name string) []Pod {
	var out []Pod
	for _, i := range x.name[namespace+"/"+name] {
		out = append(out, x.pods[i])
	}
	return out
}

// bareID is a container id without its runtime's scheme.
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

// byLife orders pods by life, then latest start first, then by UID and name.
func byLife(a, b Pod) int {
	return cmp.Or(
		cmp.Compare(a.life(), b.life()),
		b.lastStart().Compare(a.lastStart()),
		cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.Key(), b.Key()),
	)
}

// life is 0 for a live pod, 1 for an ended one, 2 for one that is gone.
func (p Pod) life() int {
	switch {
	case p.Gone:
		return 2
	case p.Ended():
		return 1
	}
	return 0
}

// lastStart is when a container of the pod last started, zero when none did.
func (p Pod) lastStart() time.Time {
	var last time.Time
	for _, c := range p.Containers {
		if c.StartedAt != nil && c.StartedAt.After(last) {
			last = *c.StartedAt
		}
	}
	return last
}
