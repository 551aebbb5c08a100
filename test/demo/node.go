// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30
)

// node is a staged node while it lives: what moves in it.
type node struct {
	history.Node
	stage *stage.Stage
	cards []*mocknvml.Line
	moves []func(tick int) error
	pods  []*stage.Pod
	job   *stage.Pod
	jobs  int
	// lost is a card that falls off the bus once the agent knows it.
	lost *mocknvml.Line
}

// scene is one thing to be seen, and how it is put on a node.
type scene struct {
	what  string
	build func(*node) error
}

// scenes are what is to be seen on each node, in the order of the GPUs.
var scenes = map[string][]scene{
	history.NodeAWS: {
		{"GPU 0-3  a pretraining job, four GPUs whole", (*node).pretraining},
		{"GPU 4-5  reinforcement learning, two GPUs whole", (*node).reinforcement},
		{"GPU 6-7  an evaluation; an idle GPU; and a LEAK on both: a pod without a grant", (*node).leaking},
	},
	history.NodeGCP: {
		{"GPU 0-3  MIG: in use, held and unused, idle; and a stranded slice", (*node).instances},
		{"GPU 4-6  time-sliced in 4: notebooks", (*node).notebooks},
		{"GPU 7    time-sliced in 4: jobs that come and go", (*node).batch},
	},
	history.NodeRack: {
		{"GPU 0-1  MPS: its server and four clients", (*node).served},
		{"GPU 2    DRA: one claim of three pods", (*node).claimed},
		{"GPU 3    KAI: a half and a quarter of a GPU", (*node).fractions},
		{"GPU 4    vLLM took 90 %", (*node).preallocated},
		{"GPU 5    a pod whose size the driver does not tell", (*node).untold},
		{"GPU 6    a simulation, and a service of the host", (*node).transcoding},
		{"GPU 7    falls off the bus", (*node).falling},
	},
}

// build puts a machine of the fleet and every scene of it on a stage.
func build(s *stage.Stage, machine history.Node) (*node, error) {
	n := &node{stage: s, Node: machine}
	s.NVML.Driver("580.95.05")
	for i := range machine.GPUs {
		n.card(&machine.GPUs[i])
	}
	for _, scene := range scenes[machine.Name] {
		if err := scene.build(n); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", machine.Name, scene.what, err)
		}
	}
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(machine.CPUMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(machine.MemoryBytes), resource.BinarySI),
	}
	for name, count := range s.Kubelet.Offered() {
		resources[corev1.ResourceName(name)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	err := s.SetMachine(stage.Machine{ProviderID: machine.ProviderID, Created: machine.Created, Labels: machine.Labels, Resources: resources})
	return n, errors.Join(err, s.NVML.Write())
}

// card adds a GPU and what the device plugin offers of it.
func (n *node) card(g *history.GPU) {
	keys := []string{"uuid=" + string(g.UUID), "bus=" + strconv.Itoa(g.Bus)}
	if g.MIG {
		keys = append(keys, "mig=1")
	}
	if g.MPS {
		keys = append(keys, "compute_mode=exclusive_process")
	}
	n.cards = append(n.cards, n.stage.NVML.GPU(g.Profile, keys...))
	if g.Resource != "" && !g.MIG {
		n.stage.Kubelet.Offer(g.Resource, g.IDs()...)
	}
}

// works lets a card that tells such things say how much of it is busy, in percent.
func (n *node) works(card, percent int) {
	n.stage.NVML.GPM(n.cards[card], fmt.Sprintf("graphics=%d", percent), fmt.Sprintf("sm=%d", percent*8/10), fmt.Sprintf("occupancy=%d", percent*4/10),
		fmt.Sprintf("tensor=%d", percent*3/10), fmt.Sprintf("dram=%d", percent*5/10))
}

// look sets keys of a card's line: how busy and warm it is.
func (n *node) look(card int, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		n.cards[card].Set(pairs[i].(string), pairs[i+1])
	}
}

// given are devices that the kubelet gives: replicas of a card, or the card.
func (n *node) given(card, replica int) (resource string, id string) {
	g := &n.GPUs[card]
	return g.Resource, g.IDs()[replica]
}

// run puts a pod on the node.
func (n *node) run(spec stage.PodSpec) (*stage.Pod, error) {
	if spec.CPUMilli == 0 {
		spec.CPUMilli, spec.MemoryBytes = 4000, 16<<30
	}
	p, err := n.stage.Run(spec)
	if err == nil {
		n.pods = append(n.pods, p)
	}
	return p, err
}

// alone runs a pod that was given one card, or one replica of it, and holds memory
// there.
func (n *node) alone(spec stage.PodSpec, card, replica int, comm string, bytes uint64, keys ...string) (*mocknvml.Line, error) {
	resource, id := n.given(card, replica)
	spec.Resource, spec.Devices = resource, []string{id}
	p, err := n.run(spec)
	if err != nil {
		return nil, err
	}
	return n.hold(p, card, comm, bytes, keys...)
}

// hold starts a process of a pod that holds memory of a card.
func (n *node) hold(p *stage.Pod, card int, comm string, bytes uint64, keys ...string) (*mocknvml.Line, error) {
	proc, err := p.Process(comm)
	if err != nil {
		return nil, err
	}
	return n.stage.NVML.Proc(n.cards[card], proc.PID, bytes, keys...), nil
}

// breathe lets the memory of a process rise and fall.
func (n *node) breathe(line *mocknvml.Line, base, swing uint64, period int) {
	n.moves = append(n.moves, func(tick int) error {
		line.Set("mem", base+wave(tick, period)*swing/100)
		return nil
	})
}

// team is the labels of a pod that a bill is grouped by.
func team(name, project, costCenter string) map[string]string {
	return map[string]string{"team": name, "project": project, "cost-center": costCenter}
}
