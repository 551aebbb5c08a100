// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gputally/gputally/internal/core/gpu"
)

func kaiPod(labels map[string]string, annotations ...string) Pod {
	p := Pod{Namespace: "t", Name: "w", Labels: labels, Annotations: map[string]string{}}
	for i := 0; i+1 < len(annotations); i += 2 {
		p.Annotations[annotations[i]] = annotations[i+1]
	}
	return p
}

func TestKAIShare(t *testing.T) {
	g1 := map[string]string{LabelKAIGroup: "g1"}
	half := gpu.Ratio{Num: 1, Den: 2}
	for _, c := range []struct {
		name string
		pod  Pod
		want KAI
		ok   bool
	}{
		{"none", kaiPod(g1), KAI{}, false},
		{"fraction", kaiPod(g1, AnnotationKAIFraction, "0.5"), KAI{Groups: []string{"g1"}, Fraction: half, Devices: 1}, true},
		{"memory", kaiPod(g1, AnnotationKAIMemory, "4000"), KAI{Groups: []string{"g1"}, Bytes: mib(4000), Devices: 1}, true},
		{"not placed yet", kaiPod(nil, AnnotationKAIFraction, "0.25"), KAI{Fraction: gpu.Ratio{Num: 1, Den: 4}, Devices: 1}, true},
		{"several devices", kaiPod(map[string]string{LabelKAIGroup + "/b": "b", LabelKAIGroup + "/a": "a", "app": "x"},
			AnnotationKAIFraction, "0.50", AnnotationKAIDevices, "2", AnnotationKAIContainer, "c1"),
			KAI{Groups: []string{"a", "b"}, Fraction: half, Devices: 2, Container: "c1"}, true},
		{"the group twice", kaiPod(map[string]string{LabelKAIGroup: "a", LabelKAIGroup + "/a": "a"}, AnnotationKAIFraction, "0.5"),
			KAI{Groups: []string{"a"}, Fraction: half, Devices: 1}, true},
		{"a container's memory wins", kaiPod(g1, "nvidia.com/container.main.gpu-memory.request", "1Gi",
			"nvidia.com/container.main.gpu-memory.limit", "2Gi", AnnotationKAIFraction, "0.5"),
			KAI{Groups: []string{"g1"}, Bytes: mib(1024), Devices: 1, Container: "main"}, true},
		{"a container's limit alone", kaiPod(g1, "nvidia.com/container.main.gpu-memory.limit", "2Gi"),
			KAI{Groups: []string{"g1"}, Bytes: mib(2048), Devices: 1, Container: "main"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok, err := KAIShare(c.pod)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok || err != nil {
				t.Errorf("ok %v, error %v (-want +got):\n%s", ok, err, diff)
			}
		})
	}
}

func TestKAIShareErrors(t *testing.T) {
	for _, c := range [][2]string{{AnnotationKAIFraction, "1.5"}, {AnnotationKAIFraction, "0"}, {AnnotationKAIFraction, "half"},
		{AnnotationKAIFraction, "-0.5"}, {AnnotationKAIFraction, "NaN"}, {AnnotationKAIMemory, "0"}, {AnnotationKAIMemory, "2Gi"},
		{"nvidia.com/container.main.gpu-memory.request", "0"}, {"nvidia.com/container.main.gpu-memory.request", "x"}} {
		_, ok, err := KAIShare(kaiPod(nil, c[0], c[1]))
		wantNamed(t, err, c[0], c[1])
		if ok {
			t.Errorf("%v: ok in spite of %v", c, err)
		}
	}
	for _, n := range []string{"0", "-1", "two"} {
		_, _, err := KAIShare(kaiPod(nil, AnnotationKAIFraction, "0.5", AnnotationKAIDevices, n))
		wantNamed(t, err, AnnotationKAIDevices, n)
	}
}

func TestKAIReservation(t *testing.T) {
	labels := map[string]string{LabelKAIGroup: "g1"}
	annotatedPod := kaiPod(labels, AnnotationKAIReserved, string(gpuA))
	early := kaiPod(labels)
	early.Namespace = "kai-resource-reservation"
	for _, c := range []struct {
		name        string
		pod         Pod
		group, uuid string
		ok          bool
	}{
		{"by annotation", annotatedPod, "g1", string(gpuA), true},
		{"by namespace, before KAI wrote it", early, "g1", "", true},
		{"a worker", kaiPod(labels, AnnotationKAIFraction, "0.5"), "", "", false},
	} {
		group, uuid, ok := KAIReservation(c.pod)
		if group != c.group || uuid != c.uuid || ok != c.ok {
			t.Errorf("%s: %q, %q, %v", c.name, group, uuid, ok)
		}
	}
}

func FuzzKAIShare(f *testing.F) {
	f.Add("0.5", "", "2", "")
	f.Add("", "2000", "", "")
	f.Add("", "", "", "1Gi")
	f.Fuzz(func(t *testing.T, fraction, memory, devices, request string) {
		k, ok, err := KAIShare(kaiPod(nil, AnnotationKAIFraction, fraction, AnnotationKAIMemory, memory,
			AnnotationKAIDevices, devices, "nvidia.com/container.c.gpu-memory.request", request))
		if ok && err != nil {
			t.Errorf("ok and %v", err)
		}
		if ok && (k.Devices < 1 || k.Fraction.IsZero() == (k.Bytes == nil) || k.Fraction.Num > k.Fraction.Den) {
			t.Errorf("%+v", k)
		}
	})
}
