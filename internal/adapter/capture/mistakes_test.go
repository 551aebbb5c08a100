// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"strings"
	"testing"
)

// TestMistakesNameTheirPlace: each mistake is reported with file, line and
// field, and what to do.
func TestMistakesNameTheirPlace(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no version", "id: x\n", `story.yaml:1: capture: is missing; add it`},
		{"other version", "capture: 2\n", `story.yaml:1: capture: is version "2"; this program reads version 1`},
		{"unknown field on top", strings.Replace(head, "interval", "intervall", 1), `story.yaml:3: intervall: is not a field that a capture knows here`},
		{"unknown field of a GPU", head + "- at: 0\n  gpus:\n    GPU-1:\n      used_mb: 5\n", `story.yaml:11: timeline[0].gpus.GPU-1.used_mb: is not a field that a capture knows here`},
		{"unknown field of an entry", head + "- {at: 0, cgroup: {}}\n", `story.yaml:8: timeline[0].cgroup: is not a field`},
		{"unknown field of a list", head + "- at: 0\n  podresources:\n  - {namespace: a, name: b,\n     container: []}\n", `story.yaml:11: timeline[0].podresources.container: is not a field that belongs here`},
		{"unknown field of an object", head + "- at: 0\n  objects:\n  - kind: Pod\n    metadata: {name: a}\n    spec:\n      container: []\n", `story.yaml:13: timeline[0].objects[0].spec.container: is not a field that belongs here`},
		{"case", head + "- at: 0\n  podresources:\n  - {Namespace: a, name: b}\n", `story.yaml:10: timeline[0].podresources.Namespace: is not a field that belongs here`},
		{"type inside", head + "- at: 0\n  podresources:\n  - {namespace: a,\n     name: [b]}\n", `story.yaml:11: timeline[0].podresources.name: is a list; write a value of type string`},
		{"unknown kind", head + "- {at: 0, objects: [{kind: Secret}]}\n", `story.yaml:8: timeline[0].objects[0]`},
		{"unknown expectation", head + "- {at: 0, gpus: {GPU-1: {used_mib: 1}}}\nexpect:\n  split: []\n", `story.yaml:10: expect.split: is not a field`},
		{"two sizes", head + "- {at: 0, gpus: {GPU-1: {used_mib: 5, used_bytes: 5}}}\n", `story.yaml:8: timeline[0].gpus.GPU-1.used_bytes: stands beside used_mib; keep one of them`},
		{"no number", head + "- {at: 0, gpus: {GPU-1: {used_mib: lots}}}\n", `timeline[0].gpus.GPU-1.used_mib: is a text ("lots"); write a whole number`},
		{"negative", head + "- {at: 0, gpus: {GPU-1: {used_mib: -1}}}\n", `write a whole number, 0 or more`},
		{"too large", head + "- {at: 0, gpus: {GPU-1: {used_mib: 18446744073709551615}}}\n", `more than 64 bits of bytes`},
		{"process without size", head + "- {at: 0, gpus: {GPU-1: {processes: [{pid: 1}]}}}\n", `timeline[0].gpus.GPU-1.processes[0].used_mib: is missing; write the size, or null`},
		{"kind of process", head + "- {at: 0, gpus: {GPU-1: {processes: [{pid: 1, used_mib: 1, kind: cuda}]}}}\n", `is "cuda"; write compute, graphics or mps`},
		{"state", head + "- {at: 0, gpus: {GPU-1: {state: broken}}}\n", `is "broken"; write ok, lost, hung`},
		{"unknown GPU", head + "- {at: 0, gpus: {GPU-1: {used_mib: 1}, GPU-2: {used_mib: 1}}}\n", `timeline[0].gpus.GPU-2: is not a GPU of node n`},
		{"silence", head + "- {at: 0}\n", `story.yaml:6: nodes.n.GPU-1: has a size, but the timeline never says what is used`},
		{"unknown node", head + "- {at: 0, node: m}\n", `timeline[0].node: is "m", which is not in nodes`},
		{"object of an unknown node", head + "- {at: 0, objects: [{kind: Node, metadata: {name: m}}]}\n", `is an object of node "m", which is not in nodes`},
		{"disorder", head + "- {at: 5}\n- {at: 4}\n", `story.yaml:9: timeline[1].at: is earlier than the entry before it`},
		{"fine time", head + "- {at: 0.0001}\n", `timeline[0].at: is a number ("0.0001"); write seconds, with at most three decimals`},
		{"window", strings.Replace(head, "10:01:00Z", "09:00:00Z", 1), `story.yaml:2: window.end: is not after window.start`},
		{"interval", strings.Replace(head, "interval: 20", "interval: 0", 1), `story.yaml:3: interval: is 0; write 100 ms to 1 h`},
		{"node twice", strings.Replace(head, "timeline:", "- name: n\ntimeline:", 1), `story.yaml:7: nodes[1].name: is "n", which another node has`},
		{"key twice", "capture: 1\ncapture: 1\n", `story.yaml:2:`},
		{"alias", "capture: &a 1\nid: *a\n", `story.yaml:1: capture: uses a YAML anchor, which a capture may not`},
		{"no YAML", "capture: [1\n", `story.yaml:1: this is not valid YAML`},
		{"MIG instance twice", head + "- {at: 0, gpus: {GPU-1: {mig: [{gi: 1, uuid: a, placement: {start: 0, size: 1}}, {gi: 1, uuid: b, placement: {start: 0, size: 1}}]}}}\n", `timeline[0].gpus.GPU-1.mig[1].gi: is 1 again`},
		{"MIG sizes", head + "- {at: 0, gpus: {GPU-1: {mig: [{gi: 1, uuid: a, memory_slices: 2, placement: {start: 0, size: 1}}]}}}\n", `memory_slices: is 2, but the placement has size 1`},
		{"pid", head + "- {at: 0, comm: {x: python}}\n", `timeline[0].comm.x: is not a process id`},
		{"deep", "capture: " + strings.Repeat("[", 70) + strings.Repeat("]", 70), `nested more than 64 levels deep`},
		{"JSON", `{"capture": 1, "wndow": {}}`, `story.yaml:1: window: is missing`},
		{"JSON lines", "{\"capture\":1,\"window\":{\"start\":\"2026-11-03T10:00:00Z\"},\"nodes\":[{\"name\":\"n\"}]}\n{\"at\":0}\n{\"at\":1,\"gpu\":{}}\n", `story.yaml:3: timeline[1].gpu: is not a field`},
		{"nulls", head + "- {at: 0, gpus: {GPU-1: {used_mib: 1}}}\nexpect: {nulls: [a/b at 3]}\n", `nulls has "a/b at 3"; write`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tc.text), "story.yaml")
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v (%T), want an *Error", err, err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is\n  %v\nwant it to contain\n  %s", err, tc.want)
			}
		})
	}
}
