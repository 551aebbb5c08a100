// SPDX-License-Identifier: Apache-2.0

package manifest

import "github.com/gputally/gputally/internal/core/guard"

// pod reads a pod's spec.
func pod(spec node) guard.Pod {
	p := guard.Pod{
		RuntimeClass: spec.get("runtimeClassName").text(), Scheduler: spec.get("schedulerName").text(),
		HostPID: spec.get("hostPID").flag(), HostIPC: spec.get("hostIPC").flag(),
	}
	spec.get("volumes").each(func(v node) {
		p.Volumes = append(p.Volumes, guard.Volume{Name: v.get("name").string(), HostPath: v.at("hostPath", "path").text(), ConfigMap: v.at("configMap", "name").string()})
	})
	add := func(key string, role guard.Role) {
		spec.get(key).each(func(c node) {
			if c.is(mapping) {
				p.Containers = append(p.Containers, container(c, role))
			}
		})
	}
	add("initContainers", guard.Init)
	add("containers", guard.Main)
	add("ephemeralContainers", guard.Ephemeral)
	return p
}

func container(n node, role guard.Role) guard.Container {
	if role == guard.Init && n.get("restartPolicy").string() == "Always" {
		role = guard.Sidecar
	}
	c := guard.Container{
		Name: n.get("name").string(), Image: n.get("image").text(), Role: role, Field: n.path, Line: n.line(),
		Privileged: n.at("securityContext", "privileged").flag(),
	}
	n.get("env").each(func(e node) { c.Env = append(c.Env, variable(e)) })
	n.get("envFrom").each(func(e node) { c.EnvFrom = append(c.EnvFrom, sources(e)...) })
	for _, part := range []string{"limits", "requests"} {
		n.at("resources", part).fields(func(resource string, amount node) {
			c.Amounts = append(c.Amounts, guard.Amount{Resource: resource, Value: amount.text()})
		})
	}
	n.at("resources", "claims").each(func(claim node) {
		c.Claims = append(c.Claims, claim.get("name").text())
	})
	n.get("volumeMounts").each(func(m node) {
		c.Mounts = append(c.Mounts, guard.Mount{
			Volume: m.get("name").string(), Path: m.get("mountPath").text(),
			// A path with variables (subPathExpr) may lead to anything in the volume.
			SubPath: m.get("subPath").string(), ReadOnly: m.get("readOnly").flag().True(),
		})
	})
	return c
}

func variable(n node) guard.Variable {
	v := guard.Variable{Name: n.get("name").string(), Value: n.get("value").text()}
	from := n.get("valueFrom")
	if from.there() {
		v.From = reference(from)
	} else if !v.Value.Given { // a name alone sets it to nothing
		v.Value = guard.Text{Field: n.path, Line: n.line(), Given: true}
	}
	return v
}

// reference reads valueFrom. What it does not know counts as something of the
// pod: its value is not in the manifest.
func reference(from node) *guard.Reference {
	for _, s := range []struct{ key, kind string }{{"configMapKeyRef", guard.FromConfigMap}, {"secretKeyRef", guard.FromSecret}} {
		if ref := from.get(s.key); ref.there() {
			at := guard.Text{Value: ref.get("name").string(), Field: ref.path, Line: ref.line(), Given: true}
			return &guard.Reference{Kind: s.kind, Name: at.Value, Key: ref.get("key").string(), At: at}
		}
	}
	return &guard.Reference{Kind: guard.FromPod, At: guard.Text{Field: from.path, Line: from.line(), Given: true}}
}

func sources(n node) (out []guard.Source) {
	for _, s := range []struct{ key, kind string }{{"configMapRef", guard.FromConfigMap}, {"secretRef", guard.FromSecret}} {
		if ref := n.get(s.key); ref.there() {
			name := guard.Text{Value: ref.get("name").string(), Field: ref.path + ".name", Line: ref.line(), Given: true}
			out = append(out, guard.Source{Kind: s.kind, Prefix: n.get("prefix").string(), Name: name})
		}
	}
	return out
}
