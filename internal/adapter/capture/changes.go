// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// known is what a reader of the lines so far knows: each thing in the JSON in
// which it was written last. It begins as a reader's state does.
type known struct {
	whole     map[string][]byte
	gpus      map[gpu.UUID]map[string]json.RawMessage
	processes map[string]json.RawMessage
	usage     map[string]json.RawMessage
	sources   map[string]json.RawMessage
	objects   map[reference]json.RawMessage
	allKnown  bool
}

func newKnown() known {
	return known{
		whole: map[string][]byte{
			"nvml": []byte(`{"ok":true}`), "standalone": []byte("false"), "podresources": []byte("[]"),
			"allocatable": []byte("null"), "reach": []byte("null"),
		},
		objects: map[reference]json.RawMessage{}, allKnown: true,
	}
}

var null = json.RawMessage("null")

// update puts what differs from the last sample into the line. The known state
// may only be used further if it returns no error.
func (k *known) update(e *entryLine, s sample.Sample) error {
	m := marshaller{}
	e.NVML = k.changed("nvml", m.json(s.NVML))
	e.Standalone = k.changed("standalone", m.json(s.Standalone))
	e.PodResources = k.changed("podresources", m.podResources(s.Grants))
	e.Allocatable = k.changed("allocatable", m.json(s.Grants.Allocatable))
	e.Reach = k.changed("reach", m.json(s.Reach))
	if len(s.Engines) > 0 {
		e.Engines = m.json(s.Engines)
	}
	processes := map[string]json.RawMessage{}
	for pid, p := range s.Processes {
		processes[strconv.Itoa(pid)] = m.json(p)
	}
	e.Processes, k.processes = diff(k.processes, processes), processes
	pods := map[string]json.RawMessage{}
	for _, u := range s.Usage {
		pods[u.PodUID] = m.json(usage{u.CPUNanos, u.MemoryBytes})
	}
	e.PodUsage, k.usage = diff(k.usage, pods), pods
	sources := map[string]json.RawMessage{}
	for name, status := range s.Sources {
		sources[name] = m.json(status)
	}
	e.Sources, k.sources = diff(k.sources, sources), sources
	e.GPUs = k.devices(&m, s.Devices)
	e.Reduced = k.reduced(&m, s.Objects)
	return m.err
}

// changed returns the value if it is another than was known.
func (k *known) changed(key string, v json.RawMessage) json.RawMessage {
	if bytes.Equal(k.whole[key], v) {
		return nil
	}
	k.whole[key] = v
	return v
}

// diff lists what is new or other in now, and null for what is gone.
func diff(before, now map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for key, v := range now {
		if !bytes.Equal(before[key], v) {
			out[key] = v
		}
	}
	for key := range before {
		if _, still := now[key]; !still {
			out[key] = null
		}
	}
	return out
}

// devices lists the changes to GPUs, key by key.
func (k *known) devices(m *marshaller, devices []sample.Device) map[gpu.UUID]map[string]json.RawMessage {
	now, out := map[gpu.UUID]map[string]json.RawMessage{}, map[gpu.UUID]map[string]json.RawMessage{}
	for _, dev := range devices {
		before := k.gpus[dev.UUID]
		fields := m.device(dev, before)
		changes := diff(before, fields)
		m.moment(changes, dev)
		if len(changes) > 0 {
			out[dev.UUID] = changes
		}
		now[dev.UUID] = fields
	}
	for uuid := range k.gpus {
		if now[uuid] == nil {
			out[uuid] = nil
		}
	}
	k.gpus = now
	return out
}

// reduced lists the changes to Kubernetes objects.
func (k *known) reduced(m *marshaller, o sample.Objects) *reducedObjects {
	var r reducedObjects
	now := map[reference]json.RawMessage{}
	is := func(ref reference, v any) (other bool) {
		now[ref] = m.json(v)
		return !bytes.Equal(now[ref], k.objects[ref])
	}
	if o.Known != k.allKnown {
		r.Known, k.allKnown = new(o.Known), o.Known
	}
	if o.Node != nil && is(reference{Kind: "Node"}, o.Node) {
		r.Node = o.Node
	}
	for _, p := range o.Pods {
		if is(podKey(p).reference("Pod"), p) {
			r.Pods = append(r.Pods, p)
		}
	}
	for _, c := range o.Claims {
		if is(claimKey(c).reference("ResourceClaim"), c) {
			r.Claims = append(r.Claims, c)
		}
	}
	for _, s := range o.Slices {
		if is(sliceKey(s).reference("ResourceSlice"), s) {
			r.Slices = append(r.Slices, s)
		}
	}
	for _, ref := range sortedReferences(k.objects) {
		if now[ref] == nil {
			r.Forget = append(r.Forget, ref)
		}
	}
	k.objects = now
	if r.Known == nil && r.Node == nil && len(r.Pods)+len(r.Claims)+len(r.Slices)+len(r.Forget) == 0 {
		return nil
	}
	return &r
}

// marshaller writes JSON and keeps the first error.
type marshaller struct{ err error }

func (m *marshaller) json(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		if m.err == nil {
			m.err = err
		}
		return null
	}
	return b
}

func (m *marshaller) podResources(g sample.Grants) json.RawMessage {
	switch {
	case !g.Readable:
		return null
	case g.Pods == nil:
		return m.json([]workload.PodResources{})
	}
	return m.json(g.Pods)
}
