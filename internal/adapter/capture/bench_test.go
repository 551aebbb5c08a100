// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// busyNode is an hour of a node with 8 GPUs of 64 processes each, every 5 s; a
// tenth of the sizes changes from sample to sample.
func busyNode() []sample.Sample {
	var out []sample.Sample
	procs, pods := map[int]sample.Process{}, []workload.Pod{}
	for pid := range 512 {
		uid := fmt.Sprintf("00000000-0000-4000-a000-%012d", pid)
		procs[pid] = sample.Process{StartTicks: 1, Comm: "python", Cgroup: fmt.Sprintf("0::/kubepods/burstable/pod%s/%064d", uid, pid)}
		pods = append(pods, workload.Pod{Namespace: "t", Name: fmt.Sprintf("p%03d", pid), UID: uid, Phase: "Running"})
	}
	for i := range 720 {
		s := sample.Sample{
			Node: "n", MonoMS: int64(i) * 5000, At: time.Unix(1_800_000_000+int64(i)*5, 0).UTC(), NVML: sample.Library{OK: true},
			Processes: procs, Grants: sample.Grants{Readable: true}, Objects: sample.Objects{Known: true, Pods: pods},
		}
		for g := range 8 {
			d := sample.Device{UUID: gpu.UUID(fmt.Sprint("GPU-", g)), Index: g, State: gpu.StateOK, Memory: &sample.Memory{Total: 80 << 30, Used: 64 << 30}}
			for p := range 64 {
				size := uint64(p+1) << 20
				if (p+i)%10 == 0 {
					size += uint64(i) << 12
				}
				d.Processes = append(d.Processes, sample.Held{PID: g*64 + p, Kind: sample.KindCompute, Bytes: &size})
			}
			s.Devices = append(s.Devices, d)
		}
		out = append(out, s)
	}
	return out
}

func BenchmarkWriteAnHour(b *testing.B) {
	history := busyNode()
	for b.Loop() {
		w := NewWriter(io.Discard)
		for _, s := range history {
			if err := w.Write(s); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkReadAnHour(b *testing.B) {
	text := write(b, busyNode())
	for b.Loop() {
		f, err := Read(bytes.NewReader(text), "bench")
		if err != nil {
			b.Fatal(err)
		}
		for range f.Samples("n") {
			continue
		}
	}
	b.ReportMetric(float64(len(text))/1e6, "MB")
}
