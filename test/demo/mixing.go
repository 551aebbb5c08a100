// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/stage"
)

func (n *node) served() error {
	daemon, err := n.run(stage.PodSpec{
		Namespace: "nvidia-device-plugin", Name: "mps-control-daemon-7xk2p", Owner: stage.Owner{Kind: "DaemonSet", Name: "mps-control-daemon"},
		Labels: map[string]string{"app.kubernetes.io/name": "nvidia-device-plugin", "team": "platform"}, CPUMilli: 1000, MemoryBytes: 1 << 30,
	})
	if err != nil {
		return err
	}
	for card := range 2 {
		n.look(card, "power", "340W", "temp", 58)
		n.works(card, 42+24*card)
		if _, err := n.hold(daemon, card, "nvidia-cuda-mps-server", 30*mib, "kind=compute"); err != nil {
			return err
		}
	}
	for i, c := range []struct{ owner, hash, team string }{
		{"embedder", "5d8f6c9b7-abcde", "search"}, {"reranker", "7b6f5d4c3-fghij", "search"}, {"asr", "6f7c8d9b5-klmno", "speech"}, {"tts", "59c7d8f6b-pqrst", "speech"},
	} {
		spec := stage.PodSpec{Namespace: "inference", Name: c.owner + "-" + c.hash, Owner: stage.Owner{Kind: "Deployment", Name: c.owner}, Labels: team(c.team, "serving", "CC-3002")}
		base := uint64(9+2*i) * gib
		line, err := n.alone(spec, i/2, i%2, "python3", base, "kind=mps+compute", fmt.Sprintf("sm=%d", 18+6*i))
		if err != nil {
			return err
		}
		n.breathe(line, base, gib, 16+3*i)
	}
	return nil
}

// claimed is a GPU that three pods have together, by one ResourceClaim.
func (n *node) claimed() error {
	const card = 2
	g := &n.GPUs[card]
	if err := n.stage.Publish(stage.Device{Name: "gpu-2", UUID: string(g.UUID), Product: g.Model}); err != nil {
		return err
	}
	if err := n.stage.Allocate("research", "shared-h100", "gpu-2"); err != nil {
		return err
	}
	n.look(card, "power", "410W", "temp", 60)
	n.works(card, 81)
	for i := range 3 {
		p, err := n.run(stage.PodSpec{
			Namespace: "research", Name: fmt.Sprintf("sweep-%d", i), Owner: stage.Owner{Kind: "Job", Name: "sweep"},
			Labels: team("research", "sweeps", "CC-2002"), Claims: []string{"shared-h100"},
		})
		if err != nil {
			return err
		}
		base := uint64(9+8*i) * gib
		line, err := n.hold(p, card, "python3", base, fmt.Sprintf("sm=%d", 22+5*i))
		if err != nil {
			return err
		}
		n.breathe(line, base, 3*gib, 19+4*i)
	}
	return nil
}

// fractions are a half and a quarter of a GPU. On paper a pod of KAI's holds it.
func (n *node) fractions() error {
	const card, group = 3, "vision-0"
	labels := func(more map[string]string) map[string]string {
		out := map[string]string{workload.LabelKAIGroup: group}
		for k, v := range more {
			out[k] = v
		}
		return out
	}
	_, id := n.given(card, 0)
	_, err := n.run(stage.PodSpec{
		Namespace: "kai-resource-reservation", Name: "gpu-reservation-" + n.Name + "-q8x5z", Resource: workload.ResourceGPU, Devices: []string{id},
		Labels: labels(nil), Annotations: map[string]string{workload.AnnotationKAIReserved: id}, CPUMilli: 100, MemoryBytes: 64 << 20,
	})
	if err != nil {
		return err
	}
	n.look(card, "power", "390W", "temp", 57)
	n.works(card, 80)
	for i, w := range []struct{ name, fraction string }{{"detector-train", "0.5"}, {"detector-eval", "0.25"}} {
		p, err := n.run(stage.PodSpec{
			Namespace: "vision", Name: w.name + "-0", Owner: stage.Owner{Kind: "Job", Name: w.name}, Scheduler: "kai-scheduler",
			Labels: labels(team("vision", "inspection", "CC-5005")), Annotations: map[string]string{workload.AnnotationKAIFraction: w.fraction},
		})
		if err != nil {
			return err
		}
		if _, err := n.hold(p, card, "python3", uint64(30-14*i)*gib, "sm=40"); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) preallocated() error {
	const card = 4
	n.look(card, "power", "250W", "temp", 51)
	n.works(card, 22)
	spec := stage.PodSpec{Namespace: "inference", Name: "vllm-mistral-0", Owner: stage.Owner{Kind: "StatefulSet", Name: "vllm-mistral"}, Labels: team("assistants", "mistral", "CC-3001")}
	_, err := n.alone(spec, card, 0, "vllm", n.GPUs[card].Total/mib*9/10*mib, "sm=22")
	return err
}

func (n *node) untold() error {
	const card = 5
	// What the process holds, as the card counts it: used, shown by none.
	n.look(card, "power", "300W", "temp", 47, "extra", 5*gib)
	n.works(card, 55)
	spec := stage.PodSpec{Namespace: "render", Name: "blender-66d5c7f9b8-tz4lw", Owner: stage.Owner{Kind: "Deployment", Name: "blender"}}
	line, err := n.alone(spec, card, 0, "blender", 0, "sm=55")
	if err == nil {
		line.Set("mem", "unknown")
	}
	return err
}

func (n *node) transcoding() error {
	const card = 6
	n.look(card, "util", 95, "power", "640W", "temp", 69, "extra", 700*mib) // 700 MiB that no process shows
	unit, err := n.stage.Host("/system.slice/video-transcode.service", "ffmpeg")
	if err != nil {
		return err
	}
	n.stage.NVML.Proc(n.cards[card], unit.PID, 2300*mib, "sm=18")
	n.works(card, 95)
	spec := stage.PodSpec{Namespace: "physics", Name: "lattice-qcd-0", Owner: stage.Owner{Kind: "Job", Name: "lattice-qcd"}, Labels: team("physics", "qcd", "CC-6006")}
	_, err = n.alone(spec, card, 0, "qcd", 58*gib, "sm=93")
	return err
}

// falling falls off the bus once the agent has seen it.
func (n *node) falling() error {
	n.lost = n.cards[7]
	return nil
}

// breakDown makes the lost card fall off the bus.
func (n *node) breakDown() error {
	if n.lost == nil {
		return nil
	}
	n.stage.NVML.Fault(n.lost, "lost", "*")
	n.stage.NVML.XID(n.lost, 79)
	return n.stage.NVML.Write()
}
