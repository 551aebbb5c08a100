// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"
	"time"
)

func limits(kind ContainerKind, pairs map[string]int64) Container {
	return Container{Kind: kind, Limits: pairs}
}

// Init containers run before the others and hand their devices on; sidecars
// run beside them.
func TestAsked(t *testing.T) {
	at := time.Unix(1, 0)
	pod := Pod{Containers: []Container{
		limits(ContainerInit, map[string]int64{ResourceGPU: 4}),
		limits(ContainerSidecar, map[string]int64{ResourceGPU: 1}),
		limits(ContainerApp, map[string]int64{ResourceGPU: 2, "nvidia.com/gpumem": 9000, "cpu": 3}),
		limits("", map[string]int64{"nvidia.com/mig-1g.10gb": 1}),
	}}
	gpus := func(r string) bool { return IsGPUResource(r) }
	if got := pod.Asked(gpus); got != 4 {
		t.Errorf("asked for %d, want the init container's 4", got)
	}
	if got := pod.AskedByInit(gpus); got != 4 {
		t.Errorf("the init container asks for %d, want 4", got)
	}
	pod.Containers[0].FinishedAt = &at
	if got := pod.AskedByInit(gpus); got != 0 {
		t.Errorf("an init container that has finished asks for %d, want 0", got)
	}
	pod.Containers[2].Limits[ResourceGPU] = 3
	if got := pod.Asked(gpus); got != 5 {
		t.Errorf("asked for %d, want 3 + 1 + 1", got)
	}
}

func TestAskedDevices(t *testing.T) {
	for _, c := range []struct {
		source string
		limits map[string]int64
		want   int64
	}{
		{SourceHAMi, map[string]int64{"nvidia.com/gpu": 2, "nvidia.com/gpumem": 1000}, 2},
		{SourceHAMi, map[string]int64{"nvidia.com/gpumem": 1000}, 0}, // HAMi itself adds nvidia.com/gpu to it
		{SourceHAMi, map[string]int64{"volcano.sh/vgpu-number": 2}, 0},
		{SourceHAMi, map[string]int64{"example.com/vgpu": 1}, 1},
		{SourceVolcano, map[string]int64{"volcano.sh/vgpu-number": 2, "volcano.sh/vgpu-memory": 9000}, 2},
		{SourceVolcano, map[string]int64{"volcano.sh/gpu-memory": 9000}, 1},
		{SourceVolcano, map[string]int64{"nvidia.com/gpu": 1, "volcano.sh/other": 1}, 0},
		{SourceKoordinator, map[string]int64{"koordinator.sh/gpu-core": 50, "koordinator.sh/gpu-memory": 8 << 30}, 1},
		{SourceKoordinator, map[string]int64{"koordinator.sh/gpu": 200}, 2},
		{SourceKoordinator, map[string]int64{"kubernetes.io/gpu-memory-ratio": 201}, 3},
		{SourceKoordinator, map[string]int64{"koordinator.sh/gpu.shared": 4, "koordinator.sh/gpu-core": 100}, 4},
		{SourceKoordinator, map[string]int64{"koordinator.sh/rdma": 100}, 0},
		{SourceAliyun, map[string]int64{"aliyun.com/gpu-mem": 12}, 1},
		{SourceAliyun, map[string]int64{"aliyun.com/gpu-mem": 24, "aliyun.com/gpu-count": 2}, 2},
		{SourceAliyun, map[string]int64{"aliyun.com/gpu-mem": 0}, 0},
		{"kai", map[string]int64{"nvidia.com/gpu": 1}, 0},
		{SourceVolcano, nil, 0},
	} {
		pod := Pod{Containers: []Container{limits(ContainerApp, c.limits)}}
		if got := pod.AskedDevices(c.source, "example.com/vgpu"); got != c.want {
			t.Errorf("%s with %v: %d devices, want %d", c.source, c.limits, got, c.want)
		}
	}
}
