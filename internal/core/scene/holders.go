// SPDX-License-Identifier: Apache-2.0

package scene

import (
	"cmp"
	"slices"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// ownersOf are the workloads of pods, by the key of the pod.
func ownersOf(pods []usage.PodRecord) map[string]string {
	out := map[string]string{}
	for i := range pods {
		if p := &pods[i]; p.Owner.Kind != "" {
			out[p.Holder.PodKey()] = p.Owner.Kind + "/" + p.Owner.Name
		}
	}
	return out
}

// holdersNow are those on a partition in a piece: who held memory, then who was
// given it and held none.
func holdersNow(b *usage.Batch, p *usage.PartitionRecord, owners map[string]string) (out []FleetHolder) {
	read := uint64(max(p.MeasuredMS-p.NoMemoryMS, 0))
	for i := range b.Holders {
		h := &b.Holders[i]
		if h.Partition != p.Partition || h.StartMS != p.StartMS {
			continue
		}
		x := holderOf(&h.Holder, owners)
		x.Grade, x.Leak = h.Grade, h.Leak
		if h.KnownMS > 0 && read > 0 {
			bytes := h.ByteMS / read
			x.Bytes = &bytes
		}
		out = append(out, x)
	}
	for i := range b.Grants {
		if g := &b.Grants[i]; g.Partition == p.Partition && g.StartMS == p.StartMS {
			out = granted(out, g, owners)
		}
	}
	slices.SortStableFunc(out, func(a, b FleetHolder) int {
		return cmp.Or(cmp.Compare(size64(b.Bytes), size64(a.Bytes)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return out
}

// granted marks the holders that a grant is of. What it reserves stands once for
// the pod, with its first container.
func granted(out []FleetHolder, g *usage.GrantRecord, owners map[string]string) []FleetHolder {
	found := false
	for i := range out {
		if x := &out[i]; x.Kind == workload.KindPod && samePod(x, &g.Grant.Holder) {
			x.Granted = true
			if !found {
				x.Reserved = g.Grant.ReservedBytes
			}
			found = true
		}
	}
	if found {
		return out
	}
	x := holderOf(&g.Grant.Holder, owners)
	x.Granted, x.Reserved = true, g.Grant.ReservedBytes
	return append(out, x)
}

func samePod(x *FleetHolder, h *workload.Holder) bool {
	if x.PodUID != "" || h.PodUID != "" {
		return x.PodUID == h.PodUID
	}
	return x.Namespace == h.Namespace && x.Pod == h.Pod
}

func holderOf(h *workload.Holder, owners map[string]string) FleetHolder {
	return FleetHolder{Kind: h.Kind, Namespace: h.Namespace, Pod: h.Pod, PodUID: h.PodUID, Container: h.Container, Unit: h.Unit, Workload: owners[h.PodKey()]}
}

func size64(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

func findingOf(f *attribution.Finding) FleetFinding {
	out := FleetFinding{Kind: f.Kind, Severity: f.Severity, Device: f.Device, Partition: f.Partition, Victims: f.Victims, Bytes: f.Bytes, Detail: f.Detail, Evidence: f.Evidence}
	out.Said.Detail = factOf(f.Detail)
	for _, text := range f.Evidence {
		out.Said.Evidence = append(out.Said.Evidence, factOf(text))
	}
	if f.Holder != (workload.Holder{}) {
		out.Account = f.Holder.Account()
		if f.Holder.Kind == workload.KindHost || f.Holder.Kind == workload.KindDaemon {
			out.Account += " " + cmp.Or(f.Holder.Unit, f.Holder.Pod)
		}
	}
	return out
}

// factOf is a sentence as it is understood.
func factOf(text string) FindingFact {
	s, _ := attribution.Wording.Understand(text)
	return FindingFact{s.Code, s.Values}
}
