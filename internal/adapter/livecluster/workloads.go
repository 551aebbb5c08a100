// SPDX-License-Identifier: Apache-2.0

package livecluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gputally/gputally/internal/core/guard"
)

// Object is one object as the API server writes it, without its kind.
type Object struct {
	APIVersion, Kind string
	// Of is the workload that made a pod, nil for what stands for itself.
	Of   *guard.Object
	JSON json.RawMessage
}

// kinds are read in this order: owners before what they own. Pods that ended
// reach nothing any more and are left out.
var kinds = []kind{
	{api: "node.k8s.io/v1", kind: "RuntimeClass", plural: "runtimeclasses", clusterWide: true, optional: true},
	{api: "nvidia.com/v1", kind: "ClusterPolicy", plural: "clusterpolicies", clusterWide: true, optional: true},
	{api: "apps/v1", kind: "Deployment", plural: "deployments"},
	{api: "apps/v1", kind: "StatefulSet", plural: "statefulsets"},
	{api: "apps/v1", kind: "DaemonSet", plural: "daemonsets"},
	{api: "apps/v1", kind: "ReplicaSet", plural: "replicasets"},
	{api: "batch/v1", kind: "CronJob", plural: "cronjobs"},
	{api: "batch/v1", kind: "Job", plural: "jobs"},
	{api: "v1", kind: "ReplicationController", plural: "replicationcontrollers"},
	{api: "v1", kind: "Pod", plural: "pods", selector: "status.phase!=Succeeded,status.phase!=Failed"},
}

// object is what is looked at of each.
type object struct {
	Metadata struct {
		Namespace string     `json:"namespace"`
		Name      string     `json:"name"`
		UID       string     `json:"uid"`
		Owners    []ownerRef `json:"ownerReferences"`
	} `json:"metadata"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type ownerRef struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller"`
}

func (o *object) controller() (ownerRef, bool) {
	for _, r := range o.Metadata.Owners {
		if r.Controller && r.Kind != "Node" { // a static pod's mirror is its node's
			return r, true
		}
	}
	return ownerRef{}, false
}

// ended: a Job that is done makes no more pods.
func (o *object) ended(kind string) bool {
	for _, c := range o.Status.Conditions {
		if kind == "Job" && c.Status == "True" && (c.Type == "Complete" || c.Type == "Failed") {
			return true
		}
	}
	return false
}

// tops are the workloads that were read, by UID: for each the one that stands
// for it.
type tops map[string]guard.Object

// of is the workload that an object belongs to: nil where it stands for itself.
// A controller of a kind that is not read stands for its pods by its name, since
// it may hold no template; not for workloads, which have one of their own.
func (t tops) of(o *object, kind string) *guard.Object {
	r, owned := o.controller()
	if !owned {
		return nil
	}
	if top, known := t[r.UID]; known {
		return &top
	}
	if kind == "Pod" {
		return &guard.Object{Kind: r.Kind, Namespace: o.Metadata.Namespace, Name: r.Name}
	}
	return nil
}

// Workloads hands on every workload that makes pods by itself, every pod that
// runs or is to run, RuntimeClasses and ClusterPolicies. What may not be read is
// told; an error is an API server that does not answer.
func (c *Cluster) Workloads(ctx context.Context, take func(Object)) ([]Unread, error) {
	var unread []Unread
	known := tops{}
	for _, k := range kinds {
		var broken error
		u, err := c.all(ctx, k, func(text json.RawMessage) {
			if err := known.take(k, text, take); err != nil {
				broken = err
			}
		})
		if err == nil {
			err = broken
		}
		if err != nil {
			return unread, err
		}
		if u != nil {
			unread = append(unread, *u)
		}
	}
	return unread, nil
}

func (t tops) take(k kind, text json.RawMessage, take func(Object)) error {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("read %s: %w", k.plural, err)
	}
	of := t.of(&o, k.kind)
	top := guard.Object{Kind: k.kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
	if of != nil {
		top = *of
	}
	t[o.Metadata.UID] = top
	if of != nil && k.kind != "Pod" || o.ended(k.kind) {
		return nil // its pods are looked at, and what stands for it
	}
	take(Object{APIVersion: k.api, Kind: k.kind, Of: of, JSON: text})
	return nil
}

// ConfigMaps hands on those of the names that are there and may be read. Those
// that are not there are no loss: their pods do not start.
func (c *Cluster) ConfigMaps(ctx context.Context, names []guard.ConfigMapName, take func(Object)) ([]Unread, error) {
	var lost []string
	for i, n := range names {
		path := "/api/v1/namespaces/" + url.PathEscape(n.Namespace) + "/configmaps/" + url.PathEscape(n.Name)
		text, err := c.api.Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
		switch {
		case err == nil:
			take(Object{APIVersion: "v1", Kind: "ConfigMap", JSON: text})
		case refused(err):
			lost = append(lost, n.Namespace+"/"+n.Name)
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("read ConfigMap %s/%s of %s: %w", n.Namespace, n.Name, c, plain(err))
		}
		if c.o.Progress != nil {
			c.o.Progress("configmaps", i+1, int64(len(names)-i-1))
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	return []Unread{{What: "configmaps " + some(lost), Reason: "you may not get them; what variables take from them is unknown. Grant get on configmaps", Optional: true}}, nil
}
