// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// templates says where the objects that make pods keep their template. The group
// counts: another group's Job is another thing.
var templates = map[string][]string{
	"/Pod":                   nil,
	"/PodTemplate":           {"template"},
	"/ReplicationController": {"spec", "template"},
	"apps/Deployment":        {"spec", "template"},
	"apps/StatefulSet":       {"spec", "template"},
	"apps/DaemonSet":         {"spec", "template"},
	"apps/ReplicaSet":        {"spec", "template"},
	"extensions/Deployment":  {"spec", "template"},
	"extensions/DaemonSet":   {"spec", "template"},
	"extensions/ReplicaSet":  {"spec", "template"},
	"batch/Job":              {"spec", "template"},
	"batch/CronJob":          {"spec", "jobTemplate", "spec", "template"},
}

// reading is one document while it is read.
type reading struct {
	out       *Result
	file      string
	number    int
	namespace string        // of objects that name none
	of        *guard.Object // what made the pod, where the reader was told
	again     int           // how often a value was read that had been read before
}

func (r *reading) mistake(line int, field, message string) {
	m := Mistake{File: r.file, Document: r.number, Line: line, Field: field, Message: message}
	if n := len(r.out.Mistakes); n > 0 && r.out.Mistakes[n-1] == m {
		return
	}
	r.out.Mistakes = append(r.out.Mistakes, m)
}

// spent: so much was read again and again that the rest of the document is left.
// A short text can stand for an endless one where aliases are used.
func (r *reading) spent(v *value) bool {
	if !v.read {
		v.read = true
		return r.again > maxAgain
	}
	if r.again++; r.again == maxAgain+1 {
		r.mistake(v.line, "", fmt.Sprintf("aliases (*name) are used for more than %d values; write them out, or split the document", maxAgain))
	}
	return r.again > maxAgain
}

func (r *reading) skip(n node, object, reason string, template bool) {
	r.out.Skipped = append(r.out.Skipped, Skipped{File: r.file, Document: r.number, Line: n.line(), Object: object, Reason: reason, Template: template})
}

// object reads one object, or those of a List. Of is the kind of a typed list's
// items, which need not say it themselves.
func (r *reading) object(n node, of kind) {
	if !n.is(mapping) {
		return
	}
	k := kindOf(n, of)
	items := n.get("items")
	switch {
	case k.name == "" && isPluginConfig(n):
		r.pluginFile(n)
	case k.name == "":
		r.nameless(n)
	case strings.HasSuffix(k.name, "List") && (items.there() || k.name == "List"):
		k.name = strings.TrimSuffix(k.name, "List")
		items.each(func(item node) { r.object(item, k) })
	case k == kind{"", "ConfigMap"}:
		r.configMap(n)
		r.pluginConfigMap(n, r.namespaceOf(n))
	case k == kind{"nvidia.com", "ClusterPolicy"}:
		r.clusterPolicy(n)
	case k == kind{"node.k8s.io", "RuntimeClass"}:
		r.out.Input.RuntimeClasses = append(r.out.Input.RuntimeClasses, guard.RuntimeClass{
			Name: n.at("metadata", "name").string(), Handler: n.get("handler").string(),
		})
	default:
		r.workload(n, k)
	}
}

// kind is a kind of object, with the group of its API; the core group is empty.
type kind struct{ group, name string }

func kindOf(n node, of kind) kind {
	k := n.get("kind").string()
	if k == "" {
		return of
	}
	group, _, ok := strings.Cut(n.get("apiVersion").string(), "/")
	if !ok {
		group = ""
	}
	return kind{group, k}
}

// nameless is a document without a kind: a mistake where a manifest is asked
// for, and to be expected among the files of a directory.
func (r *reading) nameless(n node) {
	if r.out.walking {
		r.skip(n, "", "has no kind: it is no object of Kubernetes", false)
		return
	}
	r.mistake(n.line(), "kind", "is missing: this is no object of Kubernetes; give apiVersion and kind, or leave the document out")
}

func (r *reading) configMap(n node) {
	m := guard.ConfigMap{Namespace: r.namespaceOf(n), Name: n.at("metadata", "name").string(), Data: map[string]string{}}
	n.get("data").fields(func(key string, field node) { m.Data[key] = field.string() })
	r.out.Input.ConfigMaps = append(r.out.Input.ConfigMaps, m)
}

func (r *reading) namespaceOf(n node) string {
	if ns := n.at("metadata", "namespace").string(); ns != "" {
		return ns
	}
	return r.namespace
}

func (r *reading) workload(n node, k kind) {
	name := n.at("metadata", "name").string()
	if name == "" {
		name = n.at("metadata", "generateName").string()
	}
	path, ok := templates[k.group+"/"+k.name]
	if !ok {
		if where := podSpecIn(n.v, "", map[*value]bool{}, 0); where != "" {
			r.skip(n, k.name+" "+name, fmt.Sprintf("kind %s of %s is not known; the pod template at %s is not looked at", k.name, groupText(k.group), where), true)
		}
		return
	}
	w := guard.Workload{
		Object: guard.Object{Kind: k.name, Namespace: r.namespaceOf(n), Name: name},
		File:   r.file, Document: r.number, Line: n.line(), Of: r.of,
	}
	template := n.at(path...)
	if len(path) > 0 {
		w.Notes = notes(n.at("metadata", "annotations"))
	}
	w.PodNotes = notes(template.at("metadata", "annotations"))
	spec := template.get("spec")
	if !spec.there() {
		r.mistake(n.line(), strings.Join(append(path, "spec"), "."), fmt.Sprintf("is missing: %s %s has no pod to look at", k.name, name))
		return
	}
	w.Pod = pod(spec)
	r.out.Input.Workloads = append(r.out.Input.Workloads, w)
}

func groupText(group string) string {
	if group == "" {
		return "the core group"
	}
	return "group " + group
}

func notes(n node) (out []guard.Note) {
	n.fields(func(key string, field node) { out = append(out, guard.Note{Key: key, Value: field.text()}) })
	return out
}

// podSpecIn is the path of the first pod spec in a value, "" where there is
// none: a mapping with a list of containers that have names or images.
func podSpecIn(v *value, path string, seen map[*value]bool, depth int) string {
	if v == nil || seen[v] || depth > maxDepth {
		return ""
	}
	seen[v] = true
	if c := v.fields["containers"]; c != nil && c.shape == list {
		for _, item := range c.items {
			if item.fields["image"] != nil || item.fields["name"] != nil {
				return strings.TrimPrefix(path, ".")
			}
		}
	}
	for _, k := range v.keys {
		if found := podSpecIn(v.fields[k], path+"."+k, seen, depth+1); found != "" {
			return found
		}
	}
	for i, item := range v.items {
		if found := podSpecIn(item, fmt.Sprintf("%s[%d]", path, i), seen, depth+1); found != "" {
			return found
		}
	}
	return ""
}
