// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"strings"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// spoken are the prefixes of labels and annotations by which GPU schedulers,
// plugins and clouds speak: keys and values are kept, identifiers in them
// replaced.
var spoken = []string{
	"nvidia.com/", "hami.io/", "run.ai/", "runai-gpu-group", "gpu-fraction", "gpu-memory", "volcano.sh/", "koordinator.sh/",
	"scheduling.koordinator.sh/", "node.koordinator.sh/", "ALIYUN_COM_GPU_", "aliyun.com/", "scheduler.framework.gpushare.",
	"cloud.google.com/gke-gpu", "cloud.google.com/gke-accelerator", "cloud.google.com/gke-max-shared", "cloud.google.com/gke-mps",
	"k8s.amazonaws.com/accelerator", "eks.amazonaws.com/compute-type", "kubernetes.io/config.", "kubernetes.io/arch", "kubernetes.io/os",
	"node.kubernetes.io/instance-type",
}

func isSpoken(key string) bool {
	for _, p := range spoken {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

func (r *Redactor) objects(o sample.Objects) sample.Objects {
	if o.Node != nil {
		n := *o.Node
		n.Name, n.ProviderID = r.node(n.Name), r.name("provider", n.ProviderID)
		n.Labels, n.Taints = r.labels(n.Labels, false), nil
		o.Node = &n
	}
	o.Pods = each(o.Pods, r.podObject)
	o.Claims = each(o.Claims, r.claim)
	o.Slices = each(o.Slices, func(s workload.Slice) workload.Slice {
		s.Name, s.Pool, s.Node = r.name("slice", s.Name), r.node(s.Pool), r.node(s.Node)
		s.Devices = each(s.Devices, func(d workload.SliceDevice) workload.SliceDevice {
			d.UUID, d.ParentUUID = r.identifiers(d.UUID), r.identifiers(d.ParentUUID)
			return d
		})
		return s
	})
	return o
}

func (r *Redactor) podObject(p workload.Pod) workload.Pod {
	platform := r.keep[p.Namespace]
	p.Labels = r.labels(p.Labels, platform)
	p.Annotations = r.annotations(p)
	p.Place = workload.Placement{} // names of people's own labels, of which nothing here depends
	if p.ExtendedClaim != "" {
		p.ExtendedClaim = r.claimName(p.Namespace, p.ExtendedClaim)
	}
	p.ClaimNames = each(p.ClaimNames, func(c string) string { return r.claimName(p.Namespace, c) })
	p.Name, p.Namespace = r.pod(p.Namespace, p.Name), r.namespace(p.Namespace)
	p.UID, p.Node, p.IP = r.identifiers(p.UID), r.node(p.Node), hide(p.IP)
	p.Owner.Name, p.Owner.UID = r.name("owner", p.Owner.Name), r.identifiers(p.Owner.UID)
	if !strings.HasPrefix(p.RuntimeClass, "nvidia") {
		p.RuntimeClass = r.name("runtimeclass", p.RuntimeClass)
	}
	p.Containers = each(p.Containers, func(c workload.Container) workload.Container {
		c.Name, c.ID, c.Image = r.name("container", c.Name), r.identifiers(c.ID), r.name("image", c.Image)
		c.Env = r.env(c.Env)
		return c
	})
	return p
}

// labels replaces the values of labels. Of platform pods, the names of the
// applications stay: they tell infrastructure apart.
func (r *Redactor) labels(labels map[string]string, platform bool) map[string]string {
	if labels == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range sortedKeys(labels) {
		value := labels[key]
		switch {
		case isSpoken(key):
			out[key] = r.spokenValue(value)
		case platform && (key == "app" || key == "app.kubernetes.io/name"):
			out[key] = value
		case key == "kubernetes.io/hostname":
			out[key] = r.node(value)
		default:
			out[key] = r.name("value", value)
		}
	}
	return out
}

// spokenValue keeps a value but for identifiers and the names of nodes.
func (r *Redactor) spokenValue(value string) string {
	if node, ok := r.names["node"][value]; ok {
		return node
	}
	return r.identifiers(value)
}

// annotations keeps those by which schedulers speak, with the names of the
// pod's containers replaced in them, and drops the others.
func (r *Redactor) annotations(p workload.Pod) map[string]string {
	if p.Annotations == nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range sortedKeys(p.Annotations) {
		if !isSpoken(key) {
			continue
		}
		value := r.spokenValue(p.Annotations[key])
		for _, c := range p.Containers {
			alias := r.name("container", c.Name)
			key = strings.Replace(key, "/container."+c.Name+".", "/container."+alias+".", 1)
			value = strings.ReplaceAll(value, `"`+c.Name+`"`, `"`+alias+`"`)
			if key == "gpu-fraction-container-name" && value == c.Name {
				value = alias
				break
			}
		}
		out[key] = value
	}
	return out
}

func (r *Redactor) claim(c workload.Claim) workload.Claim {
	c.Reserved = each(c.Reserved, func(v workload.ClaimConsumer) workload.ClaimConsumer {
		return workload.ClaimConsumer{Pod: r.pod(c.Namespace, v.Pod), UID: r.identifiers(v.UID)}
	})
	c.Name, c.Namespace = r.claimName(c.Namespace, c.Name), r.namespace(c.Namespace)
	c.UID, c.Labels = r.identifiers(c.UID), r.labels(c.Labels, false)
	c.Results = each(c.Results, func(v workload.ClaimResult) workload.ClaimResult {
		v.Request, v.Pool, v.ShareID = r.request(v.Request), r.node(v.Pool), r.identifiers(v.ShareID)
		return v
	})
	c.Requests = each(c.Requests, func(v workload.ClaimRequest) workload.ClaimRequest {
		v.Name = r.request(v.Name)
		return v
	})
	return c
}

// request replaces the name of a request, which may be "request/subrequest".
func (r *Redactor) request(name string) string {
	request, sub, several := strings.Cut(name, "/")
	if !several {
		return r.name("request", name)
	}
	return r.name("request", request) + "/" + r.name("request", sub)
}
