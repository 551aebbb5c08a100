// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"errors"
	"strings"
)

// Known is what an operator says of nodes, since nothing else does: a GPU cloud's
// machines have provider ids that name no cloud, and labels of k3s say "k3s" for
// the instance type. What it gives goes before what the node says of itself.
type Known struct {
	// Cluster, Node and Labels choose the nodes: all that are given must match,
	// and one must be given.
	Cluster string
	Node    string
	Labels  map[string]string
	// What is said of them; what is empty is not said.
	Provider, Region, Zone, InstanceType string
	Capacity                             Capacity
}

// Check returns an error that says what is wrong with it.
func (k *Known) Check() error {
	switch {
	case k.Cluster == "" && k.Node == "" && len(k.Labels) == 0:
		return errors.New("it chooses no nodes: give cluster, node or labels")
	case k.Provider == "" && k.Region == "" && k.Zone == "" && k.InstanceType == "" && k.Capacity == "":
		return errors.New("it says nothing: give provider, region, zone, instance_type or capacity")
	}
	return k.Capacity.check()
}

func (k *Known) chooses(n *Node) bool {
	for key, want := range k.Labels {
		if got, ok := n.Labels[key]; !ok || !strings.EqualFold(got, want) {
			return false
		}
	}
	return same(k.Cluster, n.Cluster) && (k.Node == "" || k.Node == n.Name)
}

// knownOf is the node with what the books say of it: of each field, the first
// that is said.
func (p *Prices) knownOf(n *Node) Node {
	out := *n
	var said Known
	for _, b := range p.books {
		for i := range b.Known {
			if k := &b.Known[i]; k.chooses(n) {
				take(&said.Provider, k.Provider)
				take(&said.Region, k.Region)
				take(&said.Zone, k.Zone)
				take(&said.InstanceType, k.InstanceType)
				take(&said.Capacity, k.Capacity)
			}
		}
	}
	replace(&out.Provider, said.Provider)
	replace(&out.Region, said.Region)
	replace(&out.Zone, said.Zone)
	replace(&out.InstanceType, said.InstanceType)
	replace(&out.Capacity, said.Capacity)
	return out
}

// take sets what nobody has said yet.
func take[T ~string](to *T, say T) {
	if *to == "" {
		*to = say
	}
}

func replace[T ~string](to *T, say T) {
	if say != "" {
		*to = say
	}
}
