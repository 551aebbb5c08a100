// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/stage"
)

// several runs a pod with whole cards, and a process on each.
func (n *node) several(spec stage.PodSpec, cards []int, comm string, bytes uint64, sm int) error {
	spec.Resource = workload.ResourceGPU
	for _, c := range cards {
		spec.Devices = append(spec.Devices, string(n.GPUs[c].UUID))
	}
	p, err := n.run(spec)
	if err != nil {
		return err
	}
	for _, c := range cards {
		line, err := n.hold(p, c, comm, bytes, fmt.Sprintf("sm=%d", sm))
		if err != nil {
			return err
		}
		n.breathe(line, bytes, gib/2, 13+c)
		n.look(c, "util", sm, "memutil", sm*2/3, "power", "355W", "temp", 58+c)
	}
	return nil
}

func (n *node) pretraining() error {
	return n.several(stage.PodSpec{
		Namespace: "train", Name: "llama-pretrain-0", Owner: stage.Owner{Kind: "PyTorchJob", Name: "llama-pretrain"},
		Labels: team("foundation-models", "llama-next", "CC-1001"), CPUMilli: 48_000, MemoryBytes: 512 << 30,
	}, []int{0, 1, 2, 3}, "python3", 36*gib, 96)
}

func (n *node) reinforcement() error {
	return n.several(stage.PodSpec{
		Namespace: "train", Name: "rlhf-ppo-0", Owner: stage.Owner{Kind: "Job", Name: "rlhf-ppo"},
		Labels: team("alignment", "assistant", "CC-1002"), CPUMilli: 16_000, MemoryBytes: 160 << 30,
	}, []int{4, 5}, "python3", 31*gib, 72)
}

// leaking is an evaluation, and a notebook that sees all GPUs and was given none.
func (n *node) leaking() error {
	n.look(6, "util", 74, "power", "290W", "temp", 61)
	n.look(7, "power", "58W", "temp", 39)
	eval := stage.PodSpec{
		Namespace: "research", Name: "eval-mmlu-0", Owner: stage.Owner{Kind: "Job", Name: "eval-mmlu"}, Labels: team("research", "evals", "CC-2002"),
	}
	if _, err := n.alone(eval, 6, 0, "python3", 26*gib, "sm=60"); err != nil {
		return err
	}
	p, err := n.run(stage.PodSpec{
		Namespace: "ml", Name: "notebook-all-gpus-6c9f7d5b8-x7k2q", Owner: stage.Owner{Kind: "Deployment", Name: "notebook-all-gpus"},
		Labels: map[string]string{"team": "growth"}, Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"},
	})
	if err != nil {
		return err
	}
	line, err := n.hold(p, 6, "python3", 6*gib, "sm=13")
	if err != nil {
		return err
	}
	n.moves = append(n.moves, func(tick int) error {
		line.Set("mem", 6*gib+min(uint64(tick), 60)*64*mib)
		return nil
	})
	_, err = n.hold(p, 7, "python3", 3*gib, "sm=2")
	return err
}
