// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	gpuA = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
	gpuB = "GPU-bbbbbbbb-0000-0000-0000-000000000001"

	gib = 1 << 30

	cardBytes = 40 * gib

	stateFile = "/run/mock-nvml/state"
	driver    = "driver 570.172.08\ncuda 12080\n"
	cardA     = "gpu uuid=" + gpuA + " profile=a100-40gb name=NVIDIA_A100-SXM4-40GB mem=42949672960\n"
	cardB     = "gpu uuid=" + gpuB + " profile=a100-40gb name=NVIDIA_A100-SXM4-40GB mem=42949672960\n"
	oneCard   = driver + cardA
	twoCards  = driver + cardA + cardB
)

// gpus is what the mock NVML answers during one scenario: cards, which stay, and
// processes, which a scenario adds and takes away.
type gpus struct {
	cards     string
	processes []string
}

// install makes these cards the node's GPUs: NVML's state, and the CDI file from which
// NVIDIA's runtime injects device nodes.
func install(t *testing.T, cards string) *gpus {
	t.Helper()
	g := &gpus{cards: cards}
	g.write(t)
	cmd := exec.Command("/run/node/bin/nvidia-ctk", "cdi", "generate", "--mode=nvml", "--driver-root=/run/nvidia/driver",
		"--dev-root=/", "--nvidia-cdi-hook-path=/run/node/bin/nvidia-cdi-hook", "--output=/etc/cdi/nvidia.yaml")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH=/run/nvidia/driver/usr/lib64", "MOCK_NVML_STATE="+stateFile)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nvidia-ctk cdi generate: %v\n%s", err, out)
	}
	return g
}

// places says where each partition is, as a proc line names it.
var places = map[string]struct{ gpu, instance string }{
	gpuA: {"0", ""},
	gpuB: {"1", ""},
	mig7: {"1", " gi=7 ci=0"},
	mig8: {"1", " gi=8 ci=0"},
}

// hold gives a process memory on a partition.
func (g *gpus) hold(t *testing.T, partition string, pid int, bytes uint64) {
	t.Helper()
	g.holdAs(t, "compute", partition, pid, bytes)
}

// holdAs does so for a process of a kind: compute, graphics or mps.
func (g *gpus) holdAs(t *testing.T, kind, partition string, pid int, bytes uint64) {
	t.Helper()
	at, ok := places[partition]
	if !ok {
		t.Fatalf("no partition %q: add it to places", partition)
	}
	g.processes = append(g.processes, fmt.Sprintf("proc %s pid=%d mem=%d kind=%s%s", at.gpu, pid, bytes, kind, at.instance))
	g.write(t)
}

// release takes everything away that a process holds.
func (g *gpus) release(t *testing.T, pid int) {
	t.Helper()
	var rest []string
	for _, line := range g.processes {
		if !strings.Contains(line, fmt.Sprintf(" pid=%d ", pid)) {
			rest = append(rest, line)
		}
	}
	g.processes = rest
	g.write(t)
}

// write replaces the state in one step: readers see the old or the new one.
func (g *gpus) write(t *testing.T) {
	t.Helper()
	text := g.cards + strings.Join(g.processes, "\n") + "\n"
	next := filepath.Join(filepath.Dir(stateFile), "next")
	if err := os.WriteFile(next, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, stateFile); err != nil {
		t.Fatal(err)
	}
}
