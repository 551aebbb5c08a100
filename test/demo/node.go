// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30

	gpuResource = "nvidia.com/gpu"
)

// node is the staged node while it lives: what moves in it.
type node struct {
	stage *stage.Stage
	cards []*mocknvml.Line
	moves []func(tick int) error
	pods  []*stage.Pod
	job   *stage.Pod
	jobs  int
}

// scene is one thing to be seen, and how it is put on the node.
type scene struct {
	what  string
	build func(*node) error
}

// scenes are the cards, in the order of their indexes.
var scenes = []scene{
	{"H100, exclusive: a training pod", (*node).training},
	{"A100-80, time-sliced in 4: two notebooks, and batch jobs that come and go", (*node).timeSlicing},
	{"A100-40, MPS: its server and two clients", (*node).mps},
	{"A100-80, MIG: in use, held and unused, idle; and a stranded slice", (*node).mig},
	{"L40S, shared by 2: vLLM took 90 %; and memory that nobody shows", (*node).preallocator},
	{"H100, exclusive: an evaluation, and a LEAK: a pod without a grant", (*node).leakOnOthers},
	{"T4, free, but for the LEAK of another pod", (*node).leakOnFree},
	{"A10G: a process of the host; a pod whose size the driver does not tell", (*node).host},
	{"H100 that falls off the bus", (*node).lost},
}

// build puts every scene on the stage.
func build(s *stage.Stage) (*node, error) {
	n := &node{stage: s}
	s.NVML.Driver("580.95.05")
	for i, scene := range scenes {
		if err := scene.build(n); err != nil {
			return nil, fmt.Errorf("GPU %d (%s): %w", i, scene.what, err)
		}
	}
	err := s.SetNode(map[string]string{
		"nvidia.com/gpu.present":          "true",
		"nvidia.com/gpu.sharing-strategy": "time-slicing",
		"nvidia.com/mig.strategy":         "mixed",
	}, corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(128, resource.DecimalSI),
		gpuResource:        *resource.NewQuantity(15, resource.DecimalSI),
	})
	return n, errors.Join(err, s.NVML.Write())
}

// card adds a GPU and what the device plugin offers of it: its UUID, or
// replicas of it.
func (n *node) card(replicas int, profile string, keys ...string) *mocknvml.Line {
	g := n.stage.NVML.GPU(profile, keys...)
	n.cards = append(n.cards, g)
	if replicas > 0 {
		var ids []string
		for r := range replicas {
			ids = append(ids, replica(g, r, replicas))
		}
		n.stage.Kubelet.Offer(gpuResource, ids...)
	}
	return g
}

func replica(g *mocknvml.Line, r, of int) string {
	if of == 1 {
		return g.Get("uuid")
	}
	return fmt.Sprintf("%s::%d", g.Get("uuid"), r)
}

// pod runs a pod that was given devices, with one process.
func (n *node) pod(namespace, name, comm string, devices ...string) (*stage.Pod, *stage.Process, error) {
	spec := stage.PodSpec{
		Namespace: namespace, Name: name, Resource: gpuResource, Devices: devices,
		CPUMilli: 4000, MemoryBytes: 16 << 30,
	}
	if len(devices) == 0 {
		spec.Env = map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}
	}
	p, err := n.stage.Run(spec)
	if err != nil {
		return nil, nil, err
	}
	n.pods = append(n.pods, p)
	proc, err := p.Process(comm)
	return p, proc, err
}

// on puts a pod's process on a card.
func (n *node) on(g *mocknvml.Line, proc *stage.Process, bytes uint64, keys ...string) *mocknvml.Line {
	return n.stage.NVML.Proc(g, proc.PID, bytes, keys...)
}

func (n *node) training() error {
	g := n.card(1, "h100", "util=98", "memutil=61", "power=655W", "temp=67")
	_, proc, err := n.pod("train", "llama-pretrain-0", "python3", g.Get("uuid"))
	if err != nil {
		return err
	}
	line := n.on(g, proc, 71*gib, "sm=96")
	gpm := n.stage.NVML.GPM(g, "graphics=97.5", "sm=88.2", "occupancy=41", "tensor=46.3", "dram=58.7")
	n.moves = append(n.moves, func(tick int) error {
		line.Set("mem", 71*gib+wave(tick, 20)*128*mib/100)
		gpm.Set("tensor", 40+wave(tick, 9)/8)
		gpm.Set("sm", 84+wave(tick, 7)/16)
		return nil
	})
	return nil
}

func (n *node) timeSlicing() error {
	const replicas = 4
	g := n.card(replicas, "a100-80gb", "power=182W", "temp=49")
	for i, who := range []string{"alice", "bob"} {
		_, proc, err := n.pod("notebooks", "jupyter-"+who, "ipykernel", replica(g, i, replicas))
		if err != nil {
			return err
		}
		base := uint64(9+7*i) * gib
		line := n.on(g, proc, base, fmt.Sprintf("sm=%d", 12+9*i))
		n.moves = append(n.moves, func(tick int) error {
			line.Set("mem", base+wave(tick+11*i, 24+5*i)*4*gib/100)
			line.Set("sm", 5+wave(tick+5*i, 11)/5)
			return nil
		})
	}
	return n.batch(g, replica(g, 2, replicas))
}

// batch runs jobs one after the other on one replica.
func (n *node) batch(g *mocknvml.Line, device string) error {
	const life, pause = 24, 6 // ticks
	var line *mocknvml.Line
	start := func() error {
		n.jobs++
		pod, proc, err := n.pod("batch", fmt.Sprintf("embed-docs-%d", n.jobs), "python3", device)
		if err != nil {
			return err
		}
		n.job, line = pod, n.on(g, proc, 2*gib, "sm=35")
		return nil
	}
	n.moves = append(n.moves, func(tick int) error {
		switch at := tick % (life + pause); {
		case n.job == nil && at == 0:
			return start()
		case n.job != nil && at == life:
			line.Remove()
			pod := n.job
			n.job = nil
			n.pods = slices.DeleteFunc(n.pods, func(p *stage.Pod) bool { return p == pod })
			return pod.Remove()
		case n.job != nil:
			line.Set("mem", (2+uint64(at)/2)*gib)
		}
		return nil
	})
	return start()
}

func (n *node) mps() error {
	const replicas = 4
	g := n.card(replicas, "a100-40gb", "power=240W", "temp=58")
	_, server, err := n.pod("nvidia-device-plugin", "mps-control-daemon-7xk2p", "nvidia-cuda-mps-server")
	if err != nil {
		return err
	}
	n.on(g, server, 30*mib, "kind=compute")
	for i, name := range []string{"embedder-5d8f6c9b7-abcde", "reranker-7b6f5d4c3-fghij"} {
		_, proc, err := n.pod("inference", name, "python3", replica(g, i, replicas))
		if err != nil {
			return err
		}
		base := uint64(6+2*i) * gib
		line := n.on(g, proc, base, "kind=mps+compute", fmt.Sprintf("sm=%d", 30+14*i))
		n.moves = append(n.moves, func(tick int) error {
			line.Set("mem", base+wave(tick+3*i, 16)*gib/100)
			return nil
		})
	}
	return nil
}

func (n *node) mig() error {
	g := n.card(0, "a100-80gb", "mig=1", "power=160W", "temp=44")
	three := n.stage.NVML.MIG(g, "3g.40gb", 1, 0, "start=0")
	two := n.stage.NVML.MIG(g, "2g.20gb", 5, 0, "start=4")
	one := n.stage.NVML.MIG(g, "1g.10gb", 13, 0, "start=6")
	for profile, line := range map[string]*mocknvml.Line{"3g.40gb": three, "2g.20gb": two, "1g.10gb": one} {
		n.stage.Kubelet.Offer("nvidia.com/mig-"+profile, line.Get("uuid"))
	}
	if err := n.onInstance(g, "inference", "chat-0", "nvidia.com/mig-3g.40gb", three, 27*gib); err != nil {
		return err
	}
	// The second instance was given away and holds nothing; the third is idle.
	_, err := n.stage.Run(stage.PodSpec{
		Namespace: "research", Name: "sleeper", Resource: "nvidia.com/mig-2g.20gb", Devices: []string{two.Get("uuid")},
	})
	return err
}

func (n *node) onInstance(g *mocknvml.Line, namespace, name, resource string, mig *mocknvml.Line, bytes uint64) error {
	pod, err := n.stage.Run(stage.PodSpec{Namespace: namespace, Name: name, Resource: resource, Devices: []string{mig.Get("uuid")}})
	if err != nil {
		return err
	}
	proc, err := pod.Process("python3")
	if err != nil {
		return err
	}
	n.on(g, proc, bytes, "gi="+mig.Get("gi"), "ci="+mig.Get("ci"), "sm=64")
	return nil
}

func (n *node) preallocator() error {
	const replicas = 2
	// 700 MiB that the card counts as used and no process shows.
	g := n.card(replicas, "l40s", "extra=700MiB", "power=120W", "temp=51")
	_, vllm, err := n.pod("inference", "vllm-mistral-0", "vllm", replica(g, 0, replicas))
	if err != nil {
		return err
	}
	_, small, err := n.pod("inference", "whisper-0", "python3", replica(g, 1, replicas))
	if err != nil {
		return err
	}
	const capacity = 46068 * mib
	n.on(g, vllm, capacity*9/10, "sm=4")
	n.on(g, small, 1500*mib, "sm=9")
	return nil
}

func (n *node) leakOnOthers() error {
	g := n.card(1, "h100", "util=74", "power=430W", "temp=61")
	_, eval, err := n.pod("research", "eval-mmlu-0", "python3", g.Get("uuid"))
	if err != nil {
		return err
	}
	_, leak, err := n.pod("ml", "notebook-all-gpus", "python3")
	if err != nil {
		return err
	}
	n.stage.NVML.GPM(g, "graphics=74", "sm=52", "occupancy=30", "tensor=9", "dram=33")
	n.on(g, eval, 38*gib, "sm=60")
	line := n.on(g, leak, 9*gib, "sm=13")
	n.moves = append(n.moves, func(tick int) error {
		line.Set("mem", 9*gib+min(uint64(tick), 60)*256*mib)
		return nil
	})
	return nil
}

func (n *node) leakOnFree() error {
	g := n.card(1, "t4", "power=28W", "temp=39")
	_, leak, err := n.pod("qa", "smoke-test-x7k2", "cuda-smoke")
	if err != nil {
		return err
	}
	n.on(g, leak, 3*gib, "sm=2")
	return nil
}

func (n *node) host() error {
	g := n.card(1, "a10g", "power=90W", "temp=47")
	unit, err := n.stage.Host("/system.slice/video-transcode.service", "ffmpeg")
	if err != nil {
		return err
	}
	n.on(g, unit, 2300*mib, "sm=18")
	_, proc, err := n.pod("render", "blender-0", "blender", g.Get("uuid"))
	if err != nil {
		return err
	}
	n.on(g, proc, 0, "sm=31").Set("mem", "unknown")
	// What the process holds, as the card counts it: used, shown by none.
	g.Set("extra", 5*gib)
	return nil
}

func (n *node) lost() error {
	n.card(1, "h100")
	return nil
}

// breakDown makes the last GPU fall off the bus, once the agent knows it.
func (n *node) breakDown() error {
	g := n.cards[len(n.cards)-1]
	n.stage.NVML.Fault(g, "lost", "*")
	n.stage.NVML.XID(g, 79)
	return n.stage.NVML.Write()
}
