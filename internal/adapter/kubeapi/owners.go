// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gputally/gputally/internal/core/workload"
)

// climbed are the kinds of owner that stand for another above them, by API
// group and kind, with the plural that their path has.
var climbed = map[string]string{
	"apps/ReplicaSet":        "replicasets",
	"apps/StatefulSet":       "statefulsets",
	"batch/Job":              "jobs",
	"jobset.x-k8s.io/JobSet": "jobsets",
	"ray.io/RayCluster":      "rayclusters",
}

// maxClimb bounds the way up: a pod of a Ray job has three owners above it.
const maxClimb = 4

const (
	retryOwner     = 5 * time.Second  // after an outage
	retryForbidden = time.Minute      // after a refusal
	ownerKept      = 10 * time.Minute // an answer, before it is asked for again
	ownerUnused    = time.Hour        // an answer that no pod needs
)

// ownerRef is an owner and the API that it lives in.
type ownerRef struct {
	workload.Owner
	api, namespace string
}

// ownerEntry is the answer for one owner: its own controller.
type ownerEntry struct {
	parent    ownerRef // empty: it has none, or it is not known
	forbidden bool
	due, used time.Time
}

// owners climbs from a pod's controller to what a person made.
type owners struct {
	cache *Cache

	mu    sync.Mutex
	known map[ownerRef]ownerEntry
}

func newOwners(c *Cache) *owners { return &owners{cache: c, known: map[ownerRef]ownerEntry{}} }

// top is the highest owner known of a pod. Names are a fallback where the
// owner may not be read, never where it was read.
func (o *owners) top(p podObject) workload.Owner {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := refOf(p)
	for range maxClimb {
		e, ok := o.known[at]
		if !ok {
			break
		}
		if e.forbidden {
			return byName(at, p)
		}
		if e.parent.Name == "" {
			break
		}
		at = e.parent
	}
	return at.Owner
}

func refOf(p podObject) ownerRef {
	return ownerRef{Owner: p.Owner, api: p.ownerAPI, namespace: p.Namespace}
}

// byName is what the names of the owner and the pod tell of what is above.
func byName(at ownerRef, p podObject) workload.Owner {
	return workload.Pod{Labels: p.Labels, Owner: at.Owner}.Workload()
}

// update reads the owners of pods that are not known or due again, and reports
// whether any answer is new.
func (o *owners) update(ctx context.Context, pods []podObject) bool {
	changed := false
	for _, p := range pods {
		at := refOf(p)
		for range maxClimb {
			plural, ok := climbed[group(at.api)+"/"+at.Kind]
			if !ok || ctx.Err() != nil {
				break
			}
			e, fresh := o.ask(ctx, at, plural)
			changed = changed || fresh
			if e.parent.Name == "" {
				break
			}
			at = e.parent
		}
	}
	o.forget(time.Now())
	return changed
}

func group(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// ask gives the controller of an owner, from memory or from the API server.
func (o *owners) ask(ctx context.Context, at ownerRef, plural string) (e ownerEntry, fresh bool) {
	now := time.Now()
	o.mu.Lock()
	e, known := o.known[at]
	if known {
		e.used = now
		o.known[at] = e
	}
	o.mu.Unlock()
	if known && now.Before(e.due) {
		return e, false
	}
	next := o.read(ctx, at, plural, e)
	next.used = now
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[at] = next
	return next, !known || next.parent != e.parent || next.forbidden != e.forbidden
}

func (o *owners) read(ctx context.Context, at ownerRef, plural string, last ownerEntry) ownerEntry {
	path := "/apis/" + at.api + "/namespaces/" + at.namespace + "/" + plural + "/" + at.Name
	text, err := o.cache.get(ctx, path, metadataType)
	return o.judge(text, err, at, last)
}

// judge makes an entry of the API server's answer and what was known before.
func (o *owners) judge(text []byte, err error, at ownerRef, last ownerEntry) ownerEntry {
	now := time.Now()
	switch {
	case apierrors.IsForbidden(err):
		// A server that just started refuses everybody for a moment: what it
		// said before stands.
		last.forbidden = last.parent.Name == ""
		last.due = now.Add(retryForbidden)
		return last
	case apierrors.IsNotFound(err):
		last.due = now.Add(ownerKept) // deleted: what was known of it stands
		return last
	case err != nil:
		last.due = now.Add(retryOwner)
		return last
	}
	return ownerEntry{parent: parentIn(text, at), due: now.Add(ownerKept)}
}

// parentIn is the controller in an object's metadata. An object of another UID
// is not the pod's owner but one that took its name.
func parentIn(text []byte, at ownerRef) ownerRef {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(text, &object) != nil || string(object.UID) != at.UID {
		return ownerRef{}
	}
	for _, r := range object.OwnerReferences {
		if r.Controller != nil && *r.Controller {
			owner := workload.Owner{Kind: r.Kind, Name: r.Name, UID: string(r.UID)}
			return ownerRef{Owner: owner, api: r.APIVersion, namespace: at.namespace}
		}
	}
	return ownerRef{}
}

func (o *owners) forget(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for at, e := range o.known {
		if now.Sub(e.used) >= ownerUnused {
			delete(o.known, at)
		}
	}
}
