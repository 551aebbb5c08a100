// SPDX-License-Identifier: Apache-2.0

package workload

import "testing"

func TestTolerates(t *testing.T) {
	for _, c := range []struct {
		tolerations, taint string
		want               bool
	}{
		{"", "nvidia.com/gpu=present:NoSchedule", false},
		{"nvidia.com/gpu", "nvidia.com/gpu=present:NoSchedule", true},
		{"nvidia.com/gpu:NoExecute", "nvidia.com/gpu=present:NoSchedule", false},
		{"other,nvidia.com/gpu=present:NoSchedule", "nvidia.com/gpu=present:NoSchedule", true},
		{"nvidia.com/gpu=absent", "nvidia.com/gpu=present:NoSchedule", false},
		{"dedicated=:NoSchedule", "dedicated=:NoSchedule", true},
		{"dedicated=", "dedicated=x:NoSchedule", false},
		{"*", "any=thing:NoExecute", true}, {"*:NoSchedule", "any=thing:NoExecute", false},
	} {
		if got := (Placement{Tolerations: c.tolerations}).Tolerates(c.taint); got != c.want {
			t.Errorf("%q stands %q: %v", c.tolerations, c.taint, got)
		}
	}
}

func TestAllows(t *testing.T) {
	labels := map[string]string{"zone": "a", "gpu": "A100", "memory": "80", "empty": ""}
	for _, c := range []struct {
		p    Placement
		want bool
	}{
		{Placement{}, true},
		{Placement{Selector: "gpu=A100,zone=a"}, true}, {Placement{Selector: "gpu=A100,zone=b"}, false}, {Placement{Selector: "rack=1"}, false}, {Placement{Selector: "empty="}, true},
		{Placement{Affinity: "gpu In A100|H100"}, true}, {Placement{Affinity: "gpu In H100"}, false}, {Placement{Affinity: "gpu In H100;zone In a"}, true},
		{Placement{Affinity: "gpu In A100,zone NotIn a"}, false}, {Placement{Affinity: "rack NotIn 1"}, true},
		{Placement{Affinity: "memory Gt 40"}, true}, {Placement{Affinity: "memory Lt 80"}, false}, {Placement{Affinity: "gpu Gt 40"}, false},
		{Placement{Affinity: "rack DoesNotExist"}, true}, {Placement{Affinity: "rack Exists"}, false},
		{Placement{Affinity: "fields"}, false}, {Placement{Affinity: ";"}, false}, {Placement{Affinity: "gpu Near A100"}, false},
	} {
		if got := c.p.Allows(labels); got != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}
