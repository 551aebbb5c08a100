// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestRedactLooksAtEveryText: a text field either loses its text or is listed
// here as one that names nobody. A field added later must be decided on.
func TestRedactLooksAtEveryText(t *testing.T) {
	kept := []string{
		"NVML.DriverVersion", "NVML.NVMLVersion", "Sources", // the names of the sources
		"Devices.State", "Devices.Name", "Devices.PCIBusID", "Devices.Architecture", "Devices.Virtualization", "Devices.ComputeMode",
		"Devices.UUID", "Devices.Reason", "Devices.Instances.Compute.UUID", "Devices.Events.Detail", // identifiers are replaced within
		"Devices.Instances.Profile", "Devices.Placements.Name", "Devices.Events.Kind",
		"Processes.Cgroup", "Processes.Env", // not a cgroup line; the names of variables
		"Grants.Pods.Containers.Devices.Resource", "Grants.Pods.Containers.Devices.IDs", "Grants.Allocatable.Resource", "Grants.Allocatable.IDs",
		"Grants.Pods.Containers.Dynamic.Devices.Driver", "Grants.Pods.Containers.Dynamic.Devices.Device", "Grants.Pods.Containers.Dynamic.Devices.ShareID",
		"Objects.Node.Labels", "Objects.Node.Allocatable", "Objects.Node.Capacity", "Objects.Pods.Labels", "Objects.Claims.Labels", // keys
		"Objects.Pods.UID", "Objects.Pods.Phase", "Objects.Pods.Reason", "Objects.Pods.Owner.Kind", "Objects.Pods.Owner.UID", "Objects.Pods.RestartPolicy",
		"Objects.Pods.Containers.Kind", "Objects.Pods.Containers.ID", "Objects.Pods.Containers.Env", "Objects.Pods.Containers.Limits", "Objects.Pods.Containers.HostDevices",
		"Objects.Claims.UID", "Objects.Claims.Results.Driver", "Objects.Claims.Results.Device", "Objects.Claims.Results.ShareID",
		"Objects.Claims.Reserved.UID", "Objects.Claims.Sharing",
		"Objects.Slices.Driver", "Objects.Slices.Devices.Name", "Objects.Slices.Devices.Type", "Objects.Slices.Devices.UUID", "Objects.Slices.Devices.ParentUUID",
		"Objects.Slices.Devices.Profile", "Objects.Slices.Devices.Product",
		"Reach.PodUID", "Reach.ContainerID", "Reach.Evidence", "Usage.PodUID",
		"Engines.PodUID", "Engines.Problem", "Engines.Reading.Engine", // words of our own
	}
	var s sample.Sample
	fill(reflect.ValueOf(&s).Elem(), "sample")
	left := map[string]bool{}
	findText(reflect.ValueOf(NewRedactor().Redact(s)), "", "text", left)
	for path := range left {
		if !slices.Contains(kept, path) {
			t.Errorf("%s keeps its text: replace it in Redactor, or list it in this test as one that names nobody", path)
		}
	}
	for _, path := range kept {
		if !left[path] {
			t.Errorf("%s is listed as kept, but its text is gone", path)
		}
	}
}

// findText collects the paths of strings and keys that contain a text.
func findText(v reflect.Value, path, text string, out map[string]bool) {
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), text) {
			out[strings.TrimPrefix(path, ".")] = true
		}
	case reflect.Pointer:
		if !v.IsNil() {
			findText(v.Elem(), path, text, out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			findText(v.Index(i), path, text, out)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			findText(k, path, text, out)
			findText(v.MapIndex(k), path, text, out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type.PkgPath() != "time" {
				findText(v.Field(i), path+"."+f.Name, text, out)
			}
		}
	}
}

const (
	podA  = "11111111-2222-3333-4444-5555555555aa"
	idA   = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"
	hashA = "0123456789abcdef0123456789abcdef"
)

func TestRedactKeepsTheStructureOfCgroups(t *testing.T) {
	under := strings.ReplaceAll(podA, "-", "_")
	r := NewRedactor()
	uid, id, hash := r.identifiers(podA), r.identifiers(idA), r.identifiers(hashA)
	for _, tc := range []struct{ text, want string }{
		{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + idA + ".scope",
			"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + id + ".scope"},
		{"11:rdma:/\n12:cpuset:/kubepods/pod" + podA + "/" + idA, "11:rdma:/\n12:cpuset:/kubepods/pod" + uid + "/" + id},
		{"0::/kubepods/besteffort/pod" + hashA + "/" + idA + " (deleted)", "0::/kubepods/besteffort/pod" + hash + "/" + id + " (deleted)"},
		{"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod" + under + ".slice:cri-containerd:" + idA,
			"1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice:cri-containerd:" + id},
		{"0::/user.slice/user-1042.slice/user@1042.service/app.slice/acme-train.service", "0::/user.slice/user-1001.slice/user@1001.service/app.slice/unit-1.service"},
		{"0::/system.slice/docker-" + idA + ".scope", "0::/system.slice/docker-" + id + ".scope"},
		{"0::/system.slice/acme-train.service", "0::/system.slice/unit-1.service"},
		{"0::/slurm/uid_1000/job_7", "0::/unit-2/unit-3/unit-4"},
		{"0::/", "0::/"},
		{"", ""},
	} {
		if got := r.cgroup(tc.text); got != tc.want {
			t.Errorf("cgroup %q\n got %q\nwant %q", tc.text, got, tc.want)
		}
		before, after := workload.ParseCgroup(tc.text), workload.ParseCgroup(r.cgroup(tc.text))
		if before.Kind != after.Kind || before.Engine != after.Engine || r.identifiers(before.PodUID) != after.PodUID || r.identifiers(before.ContainerID) != after.ContainerID {
			t.Errorf("cgroup %q is read as %+v, redacted as %+v", tc.text, before, after)
		}
	}
}

func TestRedactIsOneToOne(t *testing.T) {
	r := NewRedactor("acme-gpu")
	got := []string{
		r.namespace("team"), r.namespace("other"), r.namespace("team"), r.namespace("kube-system"), r.namespace("acme-gpu"),
		r.pod("team", "a"), r.pod("other", "a"), r.pod("team", "a"), r.pod("kube-system", "dcgm-exporter-x"),
		r.identifiers("GPU-" + podA + "::3"), r.identifiers("MIG-" + podA), r.identifiers("GPU-" + podA + "-7"), r.identifiers("nvidia0/gi3"),
	}
	want := []string{
		"namespace-1", "namespace-2", "namespace-1", "kube-system", "acme-gpu",
		"pod-1", "pod-2", "pod-1", "dcgm-exporter-x",
		"GPU-00000000-0000-4000-8000-000000000001::3", "MIG-00000000-0000-4000-8000-000000000001", "GPU-00000000-0000-4000-8000-000000000001-7", "nvidia0/gi3",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("pseudonyms (-want +got):\n%s", diff)
	}
}

func TestRedactAnnotations(t *testing.T) {
	p := NewRedactor().podObject(workload.Pod{
		Namespace: "t", Name: "p",
		Annotations: map[string]string{
			"hami.io/vgpu-devices-allocated":             "GPU-" + podA + ",NVIDIA,1000,50:;",
			"nvidia.com/container.main.gpu-memory.limit": "2Gi",
			"scheduler.framework.gpushare.allocation":    `{"main":{"0":4}}`,
			"gpu-fraction-container-name":                "main",
			"kubectl.kubernetes.io/last-applied":         "secret",
		},
		Containers: []workload.Container{{Name: "main"}},
	})
	want := map[string]string{
		"hami.io/vgpu-devices-allocated":                    "GPU-00000000-0000-4000-8000-000000000001,NVIDIA,1000,50:;",
		"nvidia.com/container.container-1.gpu-memory.limit": "2Gi",
		"scheduler.framework.gpushare.allocation":           `{"container-1":{"0":4}}`,
		"gpu-fraction-container-name":                       "container-1",
	}
	if diff := gocmp.Diff(want, p.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}
