// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gputally/gputally/internal/core/gpu"
)

const (
	gpuA gpu.UUID = "GPU-00000000-0000-4000-8000-00000000000a"
	gpuB gpu.UUID = "GPU-00000000-0000-4000-8000-00000000000b"
)

func mib(n uint64) *uint64 { return new(n * gpu.MiB) }

func annotated(key, value string, containers ...Container) Pod {
	return Pod{Namespace: "ns", Name: "p", Annotations: map[string]string{key: value}, Containers: containers}
}

func vgpuText(uuid gpu.UUID, mem, cores string) string {
	return string(uuid) + ",NVIDIA," + mem + "," + cores + ":"
}

func TestHAMiShares(t *testing.T) {
	a, b := Container{Name: "a", Kind: ContainerApp}, Container{Name: "b"}
	ended := time.Unix(100, 0)
	setup := Container{Name: "setup", Kind: ContainerInit}
	done := Container{Name: "setup", Kind: ContainerInit, FinishedAt: &ended}
	sidecar := Container{Name: "proxy", Kind: ContainerSidecar}
	share := func(position int, name string, uuid gpu.UUID, mem uint64, cores *int64) Share {
		return Share{Source: SourceHAMi, Container: position, ContainerName: name, UUID: uuid, Bytes: mib(mem), Cores: cores}
	}
	for _, c := range []struct {
		name, value string
		containers  []Container
		want        []Share
	}{
		{"none", "", []Container{a}, nil},
		{"only separators", ";", []Container{a}, nil},
		{"one device", vgpuText(gpuA, "1000", "50") + ";", []Container{a}, []Share{share(0, "a", gpuA, 1000, new(int64(50)))}},
		{"no cores named", vgpuText(gpuA, "1000", "0") + ";", []Container{a}, []Share{share(0, "a", gpuA, 1000, nil)}},
		{"two containers, two devices", vgpuText(gpuA, "1", "0") + vgpuText(gpuB, "2", "0") + ";" + vgpuText(gpuA, "3", "0") + ";",
			[]Container{a, b}, []Share{share(0, "a", gpuA, 1, nil), share(0, "a", gpuB, 2, nil), share(1, "b", gpuA, 3, nil)}},
		{"a container without keeps its place", ";" + vgpuText(gpuA, "3", "0") + ";", []Container{a, b}, []Share{share(1, "b", gpuA, 3, nil)}},
		{"older form skips init containers", vgpuText(gpuA, "3", "0") + ";", []Container{setup, a}, []Share{share(0, "a", gpuA, 3, nil)}},
		{"init smaller than app counts nothing", vgpuText(gpuA, "3", "0") + ";" + vgpuText(gpuA, "4", "0") + ";",
			[]Container{setup, a}, []Share{share(0, "a", gpuA, 4, nil)}},
		{"init larger than app counts the rest", vgpuText(gpuA, "9", "0") + ";" + vgpuText(gpuA, "4", "0") + ";",
			[]Container{setup, a}, []Share{share(0, "a", gpuA, 4, nil), share(-1, "setup", gpuA, 5, nil)}},
		{"init on another device", vgpuText(gpuB, "9", "0") + ";" + vgpuText(gpuA, "4", "0") + ";",
			[]Container{setup, a}, []Share{share(0, "a", gpuA, 4, nil), share(-1, "setup", gpuB, 9, nil)}},
		{"a finished init counts nothing", vgpuText(gpuB, "9", "0") + ";" + vgpuText(gpuA, "4", "0") + ";",
			[]Container{done, a}, []Share{share(0, "a", gpuA, 4, nil)}},
		{"a sidecar runs beside the app", vgpuText(gpuA, "9", "0") + ";" + vgpuText(gpuA, "4", "0") + ";",
			[]Container{sidecar, a}, []Share{share(0, "a", gpuA, 4, nil), share(-1, "proxy", gpuA, 9, nil)}},
		{"of several inits the largest", vgpuText(gpuA, "5", "0") + ";" + vgpuText(gpuA, "9", "0") + ";" + vgpuText(gpuA, "7", "0") + ";;",
			[]Container{setup, {Name: "big", Kind: ContainerInit}, {Name: "mid", Kind: ContainerInit}, a}, []Share{share(-1, "big", gpuA, 9, nil)}},
		{"spec not known", vgpuText(gpuA, "9", "0") + ";", nil, []Share{share(-1, "", gpuA, 9, nil)}},
		{"an old MIG slot", string(gpuA) + "[1-0],NVIDIA,9,0:;", []Container{a}, []Share{share(0, "a", gpuA, 9, nil)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := HAMiShares(annotated(AnnotationHAMiAllocated, c.value, c.containers...))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("HAMiShares(%q), error %v (-want +got):\n%s", c.value, err, diff)
			}
		})
	}
}

func TestHAMiErrorsNameAnnotationAndValue(t *testing.T) {
	for _, value := range []string{"x", string(gpuA) + ",NVIDIA,1000", ",NVIDIA,1,1:;", string(gpuA) + ",NVIDIA,1Gi,1",
		string(gpuA) + ",NVIDIA,-1,1", string(gpuA) + ",NVIDIA,1,x", string(gpuA) + ",NVIDIA,99999999999999,1"} {
		_, err := HAMiShares(annotated(AnnotationHAMiAllocated, value))
		wantNamed(t, err, AnnotationHAMiAllocated, value)
	}
}

// wantNamed checks that an error names the annotation and quotes its value.
func wantNamed(t *testing.T, err error, key, value string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s=%q: no error", key, value)
		return
	}
	if !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), quoted(value)) {
		t.Errorf("%s=%q: error does not name both: %v", key, value, err)
	}
}

func FuzzHAMiShares(f *testing.F) {
	f.Add(vgpuText(gpuA, "1000", "50")+";", uint8(1), uint8(0))
	f.Add(vgpuText(gpuA, "9", "0")+";"+vgpuText(gpuA, "4", "0")+";", uint8(1), uint8(1))
	f.Add(";;,", uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, value string, apps, inits uint8) {
		var containers []Container
		for range inits % 8 {
			containers = append(containers, Container{Name: "i", Kind: ContainerInit})
		}
		for range apps % 8 {
			containers = append(containers, Container{Name: "a"})
		}
		shares, err := HAMiShares(annotated(AnnotationHAMiAllocated, value, containers...))
		if err != nil && len(shares) > 0 {
			t.Errorf("both %d shares and %v", len(shares), err)
		}
		for _, s := range shares {
			if s.UUID == "" || s.Bytes == nil || s.Container >= int(apps%8) || strings.ContainsAny(string(s.UUID), ",:;[") {
				t.Errorf("share %+v of %q", s, value)
			}
		}
	})
}
