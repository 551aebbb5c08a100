// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gputally/gputally/internal/core/gpu"
)

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func TestVolcanoShares(t *testing.T) {
	vgpuBox := func(name string) Container {
		return Container{Name: name, Limits: map[string]int64{volcanoVGPUNumber: 1}}
	}
	plain := Container{Name: "plain"}
	for _, c := range []struct {
		name       string
		key, value string
		containers []Container
		want       []Share
	}{
		{"only containers that ask have an entry", AnnotationVolcanoVGPU, vgpuText(gpuA, "1126", "20"), []Container{plain, vgpuBox("x")},
			[]Share{{Source: SourceVolcano, Container: 1, ContainerName: "x", UUID: gpuA, Bytes: mib(1126), Cores: new(int64(20))}}},
		{"two", AnnotationVolcanoVGPU, vgpuText(gpuA, "1", "0") + ";" + vgpuText(gpuB, "2", "0"), []Container{vgpuBox("x"), plain, vgpuBox("y")},
			[]Share{{Source: SourceVolcano, Container: 0, ContainerName: "x", UUID: gpuA, Bytes: mib(1)},
				{Source: SourceVolcano, Container: 2, ContainerName: "y", UUID: gpuB, Bytes: mib(2)}}},
		{"limits not known", AnnotationVolcanoVGPU, vgpuText(gpuA, "1", "0"), []Container{plain},
			[]Share{{Source: SourceVolcano, Container: -1, UUID: gpuA, Bytes: mib(1)}}},
		{"shared card by index", AnnotationVolcanoIndex, "0", []Container{{Name: "x", Limits: map[string]int64{volcanoGPUMemory: 1024}}, plain},
			[]Share{{Source: SourceVolcano, Container: 0, ContainerName: "x", Index: new(0), Bytes: mib(1024)}}},
		{"whole cards by index", AnnotationVolcanoIndex, "0,2", []Container{{Name: "x", Limits: map[string]int64{volcanoGPUNumber: 2}}},
			[]Share{{Source: SourceVolcano, Container: 0, ContainerName: "x", Index: new(0), Fraction: gpu.One},
				{Source: SourceVolcano, Container: 0, ContainerName: "x", Index: new(2), Fraction: gpu.One}}},
		{"an index without limits has no amount", AnnotationVolcanoIndex, "1", []Container{plain},
			[]Share{{Source: SourceVolcano, Container: -1, Index: new(1)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := VolcanoShares(annotated(c.key, c.value, c.containers...))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, c := range [][2]string{{AnnotationVolcanoVGPU, "x"}, {AnnotationVolcanoIndex, "a"}, {AnnotationVolcanoIndex, "-1"}, {AnnotationVolcanoIndex, "0,,1"}} {
		_, err := VolcanoShares(annotated(c[0], c[1]))
		wantNamed(t, err, c[0], c[1])
	}
}

func TestKoordinatorShares(t *testing.T) {
	for _, c := range []struct {
		name, value string
		containers  []Container
		want        []Share
	}{
		{"memory wins over its percentage", `{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"}}]}`,
			[]Container{{Name: "main"}},
			[]Share{{Source: SourceKoordinator, Container: 0, ContainerName: "main", Minor: new(1), Bytes: mib(8192), Cores: new(int64(50))}}},
		{"percentage alone, numbers unquoted", `{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory-ratio":25}}],"rdma":[{"minor":0}]}`,
			[]Container{{Name: "a"}, {Name: "b"}},
			[]Share{{Source: SourceKoordinator, Container: -1, Minor: new(0), Fraction: gpu.Ratio{Num: 25, Den: 100}}}},
		{"the one container that asks", `{"gpu":[{"minor":0,"resources":{}},{"minor":3,"resources":{}}]}`,
			[]Container{{Name: "a"}, {Name: "b", Limits: map[string]int64{"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100}}},
			[]Share{{Source: SourceKoordinator, Container: 1, ContainerName: "b", Minor: new(0)}, {Source: SourceKoordinator, Container: 1, ContainerName: "b", Minor: new(3)}}},
		{"another kind of device only", `{"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"1"}}]}`, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := KoordinatorShares(annotated(AnnotationKoordinator, c.value, c.containers...))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, value := range []string{"{", "[]", `{"gpu":[{}]}`, `{"gpu":[{"minor":-1}]}`, `{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory":"lots"}}]}`,
		`{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-memory-ratio":"101"}}]}`} {
		_, err := KoordinatorShares(annotated(AnnotationKoordinator, value))
		wantNamed(t, err, AnnotationKoordinator, value)
	}
}

func TestAliyunShares(t *testing.T) {
	pod := annotated(AnnotationAliyunIndex, "1", Container{Name: "main"})
	pod.Annotations[AnnotationAliyunPodMemory] = "8"
	two := []Container{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		name string
		pod  Pod
		want []Share
	}{
		{"index and GiB", pod, []Share{{Source: SourceAliyun, Container: 0, ContainerName: "main", Index: new(1), Bytes: mib(8192)}}},
		{"no card given", annotated(AnnotationAliyunIndex, "-1"), nil},
		{"memory not named", annotated(AnnotationAliyunIndex, "0", two...), []Share{{Source: SourceAliyun, Container: -1, Index: new(0)}}},
		{"allocation by container", annotated(AnnotationAliyunAllocation, `{"1":{"1":7},"0":{"2":3,"1":1}}`, two...),
			[]Share{{Source: SourceAliyun, Container: 0, ContainerName: "a", Index: new(1), Bytes: mib(1024)},
				{Source: SourceAliyun, Container: 0, ContainerName: "a", Index: new(2), Bytes: mib(3072)},
				{Source: SourceAliyun, Container: 1, ContainerName: "b", Index: new(1), Bytes: mib(7168)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := AliyunShares(c.pod)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, c := range [][2]string{{AnnotationAliyunIndex, "0,1"}, {AnnotationAliyunIndex, "x"}, {AnnotationAliyunAllocation, "[]"},
		{AnnotationAliyunAllocation, `{"a":{"0":1}}`}, {AnnotationAliyunAllocation, `{"0":{"b":1}}`}, {AnnotationAliyunAllocation, `{"0":{"0":1.5}}`},
		{AnnotationAliyunAllocation, `{"0":{"0":null}}`}} {
		_, err := AliyunShares(annotated(c[0], c[1]))
		wantNamed(t, err, c[0], c[1])
	}
	bad := annotated(AnnotationAliyunIndex, "1")
	bad.Annotations[AnnotationAliyunPodMemory] = "8Gi"
	_, err := AliyunShares(bad)
	wantNamed(t, err, AnnotationAliyunPodMemory, "8Gi")
}

func TestSharesBy(t *testing.T) {
	for source, p := range map[string]Pod{
		SourceHAMi:        annotated(AnnotationHAMiAllocated, vgpuText(gpuA, "1", "0")),
		SourceVolcano:     annotated(AnnotationVolcanoIndex, "0"),
		SourceKoordinator: annotated(AnnotationKoordinator, `{"gpu":[{"minor":0}]}`),
		SourceAliyun:      annotated(AnnotationAliyunIndex, "0"),
	} {
		for _, reader := range ShareSources() {
			got, err := SharesBy(reader, p)
			if err != nil || len(got) > 0 != (reader == source) || len(got) > 0 && got[0].Source != source {
				t.Errorf("%s, read as %s: %+v, %v", source, reader, got, err)
			}
		}
	}
	if got, err := SharesBy("kai", annotated("gpu-fraction", "0.5")); got != nil || err != nil {
		t.Errorf("a KAI pod: %+v, %v", got, err)
	}
	_, err := SharesBy(SourceKoordinator, annotated(AnnotationKoordinator, "x"))
	wantNamed(t, err, AnnotationKoordinator, "x")
}

func FuzzSchedulerShares(f *testing.F) {
	f.Add(uint8(0), vgpuText(gpuA, "1000", "50"))
	f.Add(uint8(1), "0,2")
	f.Add(uint8(2), `{"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-memory":"8Gi"}}]}`)
	f.Add(uint8(3), "1")
	f.Add(uint8(4), `{"0":{"1":1},"1":{"1":7}}`)
	keys := []string{AnnotationVolcanoVGPU, AnnotationVolcanoIndex, AnnotationKoordinator, AnnotationAliyunIndex, AnnotationAliyunAllocation}
	sources := []string{SourceVolcano, SourceVolcano, SourceKoordinator, SourceAliyun, SourceAliyun}
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		i := int(which) % len(keys)
		p := annotated(keys[i], value, Container{Name: "a", Limits: map[string]int64{volcanoVGPUNumber: 1}}, Container{Name: "b"})
		shares, err := SharesBy(sources[i], p)
		again, _ := SharesBy(sources[i], p)
		if diff := cmp.Diff(shares, again); diff != "" {
			t.Errorf("read twice, differs:\n%s", diff)
		}
		if err != nil && len(shares) > 0 {
			t.Errorf("both %d shares and %v", len(shares), err)
		}
		for _, s := range shares {
			names := 0
			for _, has := range []bool{s.UUID != "", s.Minor != nil, s.Index != nil} {
				if has {
					names++
				}
			}
			if names != 1 || s.Container < -1 || s.Container > 1 || (s.Bytes != nil && s.Fraction.Den != 0) || s.Fraction.Num > s.Fraction.Den {
				t.Errorf("share %+v of %q", s, value)
			}
		}
	})
}
