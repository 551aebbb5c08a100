// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30
)

// The names of the nodes.
const (
	NodeAWS  = "ip-10-0-12-34"
	NodeGCP  = "gke-a2u-pool-7c41-x9kd"
	NodeRack = "rack7-n03"
)

// Node is a machine of the fleet, as Kubernetes and NVML show it.
type Node struct {
	Cluster, Name string
	// ProviderID is spec.providerID, empty for a machine of no cloud.
	ProviderID string
	Labels     map[string]string
	// CPUMilli is thousandths of a CPU, MemoryBytes the host's memory.
	CPUMilli    int64
	MemoryBytes uint64
	// Created is when its object was made: it booted before its first record.
	Created time.Time
	GPUs    []GPU
}

// GPU is one card in its slot.
type GPU struct {
	UUID gpu.UUID
	// Profile is the card's name in package mocknvml, Model its name in NVML.
	Profile, Model string
	// Bus is the number of its PCI bus, Slot its whole address.
	Bus  int
	Slot string
	// Total and Reserved are bytes of memory, the latter the driver's.
	Total, Reserved uint64
	// MIG: the card is cut into instances.
	MIG bool
	// Resource is what the device plugin offers it as, Replicas times; empty where
	// it is cut by MIG or handed out by DRA. MPS: its replicas are served by MPS.
	Resource string
	Replicas int
	MPS      bool
}

// card is a kind of GPU: what package mocknvml says of it.
type card struct {
	profile, model  string
	total, reserved uint64
}

var (
	a100x40 = card{"a100-40gb", "NVIDIA A100-SXM4-40GB", 40960 * mib, 600 * mib}
	a100x80 = card{"a100-80gb", "NVIDIA A100-SXM4-80GB", 81920 * mib, 869 * mib}
	h100    = card{"h100", "NVIDIA H100 80GB HBM3", 81559 * mib, 551 * mib}
)

// eight are the GPUs of a node; series tells those of different nodes apart.
func eight(series uint32, c card) []GPU {
	out := make([]GPU, 8)
	for i := range out {
		bus := 7 + 8*i
		out[i] = GPU{
			UUID:    gpu.UUID(fmt.Sprintf("GPU-%08x-6f1d-4c7a-9b02-%012x", series, uint32(i)*0x1f3d5b79)),
			Profile: c.profile, Model: c.model, Bus: bus, Slot: fmt.Sprintf("0000:%02x:00.0", bus),
			Total: c.total, Reserved: c.reserved, Resource: workload.ResourceGPU, Replicas: 1,
		}
	}
	return out
}

// nodeAWS is a p4d.24xlarge: what EKS and GPU feature discovery say of it.
func nodeAWS(created time.Time) Node {
	return Node{
		Cluster: "prod-us", Name: NodeAWS, ProviderID: "aws:///us-east-1a/i-0a3f19c27be5d4861", Created: created,
		Labels: map[string]string{
			"node.kubernetes.io/instance-type": "p4d.24xlarge", "topology.kubernetes.io/region": "us-east-1", "topology.kubernetes.io/zone": "us-east-1a",
			"eks.amazonaws.com/capacityType": "ON_DEMAND", "eks.amazonaws.com/nodegroup": "gpu-a100", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB", "nvidia.com/gpu.present": "true",
		},
		CPUMilli: 96_000, MemoryBytes: 1152 * gib, GPUs: eight(0xa4000c34, a100x40),
	}
}

// nodeGCP is an a2-ultragpu-8g: four of its GPUs are cut by MIG, four are
// time-sliced in four.
func nodeGCP(created time.Time) Node {
	n := Node{
		Cluster: "prod-eu", Name: NodeGCP, ProviderID: "gce://acme-ml/europe-west4-a/" + NodeGCP, Created: created,
		Labels: map[string]string{
			"node.kubernetes.io/instance-type": "a2-ultragpu-8g", "topology.kubernetes.io/region": "europe-west4", "topology.kubernetes.io/zone": "europe-west4-a",
			"cloud.google.com/gke-provisioning": "standard", "cloud.google.com/gke-nodepool": "a2u-pool", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.present": "true",
			workload.LabelMIGStrategy: "mixed", workload.LabelSharingStrategy: "time-slicing", "nvidia.com/gpu.replicas": "4",
		},
		CPUMilli: 96_000, MemoryBytes: 1360 * gib, GPUs: eight(0xa8000e04, a100x80),
	}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.MIG, g.Replicas = i < 4, 4
	}
	return n
}

// nodeRack is a machine of eight H100 that was bought. Two GPUs are shared by
// MPS, one is handed out by DRA, one in fractions by KAI.
func nodeRack(created time.Time) Node {
	n := Node{
		Cluster: "onprem", Name: NodeRack, Created: created,
		Labels: map[string]string{
			"topology.kubernetes.io/zone": "hall-2", "example.com/rack": "r7",
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.present": "true",
		},
		CPUMilli: 128_000, MemoryBytes: 1024 * gib, GPUs: eight(0xb7000703, h100),
	}
	for i := range 2 {
		n.GPUs[i].Resource, n.GPUs[i].Replicas, n.GPUs[i].MPS = sharedResource, 4, true
	}
	n.GPUs[claimedGPU].Resource = ""
	return n
}

// sharedResource is what NVIDIA's device plugin calls GPUs that it shares, where
// it is told to rename them.
const sharedResource = workload.ResourceGPU + ".shared"

// object is the node as the API server has it while the kubelet offers these
// devices.
func (n *Node) object(offered []workload.ResourceDevices, cordoned bool) *workload.Node {
	o := &workload.Node{
		Name: n.Name, Labels: n.Labels, ProviderID: n.ProviderID, CreatedMS: n.Created.UnixMilli(), Unschedulable: cordoned,
		Capacity: map[string]int64{"cpu": n.CPUMilli, "memory": int64(n.MemoryBytes)},
	}
	for _, rd := range offered {
		o.Capacity[rd.Resource] = int64(len(rd.IDs))
	}
	o.Allocatable = o.Capacity
	return o
}

// IDs are what the device plugin calls the card: its UUID, or replicas of it.
func (g *GPU) IDs() []string {
	if g.Replicas == 1 {
		return []string{string(g.UUID)}
	}
	out := make([]string, g.Replicas)
	for r := range out {
		out[r] = fmt.Sprintf("%s::%d", g.UUID, r)
	}
	return out
}

// device is a card as NVML shows it when it is idle.
func (g *GPU) device(index int) sample.Device {
	return sample.Device{
		UUID: g.UUID, Index: index, Minor: index, State: gpu.StateOK, Name: g.Model, PCIBusID: g.Slot,
		Memory: &sample.Memory{Total: g.Total, Reserved: g.Reserved}, MIG: g.MIG, MemorySlices: 8,
	}
}
