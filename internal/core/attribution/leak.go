// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// unnamedGrace is how long a pod may be known by its UID alone, in
// milliseconds, before its holdings can be called a leak: the API server's
// watch may lag behind the first kernel of a new pod.
const unnamedGrace = 60_000

// findLeaks marks holdings of pods that have no grant on the partition, and
// reports each with those whose memory it takes.
func (w *work) findLeaks() {
	if w.s.Standalone {
		return
	}
	for _, p := range w.inv.parts {
		for i := range p.Holdings {
			h := &p.Holdings[i]
			if w.isLeak(p, h.Holder) {
				h.Leak = true
				w.reportLeak(p, *h)
			}
		}
		w.reportOrphans(p)
	}
}

func (w *work) isLeak(p *part, h workload.Holder) bool {
	if h.Kind != workload.KindPod || w.grants.has(p, h) || w.unresolved[h.PodKey()] {
		return false
	}
	if !w.s.Grants.Readable {
		// Nothing can be proven now; what was a leak before still is.
		return w.memory.leaks[leakKey(p, h)]
	}
	if h.Pod != "" {
		return true
	}
	return w.provenStranger(h)
}

// provenStranger: a pod known by UID only is a leak once its name has had
// time to arrive and every grant of the node is another pod's, by UID.
func (w *work) provenStranger(h workload.Holder) bool {
	if !w.s.Objects.Known || w.objectsStale() || w.s.MonoMS-w.memory.since(h.PodUID, w.s.MonoMS) < unnamedGrace {
		return false
	}
	for _, byPod := range w.grants {
		for _, d := range byPod {
			if d.Holder.PodUID == "" {
				return false
			}
		}
	}
	return true
}

// objectsStale: the API server cannot be reached, so that a name may have
// passed to another pod, or a pod be older than it seems, unheard.
func (w *work) objectsStale() bool {
	st, told := w.s.Sources[sample.SourceObjects]
	return told && !st.OK
}

func (w *work) reportLeak(p *part, h Holding) {
	holder := h.Holder
	holder.Container = ""
	f := Finding{
		Kind: UnallocatedUse, Severity: Warning, Holder: holder, Partition: p.ID.String(), Device: p.ID.Device,
		Bytes: h.Bytes, Detail: "holds GPU memory without a grant on this partition",
		Evidence: []string{fmt.Sprintf("processes %v hold memory here; the kubelet's list, claims and annotations grant nothing", h.PIDs)},
	}
	f.Evidence = append(f.Evidence, w.ignored[h.Holder.PodKey()]...)
	for _, g := range p.Grants {
		if !g.Admin {
			f.Victims = append(f.Victims, g.Holder.Account())
		}
	}
	if len(f.Victims) > 0 {
		f.Severity = Critical
	}
	w.find(f)
}

// reportOrphans notes memory held by processes that /proc no longer has.
func (w *work) reportOrphans(p *part) {
	for _, h := range p.held {
		if o := w.owners[h.PID]; o.gone && o.holder.Kind == workload.KindUnknown && w.knowsProcesses() {
			w.find(Finding{
				Kind: OrphanedMemory, Severity: Info, Partition: p.ID.String(), Device: p.ID.Device,
				PID: h.PID, Bytes: h.Bytes,
				Detail: "NVML lists a process that this host does not have: it ended and its memory was not freed, or it runs in another PID or VM domain",
			})
		}
	}
}

// knowsProcesses: /proc could be read at all. Without the host's PID
// namespace no process is found, and none is an orphan.
func (w *work) knowsProcesses() bool {
	for _, p := range w.s.Processes {
		if !p.Gone {
			return true
		}
	}
	return false
}

// findOverLimit reports pods that hold more than their grant lets them have.
func (w *work) findOverLimit() {
	for _, p := range w.inv.parts {
		for _, g := range p.Grants {
			if g.LimitBytes == nil {
				continue
			}
			held := podBytes(p, g.Holder)
			if held <= *g.LimitBytes {
				continue
			}
			over := held - *g.LimitBytes
			w.find(Finding{
				Kind: OverLimit, Severity: overSeverity(g, over), Holder: g.Holder,
				Partition: p.ID.String(), Device: p.ID.Device, Bytes: &over,
				Detail: fmt.Sprintf("holds %d MiB where its grant (%s) allows %d MiB", held/gpu.MiB, g.Source, *g.LimitBytes/gpu.MiB),
			})
		}
	}
}

// contextBytes is what CUDA contexts may add on top of a limit that counts
// allocations only, as HAMi's does (HAMi#446: 100 to 500 MiB per context).
const contextBytes = 1024 * gpu.MiB

func overSeverity(g Grant, over uint64) Severity {
	if g.Source == "hami" && over < contextBytes {
		return Info
	}
	return Warning
}

func podBytes(p *part, pod workload.Holder) uint64 {
	var sum uint64
	for _, h := range p.Holdings {
		if h.Holder.Kind == workload.KindPod && h.Holder.PodKey() == pod.PodKey() && h.Bytes != nil {
			sum += *h.Bytes
		}
	}
	return sum
}
