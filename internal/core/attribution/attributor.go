// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Attributor turns samples into results, in the order of their time. It keeps
// only what a single sample cannot say: who a process was before it left
// /proc, and which grants stood when they were last readable.
type Attributor struct {
	policy Policy
	memory memory
	recall recall
}

// New makes an attributor for one node.
func New(policy Policy) *Attributor {
	return &Attributor{policy: policy, memory: newMemory(), recall: newRecall()}
}

// Attribute answers who holds what on each partition at the sample's moment.
// It does not change the sample. Equal histories give equal results.
func (a *Attributor) Attribute(s sample.Sample) Result {
	w := newWork(a, s)
	w.identify()
	w.collectGrants()
	w.dropReused()
	w.setModes()
	w.findOverbooked()
	for _, p := range w.inv.parts {
		w.split(p)
	}
	w.findLeaks()
	w.splitOutside()
	w.findOverLimit()
	w.findExternal()
	w.findExposure()
	w.findInvisible()
	w.findStaleResources()
	w.findUnhealthy()
	a.memory.remember(w)
	a.recall = w.recall
	return w.result()
}

// work is the state of attributing one sample.
type work struct {
	policy  Policy
	memory  *memory
	s       sample.Sample
	inv     *inventory
	pods    workload.PodIndex
	devices workload.SliceIndex
	claims  map[string]workload.Claim
	owners  map[int]owner
	grants  grantSet
	// replicaIDs is how many replicas of each partition the kubelet offers.
	replicaIDs map[*part]int64
	findings   []Finding
	// found is where each finding stands in findings.
	found map[findingKey]int
	// before is what the last sample left, recall what this one leaves.
	before, recall recall
	// running are the pods, by PodKey, with a process on a GPU; listed is the
	// kubelet's list by namespace/name, nil while it is unreadable.
	running map[string]bool
	listed  map[string]*workload.PodResources
	// partial: pods run that the kubelet's list does not name yet.
	partial bool
	// annotations are what annotation schedulers gave, by pod UID; ignored says
	// by PodKey why annotations count for nothing; owed is what was given and
	// nothing says where.
	annotations map[string]annotation
	ignored     map[string][]string
	owed        map[string]debt
	// unresolved are pods with a grant that leads to no partition: they are
	// in the right somewhere, so nothing they hold is a leak.
	unresolved map[string]bool
	// reservations are KAI's reservation pods: their grant is their group's.
	reservations map[string]workload.Pod
}

func newWork(a *Attributor, s sample.Sample) *work {
	devices, slots := slotDevices(s, a.policy.ExtraResources)
	s.Devices, s.Grants.Pods = devices, devicesInOrder(s.Grants.Pods)
	w := &work{
		policy: a.policy, memory: &a.memory, s: s,
		inv:        newInventory(devices, slots),
		pods:       workload.NewPodIndex(s.Objects.Pods),
		devices:    workload.NewSliceIndex(s.Objects.Slices),
		claims:     map[string]workload.Claim{},
		owners:     make(map[int]owner, len(s.Processes)),
		grants:     grantSet{},
		found:      map[findingKey]int{},
		unresolved: map[string]bool{},
		before:     a.recall, recall: newRecall(),
		annotations: map[string]annotation{}, ignored: map[string][]string{}, owed: map[string]debt{},
	}
	for _, c := range s.Objects.Claims {
		w.claims[c.Namespace+"/"+c.Name] = c
	}
	return w
}

func (w *work) result() Result {
	r := Result{
		Node: w.s.Node, At: w.s.At, MonoMS: w.s.MonoMS, Standalone: w.s.Standalone,
		NVML: w.s.NVML, Sources: w.s.Sources,
		Identities: make(map[int]Identity, len(w.owners)), Events: map[gpu.UUID][]sample.Event{},
	}
	for _, p := range w.inv.parts {
		r.Partitions = append(r.Partitions, p.Partition)
	}
	for pid, o := range w.owners {
		r.Identities[pid] = Identity{Holder: o.holder, ContainerID: o.containerID, Comm: o.comm}
	}
	for _, d := range w.s.Devices {
		if len(d.Events) > 0 {
			r.Events[d.UUID] = d.Events
		}
	}
	slices.SortStableFunc(w.findings, Finding.compare)
	r.Findings = w.findings
	r.Pods = w.podResults()
	r.Engines = w.engines()
	r.Machine = machineOf(w.s.Objects.Node, w.s.Devices)
	r.Others = w.otherPods()
	return r
}
