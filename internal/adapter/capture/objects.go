// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gputally/gputally/internal/adapter/kubeobj"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// objects are the Kubernetes objects that a node's agent would keep.
type objects struct {
	known  bool
	node   *workload.Node
	pods   map[objectKey]workload.Pod
	claims map[objectKey]workload.Claim
	slices map[objectKey]workload.Slice
}

// objectKey names an object for good: a name alone may be used again.
type objectKey struct{ namespace, name, uid string }

func (k objectKey) compare(o objectKey) int {
	return cmp.Or(cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name), cmp.Compare(k.uid, o.uid))
}

func newObjects() objects {
	return objects{
		known: true, pods: map[objectKey]workload.Pod{},
		claims: map[objectKey]workload.Claim{}, slices: map[objectKey]workload.Slice{},
	}
}

// objectChange is one change to the objects of a node; an empty node is the
// entry's own.
type objectChange struct {
	node  string
	apply func(*objects)
}

// objectChanges reads Kubernetes objects in their own shapes (objects,
// deleted) and as an agent keeps them (reduced).
func (d *decoder) objectChanges(o *object, f *File) []objectChange {
	var out []objectChange
	if v := o.get("objects"); v != nil && v.shape != shapeNull {
		for i, c := range d.list(v, o.at("objects")) {
			out = append(out, d.kubeObject(c, fmt.Sprintf("%s[%d]", o.at("objects"), i), f)...)
		}
	}
	if v := o.get("deleted"); v != nil && v.shape != shapeNull {
		for i, c := range d.list(v, o.at("deleted")) {
			out = append(out, d.deletion(c, fmt.Sprintf("%s[%d]", o.at("deleted"), i)))
		}
	}
	if v := o.get("reduced"); v != nil {
		out = append(out, d.reduced(v, o.at("reduced"))...)
	}
	return out
}

// kubeObject reads one object in the shape of the Kubernetes API.
func (d *decoder) kubeObject(n *node, path string, f *File) []objectChange {
	kind := "?"
	if k := n.find("kind"); k != nil {
		kind = k.text
	} else {
		d.fail(n.line, join(path, "kind"), "is missing; write Pod, Node, ResourceClaim or ResourceSlice")
	}
	v, err := kubeobj.Decode(kind, n.json(), true)
	if err != nil {
		d.inside(n, path, err)
		return nil
	}
	var node string
	var apply func(*objects)
	switch v := v.(type) {
	case workload.Pod:
		node, apply = v.Node, func(o *objects) { o.putPod(v) }
	case workload.Node:
		node, apply = v.Name, func(o *objects) { o.node = &v }
	case workload.Claim:
		apply = func(o *objects) { o.putClaim(v) }
	case workload.Slice:
		node, apply = v.Node, func(o *objects) { o.slices[sliceKey(v)] = v }
	default:
		d.fail(n.line, join(path, "kind"), "is %q; write Pod, Node, ResourceClaim or ResourceSlice", clip(kind))
		return nil
	}
	if node != "" && f.node(node) == nil {
		d.fail(n.line, path, "is an object of node %q, which is not in nodes; add it there or correct the name", clip(node))
	}
	return []objectChange{{node: node, apply: apply}}
}

// putPod adds a pod or replaces it. One of the same name and another UID was
// deleted before: names are unique at any moment.
func (o *objects) putPod(p workload.Pod) {
	for k, old := range o.pods {
		if k.namespace == p.Namespace && k.name == p.Name && k.uid != p.UID {
			old.Gone = true
			o.pods[k] = old
		}
	}
	o.pods[objectKey{p.Namespace, p.Name, p.UID}] = p
}

// putClaim adds a claim or replaces the one of its name.
func (o *objects) putClaim(c workload.Claim) {
	forget(o.claims, reference{Kind: "ResourceClaim", Namespace: c.Namespace, Name: c.Name}, "ResourceClaim")
	o.claims[claimKey(c)] = c
}

// reference names an object.
type reference struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// deletion reads the deletion of an object. A pod is kept as gone, so that what
// its processes still hold has a name.
func (d *decoder) deletion(n *node, path string) objectChange {
	var r reference
	d.into(n, path, &r)
	d.knownKind(n, path, r.Kind)
	return objectChange{apply: func(o *objects) {
		for k, p := range o.pods {
			if r.Kind == "Pod" && k.matches(r) {
				p.Gone = true
				o.pods[k] = p
			}
		}
		forget(o.claims, r, "ResourceClaim")
		forget(o.slices, r, "ResourceSlice")
		if r.Kind == "Node" {
			o.node = nil
		}
	}}
}

func (d *decoder) knownKind(n *node, path, kind string) {
	switch kind {
	case "Pod", "Node", "ResourceClaim", "ResourceSlice":
	default:
		d.fail(n.line, join(path, "kind"), "is %q; write Pod, Node, ResourceClaim or ResourceSlice", clip(kind))
	}
}

func (k objectKey) matches(r reference) bool {
	return k.namespace == r.Namespace && k.name == r.Name && (r.UID == "" || k.uid == r.UID)
}

func forget[T any](m map[objectKey]T, r reference, kind string) {
	maps.DeleteFunc(m, func(k objectKey, _ T) bool { return r.Kind == kind && k.matches(r) })
}

// reducedObjects is the section in which an agent writes the objects it keeps:
// those that changed, and the names of those that went.
type reducedObjects struct {
	Known  *bool            `json:"known,omitempty"`
	Node   *workload.Node   `json:"node,omitempty"`
	Pods   []workload.Pod   `json:"pods,omitempty"`
	Claims []workload.Claim `json:"claims,omitempty"`
	Slices []workload.Slice `json:"slices,omitempty"`
	Forget []reference      `json:"forget,omitempty"`
}

func (d *decoder) reduced(n *node, path string) []objectChange {
	var r reducedObjects
	d.into(n, path, &r)
	for _, ref := range r.Forget {
		d.knownKind(n, join(path, "forget"), ref.Kind)
	}
	return []objectChange{{apply: r.apply}}
}

func (r *reducedObjects) apply(o *objects) {
	if r.Known != nil {
		o.known = *r.Known
	}
	for _, ref := range r.Forget {
		forget(o.pods, ref, "Pod")
		forget(o.claims, ref, "ResourceClaim")
		forget(o.slices, ref, "ResourceSlice")
		if ref.Kind == "Node" {
			o.node = nil
		}
	}
	if r.Node != nil {
		o.node = r.Node
	}
	for _, p := range r.Pods {
		o.pods[podKey(p)] = p
	}
	for _, c := range r.Claims {
		o.claims[claimKey(c)] = c
	}
	for _, s := range r.Slices {
		o.slices[sliceKey(s)] = s
	}
}

func podKey(p workload.Pod) objectKey     { return objectKey{p.Namespace, p.Name, p.UID} }
func claimKey(c workload.Claim) objectKey { return objectKey{c.Namespace, c.Name, c.UID} }
func sliceKey(s workload.Slice) objectKey { return objectKey{"", s.Name, ""} }

// compose lists the objects, ordered by namespace, name and UID.
func (o *objects) compose() sample.Objects {
	return sample.Objects{
		Known: o.known, Node: o.node,
		Pods: ordered(o.pods), Claims: ordered(o.claims), Slices: ordered(o.slices),
	}
}

func ordered[T any](m map[objectKey]T) []T {
	if len(m) == 0 {
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(m), objectKey.compare)
	out := make([]T, len(keys))
	for i, k := range keys {
		out[i] = m[k]
	}
	return out
}

func (k objectKey) reference(kind string) reference {
	return reference{Kind: kind, Namespace: k.namespace, Name: k.name, UID: k.uid}
}

func sortedReferences(m map[reference]json.RawMessage) []reference {
	return slices.SortedFunc(maps.Keys(m), func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
