// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// draft is a grant in the making: what the sources said, before the sharing
// mode turns it into a reserved share.
type draft struct {
	Grant
	// whole: the device plugin gave the device itself, not a slot or replica.
	// No annotation of the pod makes that less: pods can write their own.
	whole bool
	// shared: the id was a replica, a turn at the device rather than all of it.
	shared bool
	// share is the part of the partition that the ids stand for (compute
	// instances of a MIG instance), the whole elsewhere.
	share gpu.Ratio
	// fraction is the memory granted as a share of the device, and bytes the
	// same in bytes; one of them under HAMi, KAI and consumable capacity.
	fraction gpu.Ratio
	bytes    *uint64
	isPart   bool // fraction or bytes apply
	// sharers is how many active pods have the claim.
	sharers int
	// vague: from a claim whose object is not known.
	vague bool
	// carried: from an earlier list, since this one cannot tell; its r is as it
	// was, and why says in a few words what the list lacks.
	carried bool
	why     string
}

// grantSet holds one draft per partition and pod: r counts once per pod,
// however many containers or ids name the partition.
type grantSet map[*part]map[string]*draft

func (g grantSet) has(p *part, h workload.Holder) bool {
	_, ok := g[p][h.PodKey()]
	return ok
}

// of returns the pod's draft on the partition, made if needed.
func (g grantSet) of(p *part, pod workload.Holder, source string) *draft {
	byPod := g[p]
	if byPod == nil {
		byPod = map[string]*draft{}
		g[p] = byPod
	}
	d := byPod[pod.PodKey()]
	if d == nil {
		d = &draft{Grant: Grant{Holder: pod, Source: source}}
		byPod[pod.PodKey()] = d
	}
	return d
}

// sorted are the drafts of a partition in the order of their holders.
func (g grantSet) sorted(p *part) []*draft {
	out := make([]*draft, 0, len(g[p]))
	for _, d := range g[p] {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b *draft) int { return a.Holder.Compare(b.Holder) })
	return out
}

// ask adds one id, as held by a container, to the draft. It reports whether the
// draft did not have it yet: several containers may share what they name.
func (d *draft) ask(container, resource, id string, share gpu.Ratio) (first bool) {
	if container != "" && !slices.Contains(d.Containers, container) {
		d.Containers = append(d.Containers, container)
		slices.Sort(d.Containers)
	}
	d.Resource = resource
	if id == "" || slices.Contains(d.DeviceIDs, id) {
		return false
	}
	d.DeviceIDs = append(d.DeviceIDs, id)
	slices.Sort(d.DeviceIDs)
	d.Replicas++
	d.share = addShare(d.share, share)
	return true
}

// addShare sums shares of one partition; compute instances of an instance
// have the same denominator.
func addShare(a, b gpu.Ratio) gpu.Ratio {
	if a.IsZero() || a.Den != b.Den {
		return b
	}
	return gpu.Ratio{Num: min(a.Num+b.Num, a.Den), Den: a.Den}
}

// collectGrants gathers the grants of every source. Where an annotation
// scheduler placed a pod, its annotation is the truth and the kubelet's ids
// are not (domain facts: HAMi's pool slots name other cards).
func (w *work) collectGrants() {
	if w.s.Standalone {
		return
	}
	w.running = w.provenRunning()
	w.findReservations()
	if w.s.Grants.Readable {
		w.listed = listOf(w.s.Grants.Pods)
		for _, pr := range w.s.Grants.Pods {
			w.fromKubelet(pr)
		}
		w.keepUnnamed()
	} else {
		w.carryGrants()
	}
	for _, pod := range w.s.Objects.Pods {
		if w.runs(pod) && w.attested(pod) {
			w.fromScheduler(pod)
		}
	}
	w.fromReservations()
	w.settleClaims()
	w.pinClaims()
	w.inferGrants()
	w.grantUnresolved()
}

// listOf is the kubelet's list by pod. A name that is listed twice is one pod
// that was replaced and another: what both have is the name's.
func listOf(pods []workload.PodResources) map[string]*workload.PodResources {
	out := make(map[string]*workload.PodResources, len(pods))
	for _, pr := range pods {
		key := pr.Namespace + "/" + pr.Name
		if before, ok := out[key]; ok {
			pr.Containers = slices.Concat(before.Containers, pr.Containers)
		}
		out[key] = &pr
	}
	return out
}

// runs: the pod's grants stand. One whose object was deleted by force keeps
// them for as long as a process of it shows that the kubelet has not ended it.
func (w *work) runs(pod workload.Pod) bool {
	if !pod.Gone {
		return !pod.Ended()
	}
	return pod.Phase != workload.PhaseSucceeded && pod.Phase != workload.PhaseFailed && w.running[pod.UID]
}

// attested: something says that the pod is there now. The kubelet lists every
// pod that it runs, whatever it was given; where it lists one not, or nothing
// can be read, a process does, or the API server, if it can be reached.
func (w *work) attested(pod workload.Pod) bool {
	_, named := w.listed[pod.Key()]
	return named || w.running[pod.UID] || !w.s.Grants.Readable && !w.objectsStale()
}

// fromKubelet takes one pod of the PodResources list.
func (w *work) fromKubelet(pr workload.PodResources) {
	pod, known := w.pods.ByName(pr.Namespace, pr.Name)
	holder := workload.Holder{Kind: workload.KindPod, Namespace: pr.Namespace, Pod: pr.Name}
	if known && !pod.Gone {
		// The list lags: a pod that ended has no grant, whatever it says.
		if pod.Ended() {
			return
		}
		holder = podHolder(pod)
	}
	if known && pod.Gone && w.runs(pod) {
		// Deleted by force, and the kubelet has not ended it yet.
		holder = podHolder(pod)
	}
	if _, ok := w.reservations[holder.PodKey()]; ok {
		return
	}
	placed := w.annotationOf(pod)
	for _, c := range pr.Containers {
		w.fromDevices(holder, c, placed)
		for _, claim := range c.Dynamic {
			w.fromClaim(holder, c.Name, claim)
		}
	}
}

// fromDevices takes the device plugin ids of one container. Of a pod that an
// annotation scheduler placed, the ids of that scheduler's plugin name no
// device: its annotation does.
func (w *work) fromDevices(holder workload.Holder, c workload.ContainerResources, placed annotation) {
	for _, rd := range c.Devices {
		if !w.isGPU(rd.Resource) {
			continue
		}
		for _, id := range rd.IDs {
			parsed := workload.ParseDeviceID(id)
			switch {
			case placed.explains(rd.Resource, parsed):
			case parsed.Form == workload.FormHAMiSlot:
				w.slotAlone(holder, id)
			default:
				w.fromDeviceID(holder, c.Name, rd.Resource, id)
			}
		}
	}
}

// slotAlone notes a slot of HAMi's pool without the annotation that says which
// device it is a slot of: the UUID in it is any card's of the pool.
func (w *work) slotAlone(holder workload.Holder, id string) {
	w.owe(holder, workload.SourceHAMi, 1)
	if !w.s.Objects.Known || !w.s.NVML.OK {
		return
	}
	w.find(Finding{
		Kind: InventoryConflict, Severity: Warning, Holder: holder,
		Detail:   "the kubelet granted slots of HAMi's pool, and no annotation of HAMi's says on which GPU",
		Evidence: []string{"kubelet device id " + id},
	})
}

func isWhole(id workload.DeviceID) bool { return id.Form == workload.FormUUID && !id.Shared }

func (w *work) fromDeviceID(holder workload.Holder, container, resource, id string) {
	parsed := workload.ParseDeviceID(id)
	targets := w.inv.slot(id)
	if targets == nil {
		targets = w.inv.resolve(parsed)
	}
	if len(targets) == 0 {
		w.unresolvedID(holder, resource, id, parsed)
		return
	}
	for _, t := range targets {
		d := w.grants.of(t.part, holder, "kubelet")
		d.Admin = false // observing takes nothing from what it was given besides
		d.ask(container, resource, id, t.share)
		d.whole = d.whole || isWhole(parsed)
		d.shared = d.shared || parsed.Shared || w.offeredTwice(parsed, resource)
	}
}

// offeredTwice: an opaque id is a turn at a partition, and not all of it, when
// the node offers more of the resource than it has partitions.
func (w *work) offeredTwice(id workload.DeviceID, resource string) bool {
	return id.Form == workload.FormOpaque && w.offered(resource) > int64(len(w.inv.grantable()))
}

// offered is how many units of a resource the node offers; 0 if unknown.
func (w *work) offered(resource string) int64 {
	var n int64
	for _, rd := range w.s.Grants.Allocatable {
		if rd.Resource == resource {
			n += int64(len(rd.IDs))
		}
	}
	if n == 0 && w.s.Objects.Node != nil {
		n = w.s.Objects.Node.Allocatable[resource]
	}
	return n
}

// unresolvedID records an id that names no partition here. The UUID of a card
// that is no longer there is stale and pays nothing; anything else leaves the
// pod in the right wherever it holds memory.
func (w *work) unresolvedID(holder workload.Holder, resource, id string, parsed workload.DeviceID) {
	f := Finding{
		Severity: Warning, Holder: holder, Resource: resource,
		Evidence: []string{"kubelet device id " + id},
	}
	named := parsed.Form == workload.FormUUID || parsed.Form == workload.FormMIG
	_, present := w.inv.byUUID[parsed.UUID]
	switch {
	case !w.s.NVML.OK:
		w.unresolved[holder.PodKey()] = true
		return
	case named && !present:
		f.Kind, f.Device = StaleDeviceID, parsed.UUID
		f.Detail = "the kubelet granted " + id + ", which NVML does not have: the card or MIG instance was replaced; restart the pod and the device plugin"
	default:
		w.unresolved[holder.PodKey()] = true
		f.Kind = InventoryConflict
		f.Detail = "the kubelet granted " + id + " of " + resource + ", which leads to no GPU or MIG instance that NVML has"
	}
	w.find(f)
}

// grantUnresolved gives a pod whose grant led to no partition a grant without
// a reserved share wherever it holds memory (accounting.md §4.2).
func (w *work) grantUnresolved() {
	for _, p := range w.inv.parts {
		for _, h := range p.held {
			o := w.owners[h.PID]
			key := o.holder.PodKey()
			if o.holder.Kind != workload.KindPod || !w.unresolved[key] || w.grants.has(p, o.holder) {
				continue
			}
			holder := o.holder
			holder.Container = ""
			d := w.grants.of(p, holder, "kubelet")
			d.shared, d.isPart = true, false
		}
	}
}
