// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Node is what is known of a node for the time that is to be priced, during
// which it does not change. The zero value of a field is "not known".
type Node struct {
	Cluster      string
	Name         string
	ProviderID   string // spec.providerID, whole
	Provider     string // where not known, it is read from ProviderID
	InstanceType string
	Region       string
	Zone         string
	Labels       map[string]string
	// Capacity: where not known, it is read from Labels, and is on-demand where
	// these do not tell.
	Capacity Capacity
	// Slots are the places of GPUs that the node has, whatever card is in them,
	// each once. On a node without any, nothing is spent on GPUs.
	Slots       []Slot
	CPUMilli    int64  // vCPUs × 1000
	MemoryBytes uint64 // of the host
	Life        Life
}

// Slot is the place of one GPU.
type Slot struct {
	Name  string // PCI address as NVML writes it, or "gpu0", "gpu1", …
	Model string // of the card in it, as NVML says; empty: not known
}

// Life is what is known of when a node existed, Unix milliseconds; 0: not
// known. A node costs from its start to its end.
type Life struct {
	Started    int64 // its provider says so
	Terminated int64 // its provider says so
	FirstSeen  int64 // first heartbeat
	LastSeen   int64 // last heartbeat
	Interval   int64 // between heartbeats: added to the last, since the next one never came
	Deleted    int64 // its object was deleted
}

// Notes of costs whose beginning or end is not from the provider.
const (
	noteStart = "the provider's start is not known: the first heartbeat stands in (estimated)"
	noteEnd   = "the provider's end is not known: the last heartbeat and one interval stand in (estimated)"
	noteGone  = "the provider's end is not known: the deletion of the node's object stands in (estimated)"
)

const forever = int64(1)<<62 - 1

// start and end say from when to when the node existed, and how that is known;
// "" where its provider says it.
func (l Life) start() (ms int64, note string) {
	switch {
	case l.Started != 0:
		return l.Started, ""
	case l.FirstSeen != 0:
		return l.FirstSeen, noteStart
	}
	return 0, ""
}

func (l Life) end() (ms int64, note string) {
	switch {
	case l.Terminated != 0:
		return l.Terminated, ""
	case l.LastSeen != 0:
		return l.LastSeen + l.Interval, noteEnd
	case l.Deleted != 0:
		return l.Deleted, noteGone
	}
	return forever, ""
}

// ready is the node as the books know it, with what can be inferred filled in.
func (p *Prices) ready(n *Node) (Node, error) {
	known := p.knownOf(n)
	return known.ready()
}

// ready is the node with what can be inferred filled in, its slots in order.
func (n *Node) ready() (Node, error) {
	out := *n
	if out.Name == "" {
		return out, fmt.Errorf("price node: it has no name")
	}
	if out.CPUMilli < 0 || len(out.Slots) > maxSlots {
		return out, fmt.Errorf("price node %s: %d thousandths of a CPU and %d GPU slots cannot be", n.Name, out.CPUMilli, len(out.Slots))
	}
	if out.Provider == "" {
		out.Provider = ProviderOf(out.ProviderID)
	}
	if out.Capacity == "" {
		out.Capacity = CapacityOf(out.Labels)
	}
	out.Slots = slices.SortedFunc(slices.Values(n.Slots), func(a, b Slot) int { return cmp.Compare(a.Name, b.Name) })
	for i, s := range out.Slots {
		if s.Name == "" || i > 0 && out.Slots[i-1].Name == s.Name {
			return out, fmt.Errorf("price node %s: GPU slot %q is there twice or has no name", n.Name, s.Name)
		}
	}
	return out, nil
}

// ProviderOf is the cloud that a node's spec.providerID names: "aws" for
// "aws:///us-east-1a/i-0abc", "gcp" for "gce://…", "azure"; any other scheme as
// it stands; "" without one.
func ProviderOf(providerID string) string {
	scheme, _, ok := strings.Cut(providerID, "://")
	switch {
	case !ok:
		return ""
	case scheme == "gce":
		return "gcp"
	}
	return strings.ToLower(scheme)
}

// capacityLabels are the labels by which clouds and autoscalers say how a node
// was bought, with their values.
var capacityLabels = []struct {
	key, value string
	is         Capacity
}{
	{"karpenter.sh/capacity-type", "spot", Spot},
	{"karpenter.sh/capacity-type", "on-demand", OnDemand},
	{"karpenter.sh/capacity-type", "reserved", Reserved},
	{"eks.amazonaws.com/capacityType", "SPOT", Spot},
	{"eks.amazonaws.com/capacityType", "ON_DEMAND", OnDemand},
	{"eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", Reserved},
	{"cloud.google.com/gke-spot", "true", Spot},
	{"cloud.google.com/gke-preemptible", "true", Spot},
	{"cloud.google.com/gke-provisioning", "spot", Spot},
	{"cloud.google.com/gke-provisioning", "standard", OnDemand},
	{"kubernetes.azure.com/scalesetpriority", "spot", Spot},
	{"node.kubernetes.io/lifecycle", "spot", Spot},
}

// CapacityOf is how a node was bought, as its labels tell; "" where they do
// not.
func CapacityOf(labels map[string]string) Capacity {
	for _, l := range capacityLabels {
		if v, ok := labels[l.key]; ok && strings.EqualFold(v, l.value) {
			return l.is
		}
	}
	return ""
}

// Virtual says whether the labels are those of a node that nobody sells: a
// virtual kubelet or Fargate, where pods are billed instead. What such a node
// claims to have is a ceiling, not hardware.
func Virtual(labels map[string]string) bool {
	return labels["type"] == "virtual-kubelet" || labels["kubernetes.azure.com/virtual-node"] == "true" ||
		labels["eks.amazonaws.com/compute-type"] == "fargate"
}
