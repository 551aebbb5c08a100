// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gputally/gputally/internal/core/gpu"
)

const (
	testGPU gpu.UUID = "GPU-00000000-0000-4000-8000-000000000001"
	testMIG gpu.UUID = "MIG-00000000-0000-5000-8000-000000000001"
)

func TestParseDeviceID(t *testing.T) {
	for _, c := range []struct {
		id   string
		want DeviceID
	}{
		{string(testGPU), DeviceID{Form: FormUUID, UUID: testGPU}},
		{string(testGPU) + "::3", DeviceID{Form: FormUUID, UUID: testGPU, Replica: "3", Shared: true}},
		{string(testMIG), DeviceID{Form: FormMIG, UUID: testMIG}},
		{string(testMIG) + "::0", DeviceID{Form: FormMIG, UUID: testMIG, Replica: "0", Shared: true}},
		{"MIG-" + string(testGPU) + "/7/0", DeviceID{Form: FormLegacyMIG, UUID: testGPU, Instance: new(uint32(7)), Compute: new(uint32(0))}},
		{"nvidia0", DeviceID{Form: FormMinor, Minor: new(0)}},
		{"nvidia12/gi1", DeviceID{Form: FormMinor, Minor: new(12), Instance: new(uint32(1))}},
		{"nvidia0/vgpu1", DeviceID{Form: FormMinor, Minor: new(0), Replica: "1", Shared: true}},
		{"nvidia0/gi0/vgpu0", DeviceID{Form: FormMinor, Minor: new(0), Instance: new(uint32(0)), Replica: "0", Shared: true}},
		{string(testGPU) + "-7", DeviceID{Form: FormHAMiSlot, UUID: testGPU, Replica: "7", Shared: true}},
		{"all", DeviceID{Form: FormAll}},
		{"", DeviceID{Form: FormOpaque}},
		{"nvidia", DeviceID{Form: FormOpaque}},
		{"nvidia99999999999", DeviceID{Form: FormOpaque}},
		{"nvidia0/gi4294967295", DeviceID{Form: FormOpaque}},
		{"nvidia0/vgpu1/gi0", DeviceID{Form: FormOpaque}},
		{"GPU-1234", DeviceID{Form: FormOpaque}},
		{"MIG-" + string(testGPU), DeviceID{Form: FormOpaque}},
		{"MIG-" + string(testGPU) + "/7", DeviceID{Form: FormOpaque}},
		{string(testGPU) + "-", DeviceID{Form: FormOpaque}},
		{"0000:4e:00.0::2", DeviceID{Form: FormOpaque, Replica: "2", Shared: true}},
	} {
		t.Run(c.id, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ParseDeviceID(c.id)); diff != "" {
				t.Errorf("ParseDeviceID(%q) (-want +got):\n%s", c.id, diff)
			}
		})
	}
}

// spell writes an id from its parts, with every replica as "::n".
func spell(d DeviceID) string {
	s := string(d.Form)
	switch d.Form {
	case FormUUID, FormMIG:
		s = string(d.UUID)
	case FormHAMiSlot:
		s = string(d.UUID) + "-0"
	case FormLegacyMIG:
		s = fmt.Sprintf("MIG-%s/%d/%d", d.UUID, *d.Instance, *d.Compute)
	case FormMinor:
		s = fmt.Sprintf("nvidia%d", *d.Minor)
		if d.Instance != nil {
			s += fmt.Sprintf("/gi%d", *d.Instance)
		}
	}
	if d.Shared {
		s += "::" + d.Replica
	}
	return s
}

func FuzzParseDeviceID(f *testing.F) {
	for _, id := range []string{string(testGPU), string(testGPU) + "::3", string(testGPU) + "-7", string(testMIG),
		"MIG-" + string(testGPU) + "/7/0", "nvidia0/gi0/vgpu0", "nvidia1", "all", "x::y::z"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		d := ParseDeviceID(id)
		// What was read, written again, must read the same: nothing is lost.
		if diff := cmp.Diff(d, ParseDeviceID(spell(d))); diff != "" {
			t.Errorf("ParseDeviceID(%q), written as %q, differs (-first +again):\n%s", id, spell(d), diff)
		}
	})
}
