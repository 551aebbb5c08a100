// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"fmt"
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// crowd is a node whose every process is a pod of its own.
func crowd(gpus, processes int) attribution.Result {
	r := at(0)
	for g := range gpus {
		p := gpu0(uint64(processes) << 20)
		p.ID = gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%02d", g)))
		p.Holdings, p.Grants, p.Mode = nil, nil, gpu.ModeTimeSlicing
		for i := range processes {
			p.Holdings = append(p.Holdings, attribution.Holding{Holder: pod(g*processes + i), Bytes: ptr(uint64(1 << 20)), Grade: gpu.Measured})
			p.Grants = append(p.Grants, attribution.Grant{Holder: pod(g*processes + i), Source: "kubelet", Mode: gpu.ModeTimeSlicing, Replicas: 1, DeviceIDs: []string{"x"}})
		}
		r.Partitions = append(r.Partitions, p)
	}
	return r
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range [][2]int{{8, 64}, {16, 512}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			in, r := usage.New(testConfig), crowd(size[0], size[1])
			b.ReportAllocs()
			for b.Loop() {
				in.Add(r)
				r.MonoMS += 5000
				r.At = r.At.Add(msDuration(5000))
			}
		})
	}
}
