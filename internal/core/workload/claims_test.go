// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSliceIndex(t *testing.T) {
	slice := func(name, driver, pool string, generation int64, devices ...SliceDevice) Slice {
		return Slice{Name: name, Driver: driver, Pool: pool, Generation: generation, Devices: devices}
	}
	published := []Slice{
		slice("old", gpuDriver, "node-a", 1, SliceDevice{Name: "gpu-0", UUID: "GPU-x"}, SliceDevice{Name: "gpu-1", UUID: "GPU-y"}),
		slice("new-1", gpuDriver, "node-a", 2, SliceDevice{Name: "gpu-0", UUID: "GPU-z"}),
		slice("new-2", gpuDriver, "node-a", 2, SliceDevice{Name: "gpu-2", UUID: "GPU-y"}),
		slice("other", gpuDriver, "node-b", 1, SliceDevice{Name: "gpu-1", UUID: "GPU-b"}),
		slice("domain", "compute-domain.nvidia.com", "node-a", 9, SliceDevice{Name: "channel-0"}),
	}
	for _, c := range []struct {
		driver, pool, device string
		want                 SliceDevice
		ok                   bool
	}{
		{gpuDriver, "node-a", "gpu-0", SliceDevice{Name: "gpu-0", UUID: "GPU-z"}, true},
		{gpuDriver, "node-a", "gpu-2", SliceDevice{Name: "gpu-2", UUID: "GPU-y"}, true},
		{gpuDriver, "node-a", "gpu-1", SliceDevice{Name: "gpu-1", UUID: "GPU-y", Stale: true}, true},
		{gpuDriver, "node-b", "gpu-1", SliceDevice{Name: "gpu-1", UUID: "GPU-b"}, true},
		{gpuDriver, "node-b", "gpu-0", SliceDevice{}, false},
		{"compute-domain.nvidia.com", "node-a", "channel-0", SliceDevice{Name: "channel-0"}, true},
		{"gpu.amd.com", "node-a", "gpu-0", SliceDevice{}, false},
	} {
		for range 2 {
			got, ok := NewSliceIndex(published).Lookup(c.driver, c.pool, c.device)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != c.ok {
				t.Errorf("%s/%s/%s: ok %v (-want +got):\n%s", c.driver, c.pool, c.device, ok, diff)
			}
			slices.Reverse(published) // the order of slices must not matter
		}
	}
	if _, ok := (SliceIndex{}).Lookup(gpuDriver, "node-a", "gpu-0"); ok {
		t.Error("an index of nothing has found something")
	}
}

func TestParseDRADeviceName(t *testing.T) {
	for name, want := range map[string]DRAName{
		"gpu-0":                     {Type: DRAGPU},
		"gpu-12":                    {Type: DRAGPU, Minor: 12},
		"gpu-vfio-3":                {Type: DRAVFIO, Index: 3},
		"gpu-0-mig-1g10gb-19-0":     {Type: DRAMIG, Profile: "1g10gb", ProfileID: 19},
		"gpu-1-mig-1g6gb-14-3":      {Type: DRAMIG, Minor: 1, Profile: "1g6gb", ProfileID: 14, Start: 3},
		"gpu-0-mig-1c3g40gb-9-4":    {Type: DRAMIG, Profile: "1c3g40gb", ProfileID: 9, Start: 4},
		"gpu-2-mig-1g10gb-me-20-6":  {Type: DRAMIG, Minor: 2, Profile: "1g10gb-me", ProfileID: 20, Start: 6},
		"gpu-0-mig-19-6-1":          {Type: DRAMIG, ProfileID: 19, Start: 6, Size: 1},
		"gpu-7-mig-0-0-8":           {Type: DRAMIG, Minor: 7, Size: 8},
		"gpu-0-mig-4g96gbmeall-0-0": {Type: DRAMIG, Profile: "4g96gbmeall"},
	} {
		got, ok := ParseDRADeviceName(name)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s: ok %v (-want +got):\n%s", name, ok, diff)
		}
	}
	for _, name := range []string{"", "gpu", "gpu-", "gpu-x", "gpu-01", "gpu-1234567890", "gpu-vfio-", "gpu-0-mig", "gpu-0-mig-1g10gb-19",
		"gpu-0-mig-1g.10gb-19-0", "gpu-0-mig-channel-1-0", "channel-0", "GPU-0", "gpu-0 "} {
		if got, ok := ParseDRADeviceName(name); ok {
			t.Errorf("%q: read as %+v", name, got)
		}
	}
}

func FuzzParseDRADeviceName(f *testing.F) {
	for _, name := range []string{"gpu-0", "gpu-vfio-3", "gpu-0-mig-1g10gb-19-0", "gpu-0-mig-19-6-1", "gpu-2-mig-1g10gb-me-20-6"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d, ok := ParseDRADeviceName(name)
		if !ok {
			return
		}
		var spelled string
		switch {
		case d.Type == DRAGPU:
			spelled = fmt.Sprintf("gpu-%d", d.Minor)
		case d.Type == DRAVFIO:
			spelled = fmt.Sprintf("gpu-vfio-%d", d.Index)
		case d.Profile == "":
			spelled = fmt.Sprintf("gpu-%d-mig-%d-%d-%d", d.Minor, d.ProfileID, d.Start, d.Size)
		default:
			spelled = fmt.Sprintf("gpu-%d-mig-%s-%d-%d", d.Minor, d.Profile, d.ProfileID, d.Start)
		}
		if spelled != name {
			t.Errorf("%q reads as %+v, which is %q", name, d, spelled)
		}
	})
}

func TestIsGPUResource(t *testing.T) {
	for resource, want := range map[string]bool{
		"nvidia.com/gpu": true, "nvidia.com/gpu.shared": true, "nvidia.com/mig-1g.10gb": true, "nvidia.com/mig-1g.10gb.me": true,
		"nvidia.com/mig-1g.5gb.shared": true, "nvidia.com/a100-large": true, "nvidia.com/GA102GL_A10": true, "k8s.amazonaws.com/vgpu": true,
		"deviceclass.resource.kubernetes.io/gpu.nvidia.com": true, "example.com/gpu": true,
		"nvidia.com/gpumem": false, "nvidia.com/gpumem-percentage": false, "nvidia.com/gpucores": false, "nvidia.com/priority": false,
		"nvidia.com/hostdev": false, "nvidia.com/rdma_shared_device_a": false, "nvidia.com/": false, "nvidia.com": false, "": false,
		"cpu": false, "memory": false, "amd.com/gpu": false, "aliyun.com/gpu-mem": false, "volcano.sh/vgpu-memory": false,
	} {
		if got := IsGPUResource(resource, "example.com/gpu"); got != want {
			t.Errorf("IsGPUResource(%q) = %v", resource, got)
		}
	}
	if IsGPUResource("example.com/gpu") {
		t.Error("an extra name counts without being given")
	}
	for driver, want := range map[string]bool{"gpu.nvidia.com": true, "compute-domain.nvidia.com": false, "": false, "gpu.amd.com": false} {
		if got := IsGPUDriver(driver); got != want {
			t.Errorf("IsGPUDriver(%q) = %v", driver, got)
		}
	}
}
