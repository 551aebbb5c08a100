// SPDX-License-Identifier: Apache-2.0

package gpu

import "testing"

const gib = uint64(1) << 30

// TestCardOf: names as drivers give them.
func TestCardOf(t *testing.T) {
	for _, c := range []struct {
		model    string
		capacity uint64
		sms      uint32
		profile  string // its smallest
		known    bool
	}{
		{"NVIDIA A100-SXM4-80GB", 80 * gib, 108, "1g.10gb", true},
		{"NVIDIA A100-SXM4-40GB", 40 * gib, 108, "1g.5gb", true},
		{"NVIDIA A100 80GB PCIe", 80 * gib, 108, "1g.10gb", true},
		{"NVIDIA H100 80GB HBM3", 79*gib + gib/2, 132, "1g.10gb", true},
		{"NVIDIA H100 PCIe", 80 * gib, 114, "1g.10gb", true},
		{"NVIDIA H100 NVL", 94 * gib, 132, "1g.12gb", true},
		{"NVIDIA H200", 140 * gib, 132, "1g.18gb", true},
		{"NVIDIA GH200 144G HBM3e", 143 * gib, 132, "1g.18gb", true},
		{"NVIDIA B200", 179 * gib, 148, "1g.23gb", true},
		{"NVIDIA A30", 24 * gib, 56, "1g.6gb", true},
		{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 95 * gib, 188, "1g.24gb", true},
		{"NVIDIA L40S", 45 * gib, 142, "", true},
		{"NVIDIA L4", 23 * gib, 58, "", true},
		{"NVIDIA A10G", 23 * gib, 80, "", true},
		{"Tesla T4", 15 * gib, 40, "", true},
		{"Tesla V100-SXM2-32GB", 32 * gib, 80, "", true},
		{"NVIDIA H100 80GB HBM3", 40 * gib, 0, "", false}, // a part of one, as a virtual GPU is
		{"NVIDIA RTX A6000", 48 * gib, 0, "", false},
		{"NVIDIA GeForce RTX 4090", 24 * gib, 0, "", false},
		{"", 80 * gib, 0, "", false},
	} {
		got, known := CardOf(c.model, c.capacity)
		smallest := ""
		if len(got.Profiles) > 0 {
			smallest = got.Profiles[0].Name
		}
		if known != c.known || got.SMs != c.sms || smallest != c.profile {
			t.Errorf("%s: %+v, %v", c.model, got, known)
		}
	}
}

// TestCards: profiles fit their card, and more slices are more memory and no fewer SMs.
func TestCards(t *testing.T) {
	for _, c := range cards {
		if c.SMs == 0 || c.Bandwidth <= 0 || c.Tensor <= 0 || c.Capability < 70 {
			t.Errorf("%s %d: %+v", c.words, c.gb, c.Card)
		}
		for i, p := range c.Profiles {
			parsed, err := ParseProfile(p.Name)
			if err != nil || p.Bytes == 0 || p.Bytes > c.gb*gib || p.SMs > c.SMs || p.SMs < 14*parsed.Slices && c.words != "H100 PCIE" {
				t.Errorf("%s: %+v, %v", c.words, p, err)
			}
			if i > 0 && (p.Slices < c.Profiles[i-1].Slices || p.Bytes < c.Profiles[i-1].Bytes || p.SMs < c.Profiles[i-1].SMs) {
				t.Errorf("%s: %s is smaller than %s", c.words, p.Name, c.Profiles[i-1].Name)
			}
		}
	}
}
